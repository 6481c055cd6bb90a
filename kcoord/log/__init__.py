"""Topics and what is known of their partitions, pure."""
