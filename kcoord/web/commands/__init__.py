"""`kcoord groups`, `timeline`, `faults`, `clock`, `brokers`, `topics` and `reset`: the control on the command line.

The exit status is 0 if it was done, 1 if the server refused or could not be reached, 2 for what is wrong with the
command line.
"""
