"""How the results of a run are told: to people, and to machines."""
