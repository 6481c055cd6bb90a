"""Large answers on their way to clients who read, slowly, or not at all."""

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from kcoord.net import unread
from kcoord.net.unread import Unread


class Reader:
    """A client whose answer is being sent; `pieces` of it are taken when the test says so."""

    def __init__(self, nursery: trio.Nursery, room: Unread, size: int) -> None:
        self.scope = trio.CancelScope()
        self.why = None
        self.moves = 0
        self.got = bytearray()
        self._may_send = trio.Semaphore(0)
        self.answer = bytes(index % 251 for index in range(size))
        nursery.start_soon(self._send, room)

    async def _send(self, room: Unread) -> None:
        with self.scope:
            await room.send(self, self.answer, self._moved, self._give_up)

    async def send_all(self, data) -> None:
        await self._may_send.acquire()
        self.got += data

    async def take(self, pieces: int) -> None:
        for _ in range(pieces):
            self._may_send.release()
        await wait_all_tasks_blocked()

    def _moved(self) -> None:
        self.moves += 1

    def _give_up(self, why: str) -> None:
        self.why = why
        self.scope.cancel()


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(unread, "PIECE", 10)


async def test_an_answer_arrives_whole_piece_by_piece(autojump_clock, nursery, small_pieces):
    room = Unread()
    reader = Reader(nursery, room, 95)
    await wait_all_tasks_blocked()
    for taken in range(1, 10):
        await reader.take(1)
        assert reader.moves == taken
        assert room._left == 95 - 10 * taken
    await reader.take(1)
    assert reader.got == reader.answer
    assert (room._left, room._sending) == (0, set())


async def test_the_one_goes_that_has_not_read_for_longest(autojump_clock, nursery, small_pieces):
    room = Unread(most=100)
    first, second, third = (Reader(nursery, room, 30) for _ in range(3))
    for reader in (second, first, third):
        await trio.sleep(1)
        await reader.take(1)
    # 60 bytes are left. The next one needs all but 20 of the room.
    fourth = Reader(nursery, room, 80)
    await wait_all_tasks_blocked()
    assert second.why == first.why == "it did not read its answer, and others needed the room"
    assert third.why is fourth.why is None
    assert room._left == 100
    await third.take(2)
    await fourth.take(8)
    assert (third.got, fourth.got) == (third.answer, fourth.answer)
    assert (room._left, room._sending) == (0, set())


async def test_what_is_larger_than_all_the_room_goes_out_alone(autojump_clock, nursery, small_pieces):
    room = Unread(most=100)
    small = Reader(nursery, room, 10)
    await wait_all_tasks_blocked()
    large = Reader(nursery, room, 500)
    await wait_all_tasks_blocked()
    assert small.why is not None
    await large.take(50)
    assert large.got == large.answer
    assert room._left == 0


async def test_who_breaks_it_off_leaves_its_room(autojump_clock, nursery, small_pieces):
    room = Unread(most=100)
    reader = Reader(nursery, room, 90)
    await reader.take(3)
    assert room._left == 60
    reader.scope.cancel()
    await wait_all_tasks_blocked()
    assert (room._left, room._sending) == (0, set())
    near, far = memory_stream_pair()
    await far.aclose()
    with pytest.raises(trio.BrokenResourceError):
        await room.send(near, bytes(50), lambda: None, lambda _: None)
    assert (room._left, room._sending) == (0, set())
