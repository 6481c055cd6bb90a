"""What the tests of the core share."""

import pytest

from .driver import Driver


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite-transcripts",
        action="store_true",
        help="write the golden transcripts anew from what the coordinator does now; read the diff before you keep it",
    )


@pytest.fixture
def driver():
    return Driver()
