"""Options of the whole suite."""

from hypothesis import HealthCheck, settings

from tests.looks import plain_output  # noqa: F401 - pytest finds it here

pytest_plugins = ["kcoord.check.pytest_plugin"]
"""Has `--bootstrap`: the rules are run at the broker there by `pytest --pyargs kcoord.check`, and not by this suite."""

# How long an example takes, or is looked for, says something about the machine and nothing about the code.
settings.register_profile("kcoord", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kcoord")
