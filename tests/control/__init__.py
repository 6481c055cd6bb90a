"""Tests of what a test may do to a server."""
