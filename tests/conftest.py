"""Options of the whole suite."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["kcoord.check.pytest_plugin"]
"""Has `--bootstrap`: the rules are run at the broker there by `pytest --pyargs kcoord.check`, and not by this suite."""

# How long an example takes, or is looked for, says something about the machine and nothing about the code.
settings.register_profile("kcoord", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kcoord")

LOOKS = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which whoever runs this suite may wish for colours, or pytest to be told more."""


@pytest.fixture(scope="session", autouse=True)
def plain_output() -> Iterator[None]:
    """What programs print is compared, so it has to look the same wherever this runs."""
    with pytest.MonkeyPatch.context() as environment:
        for name in LOOKS:
            environment.delenv(name, raising=False)
        yield
