"""The topics that all rules of a run share: made at the beginning, and waited for until they can be used."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import trio

from kcoord.check.names import SHARED
from kcoord.check.outcome import CannotRun, NotApplicable
from kcoord.check.probe import Call, Client, error_name, offered
from kcoord.check.target import ANSWERS, CLIENT, SOON, Target, ask, only_one, reason
from wire.errors import ErrorCode
from wire.messages import (
    CreatableTopic,
    CreateTopicsRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
)

TO_MAKE_TOPICS: Final = 5.0
"""Seconds more that are waited for topics which are being made when the run is stopped: then they can be removed."""
LOGS_MADE: Final = 60.0
"""Seconds in which the logs of the topics' partitions must have been made, once the topics are there."""
_END: Final = -1
"""The timestamp by which ListOffsets is asked where a log ends."""
_NOT_YET: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""What is said of a partition that is led by the broker, and not ready."""


async def make_topics(target: Target, wanted: Iterable[str]) -> None:
    """Make the shared topics that are wanted. What could not be made, `Target.lacking` tells. Raises CannotRun.

    `Target.topics` are those that may be there then, also if this does not come to its end.
    """
    names = {name: f"{target.prefix}{name}" for name in SHARED if name in set(wanted)}
    if not names:
        return
    target.topics += names.values()
    try:
        client = Client(await target.opener(), CLIENT, offers=target.offers)
        try:
            led = await _create(client, target, names)
            # What goes wrong there, the rules for ListOffsets tell.
            with suppress(*ANSWERS):
                await _wait_for_logs(client, led)
        finally:
            await trio.aclose_forcefully(client.stream)
    except ANSWERS as error:
        raise CannotRun(f"the broker is of no use: {reason(error)}") from error


async def _create(client: Client, target: Target, names: Mapping[str, str]) -> dict[str, list[int]]:
    """Make topics, and return which of their partitions are led by the broker itself."""
    wishes = [
        CreatableTopic(name=real, num_partitions=SHARED[name], replication_factor=1) for name, real in names.items()
    ]
    led: dict[str, list[int]] = {}
    try:
        answer = await _made(await client.send(CreateTopicsRequest(topics=wishes, timeout_ms=int(SOON * 1000))))
    except NotApplicable as error:
        # Some brokers make a topic when they are asked about it, and in no other way.
        target.lacking = f"topics cannot be made: {error}"
    else:
        for one in answer.topics:
            if one.error_code != ErrorCode.NONE:
                why = f"{error_name(one.error_code)} {one.error_message or ''}".rstrip()
                target.lacking = f"topics cannot be made: {why}"
                return led
    with trio.move_on_after(SOON if not target.lacking else 2.0):
        for name, real in names.items():
            led[real] = await _wait_for(client, target, real, SHARED[name], anew=bool(target.lacking))
            target.shared[name] = real
    if target.lacking:
        target.notes.append(target.lacking)
    elif len(target.shared) < len(names):
        target.lacking = f"topics were made, but are not there after {SOON:g} s"
        target.notes.append(target.lacking)
    return led


async def _made(call: Call) -> Any:
    """Wait for the answer to a CreateTopics, for some seconds also if this is cancelled.

    A broker goes on making topics for somebody who does not wait for them any more; until it has made them they cannot
    be removed.
    """
    try:
        return await call.answer(SOON)
    except trio.Cancelled:
        with trio.CancelScope(shield=True), suppress(*ANSWERS):
            await call.answer(TO_MAKE_TOPICS)
        raise


async def _wait_for(client: Client, target: Target, name: str, partitions: int, *, anew: bool) -> list[int]:
    """Wait until a topic has a leader for each of its partitions; return those that are led by the broker itself.

    `anew` is for a topic that comes when it is asked for. It may have more partitions than it should have.
    """
    version = min(offered(target.offers, MetadataRequest).highest, 12)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=anew or version < 4)
    while True:
        topic = only_one((await ask(client, request, version)).topics, "Metadata", "topics")
        count = len(topic.partitions)
        enough = count >= partitions if anew else count == partitions
        if topic.error_code == 0 and enough and all(one.error_code == 0 for one in topic.partitions):
            return [one.partition_index for one in topic.partitions if one.leader_id == target.node_id]
        await trio.sleep(0.05)


async def _wait_for_logs(client: Client, led: Mapping[str, list[int]]) -> None:
    """Wait until partitions can be read, if the broker can be asked for that; not for ever.

    Apache Kafka tells who leads them before it has made their logs, for which it takes many seconds if they are a
    thousand and the machine is busy. Raises what `ANSWERS` are.
    """
    topics = [
        ListOffsetsTopic(
            name=name,
            partitions=[ListOffsetsPartition(partition_index=index, timestamp=_END) for index in partitions],
        )
        for name, partitions in led.items()
    ]
    with trio.move_on_after(LOGS_MADE):
        while True:
            answer = await ask(client, ListOffsetsRequest(replica_id=-1, topics=topics))
            if not any(one.error_code in _NOT_YET for topic in answer.topics for one in topic.partitions):
                return
            await trio.sleep(0.1)
