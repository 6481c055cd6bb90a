"""Producers ask for an id: what they get, and what they may say of the one they have."""

import struct

import trio

from kcoord.check.logs import batch, new_topic, put, stored
from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import BROKER, describe
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import InitProducerIdRequest, InitProducerIdResponse, MetadataRequest

INITIALIZED = "Apache Kafka TransactionCoordinator.handleInitProducerId"
CHECKED = "Apache Kafka KafkaApis.handleInitProducerIdRequest"
VERSIONS = range(6)
PAIRS = range(3, 6)
"""Versions in which producers say what they have."""
LONGEST = "transaction.max.timeout.ms"


def asking(
    transactional_id: str | None = None, timeout_ms: int = 60_000, producer_id: int = -1, producer_epoch: int = -1
) -> InitProducerIdRequest:
    """Return a request, by default for a new id."""
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


async def ask(client: Client, request: InitProducerIdRequest, version: int) -> InitProducerIdResponse:
    """Ask; a broker that has no ids at hand yet says so, and is asked again."""
    while True:
        answer: InitProducerIdResponse = await client.call(request, version)
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return answer
        await trio.sleep(0.05)


def given(producer_id: int) -> InitProducerIdResponse:
    """Return what is said to who gets this id."""
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def refused(error: ErrorCode) -> InitProducerIdResponse:
    """Return what is said to who gets none."""
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


@rule(
    id="init-producer-id-1",
    api="InitProducerId",
    says="Who asks gets an id that nobody else has, greater than those before, and epoch 0.",
    source=f"KIP-98; {INITIALIZED}",
    versions="0-5",
    topics=(),
)
async def init_producer_id_1(world: World) -> None:
    ids: list[int] = []
    clients = [await world.client() for _ in range(3)]
    for version in world.offered(InitProducerIdRequest, VERSIONS):
        for client in clients:
            for _ in range(3):
                answer = await ask(client, asking(), version)
                assert answer == given(answer.producer_id)
                ids.append(answer.producer_id)
    assert min(ids) >= 0
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


@rule(
    id="init-producer-id-2",
    api="InitProducerId",
    says="Without a transactional id the timeout of transactions does not matter.",
    source=INITIALIZED,
    versions="0-5",
    topics=(),
)
async def init_producer_id_2(world: World) -> None:
    client = await world.client()
    for version in world.offered(InitProducerIdRequest, VERSIONS):
        for timeout_ms in (0, -1, 2**31 - 1):
            answer = await ask(client, asking(timeout_ms=timeout_ms), version)
            assert answer == given(answer.producer_id)
            assert answer.producer_id >= 0


@rule(
    id="init-producer-id-3",
    api="InitProducerId",
    says="Without a transactional id who has an id and an epoch gets another id, and epoch 0.",
    source=f"KIP-360: such a producer raises its epoch by itself; {INITIALIZED}",
    versions="3-5",
    topics=(),
    each={"producer_id": (0, 5, 2**62, -2)},
)
async def init_producer_id_3(world: World, producer_id: int) -> None:
    client = await world.client()
    for version in world.offered(InitProducerIdRequest, PAIRS):
        for epoch in (0, 7, 32_767, -2):
            answer = await ask(client, asking(producer_id=producer_id, producer_epoch=epoch), version)
            assert answer == given(answer.producer_id)
            assert answer.producer_id not in (-1, 2**62)


@rule(
    id="init-producer-id-4",
    api="InitProducerId",
    says="An id without an epoch is refused, as is an epoch without an id, whatever the transactional id.",
    source=f"KIP-360; {CHECKED}",
    versions="3-5",
    topics=(),
    each={"transactional": ("null", "an id", "empty")},
)
async def init_producer_id_4(world: World, transactional: str) -> None:
    client = await world.client()
    transactional_id = {"null": None, "an id": world.group("tx"), "empty": ""}[transactional]
    for version in world.offered(InitProducerIdRequest, PAIRS):
        for producer_id, epoch in ((5, -1), (-1, 0), (-1, 5), (-2, -1)):
            request = asking(transactional_id, producer_id=producer_id, producer_epoch=epoch)
            assert await ask(client, request, version) == refused(ErrorCode.INVALID_REQUEST)


@rule(
    id="init-producer-id-5",
    api="InitProducerId",
    says="The empty transactional id is refused, before the timeout is looked at.",
    source=INITIALIZED,
    versions="0-5",
    topics=(),
)
async def init_producer_id_5(world: World) -> None:
    client = await world.client()
    for version in world.offered(InitProducerIdRequest, VERSIONS):
        for timeout_ms in (60_000, -1):
            answer = await ask(client, asking("", timeout_ms=timeout_ms), version)
            assert answer == refused(ErrorCode.INVALID_REQUEST)


@rule(
    id="init-producer-id-6",
    api="InitProducerId",
    says="A transaction that may take no time is refused.",
    source=f"{INITIALIZED}: validateTransactionTimeoutMs",
    versions="0-5",
    topics=(),
)
async def init_producer_id_6(world: World) -> None:
    client, transactional_id = await world.client(), world.group("tx")
    for version in world.offered(InitProducerIdRequest, VERSIONS):
        for timeout_ms in (0, -1, -(2**31)):
            answer = await ask(client, asking(transactional_id, timeout_ms=timeout_ms), version)
            assert answer == refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


async def longest_transaction(client: Client) -> int:
    """Return the broker's transaction.max.timeout.ms, which is at Kafka's default where it is not told."""
    (broker,) = (await client.call(MetadataRequest(topics=[]))).brokers
    told = await describe(client, BROKER, str(broker.node_id), LONGEST)
    values = {one.name: one.value for one in told.configs}
    return int(values.get(LONGEST, 900_000))


@rule(
    id="init-producer-id-7",
    api="InitProducerId",
    says="A transaction that may take more than transaction.max.timeout.ms is refused.",
    source=f"{INITIALIZED}: validateTransactionTimeoutMs",
    versions="0-5",
    topics=(),
)
async def init_producer_id_7(world: World) -> None:
    client, transactional_id = await world.client(), world.group("tx")
    longest = await longest_transaction(client)
    if longest == 2**31 - 1:
        raise NotApplicable(f"{LONGEST} is as long as a request can say")
    for version in world.offered(InitProducerIdRequest, VERSIONS):
        for timeout_ms in (longest + 1, 2**31 - 1):
            answer = await ask(client, asking(transactional_id, timeout_ms=timeout_ms), version)
            assert answer == refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


@rule(
    id="init-producer-id-8",
    api="InitProducerId",
    says="With the id that it was given a producer numbers its records, and what it sends twice is stored once.",
    source="KIP-98; Apache Kafka ProducerStateEntry.findDuplicateBatch",
    versions="0-5",
    topics=(),
)
async def init_producer_id_8(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    answer = await ask(client, asking(), world.offered(InitProducerIdRequest, VERSIONS)[-1])
    for sequence in range(3):
        records = batch(b"%d" % sequence, producer=(answer.producer_id, 0, sequence))
        assert await put(client, name, 0, records, records) == [sequence] * 2
    assert [one.value for one in await stored(client, name, 0)] == [b"0", b"1", b"2"]


@rule(
    id="init-producer-id-9",
    api="InitProducerId",
    says="A version beside those that are advertised is not served: the connection is closed.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    topics=(),
)
async def init_producer_id_9(world: World) -> None:
    for version in world.unserved(InitProducerIdRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", InitProducerIdRequest.API_KEY, version, 1, -1) + bytes(40))
            assert await client.is_closed()
