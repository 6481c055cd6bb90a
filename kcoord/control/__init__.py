"""What a test may do to a running server: its clock, groups and topics, in process (`Control`) or from elsewhere."""

from kcoord.control.control import Control
from kcoord.control.errors import ControlError, Impossible, NotFound, TimedOut, Unavailable
from kcoord.control.plain import plain
from kcoord.control.views import GroupView, MemberView, OffsetView, SubscriptionView, TopicView

__all__ = [
    "Control",
    "ControlError",
    "GroupView",
    "Impossible",
    "MemberView",
    "NotFound",
    "OffsetView",
    "SubscriptionView",
    "TimedOut",
    "TopicView",
    "Unavailable",
    "plain",
]
