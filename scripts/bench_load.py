"""The load: many raw connections in one process, driven by readiness. Started by bench_server.py.

    python scripts/bench_load.py HOST PORT KIND NUMBER ...

Prints one JSON object. KIND is one of

    beats CONNECTIONS GROUPS SECONDS      heartbeats in a closed loop: each connection sends, waits, sends again
    fixed CONNECTIONS SECONDS             the same frames without a group behind them, for the floor
    commits CONNECTIONS PARTITIONS SECONDS
    form MEMBERS SERVER_PID SESSION_MS    a group forms; one member leaves, the others rebalance
    produce CONNECTIONS BYTES SECONDS     batches of so many bytes, each connection to a partition of its own
    fetch CONNECTIONS BYTES SECONDS       the same partitions, read again and again from their start to their end

It works with any broker that has a topic `bench` with 4 partitions and more.
"""

import json
import os
import sys
from collections.abc import Callable

from bench_connections import CLIENT_ID, Connection, Dialect, closed_loop
from bench_members import Swarm, stable_members

from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from wire.records import Record, build

TOPIC = "bench"
RECORD_BYTES = 1_000
BATCHES_TO_READ = 4
"""So many are in each partition when fetching begins; some brokers keep 5 MB of a partition only."""

Address = tuple[str, int]


def resident_kib(pid: int) -> int:
    """Resident memory of a process and its children, in KiB."""
    with open(f"/proc/{pid}/status") as status:
        own = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return own + sum(resident_kib(child) for child in children(pid))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children, in s."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(child) for child in children(pid))


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        return [int(child) for child in listed.read().split()]


def checked(error_code: int) -> None:
    if error_code:
        raise RuntimeError(ErrorCode(error_code).name)


def beats(address: Address, connections: int, groups: int, seconds: int) -> dict[str, float]:
    dialect = Dialect(address)
    members = stable_members(address, dialect, connections, groups)
    for member in members:
        request = member.heartbeat()
        member.connection.frame = dialect.frame(request)
        checked(dialect.answer(member.connection.call(member.connection.frame), request).error_code)
    return closed_loop([member.connection for member in members], seconds)


def fixed(address: Address, connections: int, seconds: int) -> dict[str, float]:
    request = HeartbeatRequest(group_id="bench-12345-0", generation_id=2, member_id="bench-" + "0" * 36)
    loaded = [Connection(address) for _ in range(connections)]
    for one in loaded:
        one.frame = request_frame(1, CLIENT_ID, request, 4)
    return closed_loop(loaded, seconds)


def commits(address: Address, connections: int, partitions: int, seconds: int) -> dict[str, float]:
    dialect = Dialect(address)
    members = stable_members(address, dialect, connections, connections)
    for member in members:
        request = OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=member.generation,
            member_id=member.id,
            topics=[
                OffsetCommitRequestTopic(
                    name=TOPIC,
                    partitions=[
                        OffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata="")
                        for index in range(partitions)
                    ],
                )
            ],
        )
        frame = member.connection.frame = dialect.frame(request)
        answer = dialect.answer(member.connection.call(frame), request)
        checked(answer.topics[0].partitions[0].error_code)
    return closed_loop([member.connection for member in members], seconds)


def form(address: Address, size: int, pid: int, session_ms: int) -> dict[str, float]:
    rss = resident_kib(pid)
    cpu = cpu_seconds(pid)
    swarm = Swarm(address, Dialect(address), f"form-{os.getpid()}-{size}", size, session_ms)
    formed = swarm.form()
    after = cpu_seconds(pid)
    grown = resident_kib(pid) - rss
    rebalanced = swarm.rebalance_after_leave()
    return {
        "form_s": formed,
        "form_cpu_s": after - cpu,
        "rebalance_s": rebalanced,
        "rebalance_cpu_s": cpu_seconds(pid) - after,
        "kib_per_member": grown / size,
    }


def batch_of(size: int) -> bytes:
    """A record batch of about so many bytes, in records of a thousand, uncompressed."""
    count = max(1, size // RECORD_BYTES)
    value = os.urandom(min(size, RECORD_BYTES) - 20)
    return build([Record(offset=number, timestamp=-1, key=None, value=value, headers=()) for number in range(count)])


def produce_request(partition: int, batch: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])])


def produce(address: Address, connections: int, size: int, seconds: int) -> dict[str, float]:
    dialect = Dialect(address)
    batch = batch_of(size)
    loaded = []
    for partition in range(connections):
        connection = Connection(address)
        request = produce_request(partition, batch)
        connection.frame = dialect.frame(request)
        answer = dialect.answer(connection.call(connection.frame), request)
        checked(answer.responses[0].partition_responses[0].error_code)
        loaded.append(connection)

    def appended(_: Connection, payload: bytes) -> None:
        answer = dialect.answer(payload, ProduceRequest)
        checked(answer.responses[0].partition_responses[0].error_code)

    measured = closed_loop(loaded, seconds, appended)
    return measured | {"mb_per_s": measured["rate"] * len(batch) / 1e6}


def fetch_request(partition: int, offset: int, size: int) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=size)
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=size, topics=[FetchTopic(topic=TOPIC, partitions=[wanted])]
    )


def fetch(address: Address, connections: int, size: int, seconds: int) -> dict[str, float]:
    """Each connection fetches the batch at its position, and goes on to the next one, from the end to the start.

    A batch holds what one fetch asks for, so both sides know the next offset without looking into the records.
    """
    dialect = Dialect(address)
    batch = batch_of(size)
    count = max(1, size // RECORD_BYTES)
    loaded: dict[Connection, list[bytes]] = {}
    place: dict[Connection, int] = {}
    for partition in range(connections):
        connection = Connection(address)
        request = produce_request(partition, batch)
        answer = None
        for _ in range(BATCHES_TO_READ):
            answer = dialect.answer(connection.call(dialect.frame(request)), request)
            checked(answer.responses[0].partition_responses[0].error_code)
        assert answer is not None
        end = answer.responses[0].partition_responses[0].base_offset + count
        offsets = range(end - BATCHES_TO_READ * count, end, count)
        loaded[connection] = [dialect.frame(fetch_request(partition, offset, len(batch))) for offset in offsets]
        place[connection] = 0
        connection.frame = loaded[connection][0]
        first = dialect.answer(connection.call(connection.frame), FetchRequest)
        checked(first.responses[0].partitions[0].error_code)

    def go_on(connection: Connection, payload: bytes) -> None:
        if len(payload) < len(batch):
            raise RuntimeError("a fetch did not return the batch")
        place[connection] = (place[connection] + 1) % BATCHES_TO_READ
        connection.frame = loaded[connection][place[connection]]

    measured = closed_loop(list(loaded), seconds, go_on)
    return measured | {"mb_per_s": measured["rate"] * len(batch) / 1e6}


KINDS: dict[str, Callable[..., dict[str, float]]] = {
    "beats": beats,
    "fixed": fixed,
    "commits": commits,
    "form": form,
    "produce": produce,
    "fetch": fetch,
}


def main(host: str, port: str, kind: str, *numbers: str) -> None:
    print(json.dumps(KINDS[kind]((host, int(port)), *(int(number) for number in numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
