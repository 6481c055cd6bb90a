"""Tests of what reads frames."""
