"""Durability: a keyed map per partition of the offsets topic."""
