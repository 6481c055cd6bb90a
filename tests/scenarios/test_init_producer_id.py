"""Producers ask for an id: what they get, and what they may say of the one they have."""

import struct

import pytest
import trio

from tests.scenarios.harness import Client, World
from tests.scenarios.logs import batch, new_topic, put, stored
from wire.errors import ErrorCode
from wire.messages import InitProducerIdRequest, InitProducerIdResponse

VERSIONS = range(6)
PAIRS = range(3, 6)
"""Versions in which producers say what they have."""


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def asking(
    transactional_id: str | None = None, timeout_ms: int = 60_000, producer_id: int = -1, producer_epoch: int = -1
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


async def ask(client: Client, request: InitProducerIdRequest, version: int) -> InitProducerIdResponse:
    """Ask; a broker that has no ids at hand yet says so, and is asked again."""
    while True:
        answer = await client.call(request, version)
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return answer
        await trio.sleep(0.05)


def refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_everybody_gets_an_id_of_their_own(world: World, version: int):
    ids = []
    for _ in range(3):
        client = await world.client()
        for _ in range(3):
            answer = await ask(client, asking(), version)
            assert answer == InitProducerIdResponse(producer_id=answer.producer_id, producer_epoch=0)
            ids.append(answer.producer_id)
    assert min(ids) >= 0
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1])
async def test_without_transactions_their_timeout_is_no_matter(client: Client, version: int, timeout_ms: int):
    answer = await ask(client, asking(timeout_ms=timeout_ms), version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)


@pytest.mark.parametrize("version", PAIRS)
@pytest.mark.parametrize("epoch", [0, 7, 32_767, -2])
@pytest.mark.parametrize("producer_id", [0, 5, 2**62, -2])
async def test_who_has_an_id_gets_another(client: Client, version: int, producer_id: int, epoch: int):
    """Epochs of producers without transactions go up in the client alone (KIP-360)."""
    answer = await ask(client, asking(producer_id=producer_id, producer_epoch=epoch), version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id not in (-1, 2**62)


@pytest.mark.parametrize("version", PAIRS)
@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 0), (-1, 5), (-2, -1)])
@pytest.mark.parametrize("transactional_id", [None, "tx", ""])
async def test_id_and_epoch_come_together(
    client: Client, version: int, producer_id: int, epoch: int, transactional_id: str | None
):
    answer = await ask(client, asking(transactional_id, producer_id=producer_id, producer_epoch=epoch), version)
    assert answer == refused(ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_empty_transactional_id(client: Client, version: int):
    assert await ask(client, asking(""), version) == refused(ErrorCode.INVALID_REQUEST)
    assert await ask(client, asking("", timeout_ms=-1), version) == refused(ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
async def test_no_time_for_a_transaction(client: Client, version: int, timeout_ms: int):
    assert await ask(client, asking("tx", timeout_ms=timeout_ms), version) == refused(
        ErrorCode.INVALID_TRANSACTION_TIMEOUT
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_too_much_time_for_a_transaction(client: Client, version: int):
    """More than transaction.max.timeout.ms, which is 15 minutes."""
    assert await ask(client, asking("tx", timeout_ms=900_001), version) == refused(
        ErrorCode.INVALID_TRANSACTION_TIMEOUT
    )


async def test_a_producer_with_an_id_produces(client: Client):
    name = await new_topic(client)
    answer = await ask(client, asking(), 4)
    for sequence in range(3):
        records = batch(b"%d" % sequence, producer=(answer.producer_id, 0, sequence))
        assert await put(client, name, 0, records, records) == [sequence] * 2
    assert [one.value for one in await stored(client, name, 0)] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("version", [-1, 6, 7])
async def test_other_versions(client: Client, version: int):
    await client.send_frame(struct.pack(">hhih", 22, version, 1, -1) + bytes(40))
    assert await client.is_closed()
