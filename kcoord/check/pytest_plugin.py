"""The option that pytest needs to run the rules, for who names this plugin where the entry points are not there."""

from kcoord.bootstrap_option import pytest_addoption

__all__ = ["pytest_addoption"]
