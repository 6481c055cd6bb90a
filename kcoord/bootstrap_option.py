"""The option that pytest needs to run the rules: `pytest --pyargs kcoord.check --bootstrap HOST:PORT`.

It is loaded in every test run of an environment that has kcoord, and so stands outside of `kcoord.check`, which takes
longer to load.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the option, unless another plugin has one of that name, which is then ours as well."""
    group = parser.getgroup("kcoord")
    try:
        group.addoption("--bootstrap", metavar="HOST:PORT", help="the broker that kcoord check's rules are run at")
    except ValueError:
        return
