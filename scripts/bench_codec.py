"""Compare this codec's speed with that of kafka-python, message by message.

    python scripts/bench_codec.py [--rounds 21] [--seconds 0.02]

Both codecs work on the same message in one process, in turn, so that a noisy machine disturbs both alike; each figure
is the median over the rounds. A ratio below 1 means that this codec takes less time.

Records are copied out of the frame by this codec, as whoever keeps them must, and left in it by kafka-python: the
ratios of what carries them grow with their size.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kafka.protocol import consumer, producer

from wire import messages as ours
from wire.codec import decode, encode
from wire.payloads import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from wire.schema import Message


class Case(NamedTuple):
    """One message in one version, as each codec holds it."""

    label: str
    version: int
    message: Message
    foreign: Any


def cases() -> list[Case]:
    """What a busy broker sees: heartbeats, commits and rebalances of ten members, records coming and going."""
    found = []

    def case(label: str, version: int, message: Message) -> None:
        theirs = producer if type(message) in (ours.ProduceRequest, ours.ProduceResponse) else consumer
        foreign = getattr(theirs, type(message).__name__).decode(encode(message, version), version=version)
        found.append(Case(label, version, message, foreign))

    metadata = encode_subscription(Subscription(topics=("orders", "payments"), rack_id="rack-a"))
    assignment = encode_assignment(Assignment((TopicPartitions("orders", tuple(range(8))),)))
    ids = [f"consumer-app-{n}-6f1d2c6e-3a51-4a5e-9a57-0f5a3f9be1{n:02d}" for n in range(10)]
    names = ["range", "roundrobin", "sticky", "cooperative-sticky", *(f"custom-{n}" for n in range(6))]

    heartbeat = ours.HeartbeatRequest(group_id="payments", generation_id=7, member_id=ids[0])
    case("Heartbeat 4 request", 4, heartbeat)
    case("Heartbeat 3 request", 3, heartbeat)
    case("Heartbeat 4 response", 4, ours.HeartbeatResponse(error_code=27))
    join = ours.JoinGroupRequest(
        group_id="payments",
        session_timeout_ms=45000,
        rebalance_timeout_ms=300000,
        member_id=ids[0],
        protocol_type="consumer",
        protocols=[ours.JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names],
        reason="need to re-join with the given member-id",
    )
    case("JoinGroup 9 request, 10 protocols", 9, join)
    case("JoinGroup 5 request, 10 protocols", 5, join)
    joined = ours.JoinGroupResponse(
        generation_id=7,
        protocol_type="consumer",
        protocol_name="range",
        leader=ids[0],
        member_id=ids[0],
        members=[ours.JoinGroupResponseMember(member_id=member_id, metadata=metadata) for member_id in ids],
    )
    case("JoinGroup 9 response, 10 members", 9, joined)
    case("JoinGroup 5 response, 10 members", 5, joined)
    sync = ours.SyncGroupRequest(
        group_id="payments",
        generation_id=7,
        member_id=ids[0],
        protocol_type="consumer",
        protocol_name="range",
        assignments=[ours.SyncGroupRequestAssignment(member_id=m, assignment=assignment) for m in ids],
    )
    case("SyncGroup 5 request, 10 members", 5, sync)
    commit = ours.OffsetCommitRequest(
        group_id="payments",
        generation_id_or_member_epoch=7,
        member_id=ids[0],
        topics=[
            ours.OffsetCommitRequestTopic(
                name="orders",
                partitions=[
                    ours.OffsetCommitRequestPartition(
                        partition_index=n, committed_offset=123456 + n, committed_leader_epoch=3, committed_metadata=""
                    )
                    for n in range(10)
                ],
            )
        ],
    )
    case("OffsetCommit 8 request, 10 partitions", 8, commit)
    case("OffsetCommit 7 request, 10 partitions", 7, commit)
    committed = ours.OffsetCommitResponse(
        topics=[
            ours.OffsetCommitResponseTopic(
                name="orders", partitions=[ours.OffsetCommitResponsePartition(partition_index=n) for n in range(10)]
            )
        ]
    )
    case("OffsetCommit 8 response, 10 partitions", 8, committed)
    records = bytes(10_000)
    produce = ours.ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            ours.TopicProduceData(
                name="orders", partition_data=[ours.PartitionProduceData(index=n, records=records) for n in range(4)]
            )
        ],
    )
    case("Produce 9 request, 4 partitions", 9, produce)
    produced = ours.ProduceResponse(
        responses=[
            ours.TopicProduceResponse(
                name="orders", partition_responses=[ours.PartitionProduceResponse(index=n) for n in range(4)]
            )
        ]
    )
    case("Produce 9 response, 4 partitions", 9, produced)
    wanted = ours.FetchTopic(
        topic="orders",
        partitions=[ours.FetchPartition(partition=n, fetch_offset=123456, partition_max_bytes=2**20) for n in range(4)],
    )
    fetch = ours.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=2**26, topics=[wanted])
    case("Fetch 12 request, 4 partitions", 12, fetch)
    fetched = ours.FetchableTopicResponse(
        topic="orders",
        partitions=[ours.PartitionData(partition_index=n, high_watermark=123556, records=records) for n in range(4)],
    )
    case("Fetch 12 response, 4 partitions", 12, ours.FetchResponse(responses=[fetched]))
    return found


def compare(one: Callable[[], object], other: Callable[[], object], rounds: int, seconds: float) -> tuple[float, float]:
    """Time two functions in turn; return the median time of one call of each, in microseconds."""
    repeat = 1
    while _timed(one, repeat) < seconds:
        repeat *= 2
    pairs = [(_timed(one, repeat), _timed(other, repeat)) for _ in range(rounds)]
    first, second = (statistics.median(times) / repeat * 1e6 for times in zip(*pairs, strict=True))
    return first, second


def _timed(call: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of one measurement")
    arguments = parser.parse_args()
    print(f"{'microseconds (median)':40} {'ours':>8} {'k-python':>8} {'ratio':>6}")
    for label, version, message, foreign in cases():
        data = encode(message, version)
        cls, foreign_cls = type(message), type(foreign)
        for what, mine, their in (
            ("decode", partial(decode, cls, version, data), partial(foreign_cls.decode, data, version=version)),
            ("encode", partial(encode, message, version), foreign.encode),
        ):
            us, them = compare(mine, their, arguments.rounds, arguments.seconds)
            print(f"{what + ' ' + label:48} {us:8.2f} {them:8.2f} {us / them:6.2f}")


if __name__ == "__main__":
    main()
