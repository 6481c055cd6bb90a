"""Answers in which brokers say where they are, changed so that clients come to the proxy instead.

Only Metadata, FindCoordinator and DescribeCluster are changed, by reading and writing them again: an unknown tag in
them is lost. That is right for a single broker only; an answer that names several is left as it is.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from kcoord.config import Address
from kcoord.dump.explain import MOST_ASKED
from kcoord.dump.frames import SIZE
from wire.errors import WireError
from wire.header import read_response, response_frame
from wire.messages import (
    REQUESTS,
    Coordinator,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)

Named = MetadataResponseBroker | DescribeClusterBroker | Coordinator | FindCoordinatorResponse
"""What says where a broker is."""

_REWRITTEN: Final = frozenset({MetadataRequest.API_KEY, FindCoordinatorRequest.API_KEY, DescribeClusterRequest.API_KEY})


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A frame to be passed on, and what is to be said about it, if anything."""

    data: bytes
    remark: str | None = None


class Rewriter:
    """Changes the answers of one connection; `address` is what clients are to know the broker by."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._asked: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def request(self, data: bytes) -> None:
        """Remember what a request asks; `data` begins with its size."""
        key = int.from_bytes(data[4:6], "big", signed=True)
        if len(data) >= SIZE + 8 and key in _REWRITTEN:
            correlation_id = int.from_bytes(data[8:12], "big", signed=True)
            self._asked[correlation_id] = key, int.from_bytes(data[6:8], "big", signed=True)
            if len(self._asked) > MOST_ASKED:
                self._asked.popitem(last=False)

    def response(self, data: bytes) -> Rewritten:
        """Return the answer as it is to be passed on; one that cannot be read is passed on as it is."""
        asked = self._asked.pop(int.from_bytes(data[4:8], "big", signed=True), None)
        if asked is None:
            return Rewritten(data)
        key, version = asked
        try:
            correlation_id, answer = read_response(data[SIZE:], REQUESTS[key].RESPONSE, version)
            brokers = _brokers(answer)
            if len({(each.host, each.port) for each in brokers}) > 1:
                return Rewritten(data, "the answer names several brokers, and is passed on as it is")
            for each in brokers:
                each.host, each.port = self._address.host, self._address.port
            return Rewritten(response_frame(correlation_id, answer, version))
        except WireError as error:
            return Rewritten(data, f"the answer cannot be rewritten, and is passed on as it is: {error}")


def _brokers(answer: object) -> list[Named]:
    """Return what in an answer says where a broker is; an entry without one, such as an error's, is none."""
    found: list[Named]
    if isinstance(answer, (MetadataResponse, DescribeClusterResponse)):
        found = [*answer.brokers]
    else:
        assert isinstance(answer, FindCoordinatorResponse)
        found = [*answer.coordinators, answer]
    return [each for each in found if each.host and each.port >= 0]
