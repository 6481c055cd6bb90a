"""Options of the whole suite."""

pytest_plugins = ["kcoord.check.pytest_plugin"]
"""Has `--bootstrap`: the rules are run at the broker there by `pytest --pyargs kcoord.check`, and not by this suite."""
