"""How whoever runs the tests likes output to look is nothing to them: a fixture of both suites."""

from collections.abc import Iterator

import pytest

LOOKS = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which whoever runs these tests may wish for colours, or pytest to be told more."""


@pytest.fixture(scope="session", autouse=True)
def plain_output() -> Iterator[None]:
    """What programs print is compared, so it has to look the same wherever this runs."""
    with pytest.MonkeyPatch.context() as environment:
        for name in LOOKS:
            environment.delenv(name, raising=False)
        yield
