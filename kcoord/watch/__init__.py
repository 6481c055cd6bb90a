"""What happened, for whoever watches: readers of the notes."""
