"""The command line: flags, environment and a file become a `Config`, and the server runs until a signal.

Whatever is wrong with them is said in one sentence on standard error, with exit status 2.
"""

import os
import resource
import signal
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import trio
from cyclopts import App, CycloptsError, Parameter

from kcoord import __version__
from kcoord.config import SETTINGS, Config, ConfigError
from kcoord.serve import CannotListen, Running, UnknownStore, serve
from kcoord.watch.log_lines import log_lines

ENVIRONMENT_PREFIX = "KCOORD_"
RESERVED = frozenset({"KCOORD_BOOTSTRAP"})
"""Names under the prefix that are meant for tests: they point to a server, they do not set one up."""
USAGE_ERROR = 2

app = App(
    name="kcoord",
    help="The Kafka group coordinator alone: a small server that real consumers rebalance against.",
    version=__version__,
    version_flags=["--version"],
    help_format="plaintext",
)


@app.command(name="serve")
def serve_command(
    *,
    listen: Annotated[str | None, Parameter(name="--listen")] = None,
    advertise: Annotated[str | None, Parameter(name="--advertise")] = None,
    topic: Annotated[list[str] | None, Parameter(name="--topic", negative=())] = None,
    override: Annotated[list[str] | None, Parameter(name="--override", negative=())] = None,
    config: Annotated[Path | None, Parameter(name="--config")] = None,
    log_format: Annotated[Literal["console", "json"], Parameter(name="--log-format")] = "console",
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Parameter(name="--log-level")] = "info",
) -> None:
    """Serve until SIGTERM or SIGINT.

    A setting is taken from the flags, else from the environment, where group.max.size is
    KCOORD_GROUP_MAX_SIZE, else from the file, else it has Kafka's default. When the server is ready it
    prints one line, "kcoord is listening on HOST:PORT"; log lines go to standard error.

    Parameters
    ----------
    listen
        HOST:PORT to listen on (127.0.0.1:9092); port 0 takes a free one.
    advertise
        HOST:PORT that clients are told to connect to.
    topic
        NAME:PARTITIONS of a topic that exists from the start; may be repeated.
    override
        KEY=VALUE, any of Kafka's settings; may be repeated.
    config
        A TOML file with Kafka's settings, and a table [topics].
    log_format
        How log lines look.
    log_level
        The least that is logged.

    """
    flags: dict[str, object] = dict(_pair(each, "=", "--override", "KEY=VALUE") for each in override or [])
    if listen is not None:
        flags["listeners"] = listen
    if advertise is not None:
        flags["advertised.listeners"] = advertise
    asked_topics = dict(_pair(each, ":", "--topic", "NAME:PARTITIONS") for each in topic or [])
    from_file, topics_from_file = read_file(config) if config is not None else ({}, {})
    settings = _merged(from_file, from_environment(os.environ), flags)
    effective = Config.from_settings(settings, {**topics_from_file, **asked_topics})
    _allow_many_files()
    trio.run(_serve_until_signal, effective, log_format, log_level)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default that of the process; what `kcoord` and `python -m kcoord` call."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except (ConfigError, CannotListen) as error:
        _fail(str(error))
    except CycloptsError as error:
        _fail(" ".join(str(error).split()))


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment has. Raises ConfigError for a name that is none."""
    settings: dict[str, object] = {}
    for name, value in environment.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name in RESERVED:
            continue
        key = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
        if key not in SETTINGS or not name.isupper():
            raise ConfigError(f"{name} in the environment is not a setting that kcoord knows")
        settings[key] = value
    return settings


def read_file(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return the settings and the topics of a TOML file, under dotted keys. Raises ConfigError.

    Dots in TOML make tables, and names here have dots: a table is the part of a name before the dot.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    topics = content.pop("topics", {})
    if not isinstance(topics, dict):
        raise ConfigError(f"topics in {path} must be a table of names and numbers of partitions")
    return _flattened(content), _flattened(topics)


def _flattened(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flattened(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _merged(*sources: Mapping[str, object]) -> dict[str, object]:
    """Merge sources, the later one wins, also where a setting has two names."""
    merged: dict[str, object] = {}
    for source in sources:
        replaced = {SETTINGS[key].attribute for key in source if key in SETTINGS}
        kept = {
            key: value
            for key, value in merged.items()
            if key not in SETTINGS or SETTINGS[key].attribute not in replaced
        }
        merged = kept | dict(source)
    return merged


def _pair(text: str, separator: str, flag: str, form: str) -> tuple[str, str]:
    key, found, value = text.partition(separator)
    if not found or not key:
        raise ConfigError(f"{flag} is {text!r}: it must be {form}")
    return key.strip(), value.strip()


def _allow_many_files() -> None:
    """Raise the limit of open files as far as this process may, as Java does: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve_until_signal(config: Config, log_format: str, log_level: str) -> None:
    problem: str | None = None
    on_note = log_lines(log_format, log_level, sys.stderr)
    try:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with trio.open_nursery() as nursery:

                async def announce(task_status: trio.TaskStatus[Running]) -> None:
                    await serve(config, on_note=on_note, task_status=task_status)

                running = await nursery.start(announce)
                bound = ", ".join(str(address) for address in running.addresses)
                print(f"kcoord is listening on {bound}", flush=True)
                async for _ in signals:
                    await running.stop()
                    nursery.cancel_scope.cancel()
                    break
    except* CannotListen as group:
        problem = str(group.exceptions[0])
    except* UnknownStore as group:
        problem = str(group.exceptions[0])
    if problem is not None:
        raise ConfigError(problem)


def _fail(sentence: str) -> NoReturn:
    print(f"kcoord: {sentence}", file=sys.stderr)
    sys.exit(USAGE_ERROR)
