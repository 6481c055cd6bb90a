"""`kcoord demo`: a server and three unmodified kafka-python consumers act out one story in the terminal."""
