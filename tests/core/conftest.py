"""What the tests of the core share."""

import pytest
from hypothesis import HealthCheck, settings

from .driver import Driver

settings.register_profile("core", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("core")


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite-transcripts",
        action="store_true",
        help="write the golden transcripts anew from what the coordinator does now; read the diff before you keep it",
    )


@pytest.fixture
def driver():
    return Driver()
