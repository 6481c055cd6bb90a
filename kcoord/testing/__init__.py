"""kcoord as a fixture of tests: a running server whose clock, groups and topics the test controls.

`Kcoord` is for tests that are plain functions, `AsyncKcoord` for those that run on asyncio or trio. pytest gets the
fixtures `kcoord`, `make_kcoord` and `kcoord_config` by a plugin. What is here is loaded when it is first asked for, so
that a test run which never does pays next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcoord.config import ConfigError
    from kcoord.control import (
        ControlError,
        GroupView,
        Impossible,
        MemberView,
        NotFound,
        OffsetView,
        SubscriptionView,
        TimedOut,
        TopicView,
        Unavailable,
    )
    from kcoord.control.brokers import BrokerView
    from kcoord.control.faults import FaultView
    from kcoord.faults import FaultRule
    from kcoord.serve import CannotListen
    from kcoord.testing.aio import AsyncClock, AsyncGroup, AsyncKcoord
    from kcoord.testing.faults import FaultNeverMet
    from kcoord.testing.sync import Clock, Group, Kcoord
    from kcoord.testing.thread import ServerGone
    from kcoord.timeline import Timeline

__all__ = [
    "AsyncClock",
    "AsyncGroup",
    "AsyncKcoord",
    "BrokerView",
    "CannotListen",
    "Clock",
    "ConfigError",
    "ControlError",
    "FaultNeverMet",
    "FaultRule",
    "FaultView",
    "Group",
    "GroupView",
    "Impossible",
    "Kcoord",
    "MemberView",
    "NotFound",
    "OffsetView",
    "ServerGone",
    "SubscriptionView",
    "TimedOut",
    "Timeline",
    "TopicView",
    "Unavailable",
]

_FOUND_IN = {
    "AsyncClock": "kcoord.testing.aio",
    "AsyncGroup": "kcoord.testing.aio",
    "AsyncKcoord": "kcoord.testing.aio",
    "BrokerView": "kcoord.control.brokers",
    "CannotListen": "kcoord.serve",
    "Clock": "kcoord.testing.sync",
    "ConfigError": "kcoord.config",
    "FaultNeverMet": "kcoord.testing.faults",
    "FaultRule": "kcoord.faults",
    "FaultView": "kcoord.control.faults",
    "Group": "kcoord.testing.sync",
    "Kcoord": "kcoord.testing.sync",
    "ServerGone": "kcoord.testing.thread",
    "Timeline": "kcoord.timeline",
}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FOUND_IN.get(name, "kcoord.control")), name)
