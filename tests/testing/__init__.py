"""Tests of the fixture."""
