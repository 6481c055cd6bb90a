"""The line in which long loops wait for their turns."""

import pytest
import trio

from kcoord.apis.turns import A_TURN, AT_ONCE, Turns, a_turn


class Looks(trio.abc.Instrument):
    """Counts how often the event loop has looked at its sockets."""

    def __init__(self) -> None:
        self.number = 0

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002 - the signature is trio's
        self.number += 1


@pytest.fixture
def looks(autojump_clock):
    return Looks()


async def test_one_long_loop_goes_on_between_two_looks_at_the_sockets(looks):
    """However many there are, and after what each may do at once."""
    portions: list[tuple[int, int]] = []

    async def long_loop(number: int) -> None:
        turns = Turns()
        for step in range(AT_ONCE + 3 * A_TURN):
            await turns.step()
            if step >= AT_ONCE and (step - AT_ONCE) % A_TURN == 0:
                portions.append((looks.number, number))

    trio.lowlevel.add_instrument(looks)
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(long_loop, number)
    assert len(portions) == 60
    assert len({when for when, _ in portions}) == 60
    # They take turns: nobody has a second one before all had one.
    order = [number for _, number in portions]
    assert [sorted(order[start : start + 20]) for start in (0, 20, 40)] == [list(range(20))] * 3


async def test_what_is_large_counts_as_much(looks):
    trio.lowlevel.add_instrument(looks)
    turns = Turns()
    begin = looks.number
    for entries, waited in ((AT_ONCE - 1, 0), (1, 1), (A_TURN - 1, 1), (A_TURN, 2), (100 * A_TURN, 3), (1, 3)):
        await turns.step(entries)
        assert looks.number == begin + waited


@pytest.mark.parametrize("gone", [0, 1, 2, (0, 1), (0, 1, 2), (1, 2)])
async def test_who_gives_up_stands_in_nobodys_way(autojump_clock, gone):
    scopes = [trio.CancelScope() for _ in range(4)]
    came = []

    async def stand(number: int) -> None:
        with scopes[number]:
            await a_turn()
            came.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(stand, number)
        await trio.lowlevel.checkpoint()
        for number in gone if isinstance(gone, tuple) else (gone,):
            scopes[number].cancel()
    missing = set(gone if isinstance(gone, tuple) else (gone,))
    # Whoever was to go on already when it was cancelled has had its turn.
    assert set(range(4)) - missing <= set(came)
    with trio.fail_after(1):
        await a_turn()
