"""Options of the whole suite."""

import pytest

pytest_plugins = ["kcoord.check.pytest_plugin"]
"""Has `--bootstrap`, by which the scenarios run over TCP against the broker there (topics t, u, wide must exist)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker-setting",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what that broker was started with, as group_max_size=2; runs the scenarios that need just these settings",
    )
