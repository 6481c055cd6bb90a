"""Options of the whole suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bootstrap",
        metavar="HOST:PORT",
        help="run the scenarios over TCP against the broker there (topics t and u with 3 partitions must exist)",
    )
    parser.addoption(
        "--broker-setting",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what that broker was started with, as group_max_size=2; runs the scenarios that need just these settings",
    )
