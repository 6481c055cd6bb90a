"""Section C: who may join, and what a JoinGroup is checked for."""

import re

from tests.scenarios.harness import World
from wire.errors import ErrorCode

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


async def test_c1_a_newcomer_is_given_an_id_first(world: World):
    client = await world.client("my client")
    for version in range(4, 10):
        answer = await (await client.join(world.group(), version=version)).answer()
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert re.fullmatch(f"my client-{UUID}", answer.member_id)
        assert answer.generation_id == -1
        assert answer.leader == ""
        assert answer.members == []
        assert answer.protocol_name == (None if version >= 7 else "")


async def test_c2_with_that_id_it_joins_after_the_initial_delay(world: World):
    member = await world.member(world.group())
    call = await member.start_join()
    assert await call.parked()
    answer = await member.finish_join()
    assert answer.generation_id == 1
    assert answer.leader == answer.member_id == member.id
    assert [one.member_id for one in answer.members] == [member.id]
    assert answer.protocol_name == "range"
    assert answer.protocol_type == "consumer"
    assert not answer.skip_assignment
