"""What a test may ask of a server that runs already: it is what it is, so this only looks whether that is enough."""

from collections.abc import Callable

from kcoord.control.errors import Impossible
from kcoord.testing.defaults import Masks, Settings, Topics, config_for


def check_arguments(
    server: str,
    topics: Topics | None,
    settings: Settings | None,
    *,
    kafka_defaults: bool,
    brokers: int | None,
    as_version: str | None,
    mask: Masks | None,
) -> None:
    """Look at the arguments of `kcoord.testing.Kcoord`; `server` is where the one that runs is.

    Raises ConfigError for what no server could be given, and Impossible for what one that runs cannot be.
    """
    config_for(topics, settings, kafka_defaults=kafka_defaults, brokers=brokers, as_version=as_version, mask=mask)
    if as_version is not None or mask:
        raise Impossible(f"the server at {server} is of the release that it is of, and nothing of it is masked")
    if settings:
        raise Impossible(f"the server at {server} cannot be given settings: {', '.join(settings)}")


def check_brokers(server: str, wanted: int | None, count: Callable[[], int]) -> None:
    """See to it that there are as many brokers as are wanted, if that is said; `count` asks. Raises Impossible."""
    if wanted is not None and (having := count()) < wanted:
        raise Impossible(f"the server at {server} has {having} brokers, and {wanted} are wanted")
