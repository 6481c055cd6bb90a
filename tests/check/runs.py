"""Runs of `kcoord check` at a server in this process, what can be wrong with its answers, and what there is at it."""

import trio

from kcoord.check.probe import Client
from kcoord.check.runner import Plan, check
from tests.check.brokers import answer, between
from tests.check.conftest import server
from wire.messages import (
    ApiVersionsRequest,
    MetadataRequest,
)


async def run(*rules, settings=None, change=None, progress=None, **plan):
    async with server(settings) as opener, trio.open_nursery() as nursery:
        if change is not None:
            opener = between(opener, nursery, change)
        report = await check(opener, "here:9092", Plan(rules, **plan), progress)
        nursery.cancel_scope.cancel()
        return report


def results(report):
    return {each.rule.id: each for each in report.results}


def only(cls, wrong):
    """Change the answers to one request only."""

    def change(asked, version, message, frame):
        if asked is not cls:
            return frame
        wrong(message)
        return answer(message, version, frame)

    return change


def without(*keys):
    """A broker that does not advertise some requests."""

    def take_out(message):
        message.api_keys = [each for each in message.api_keys if each.api_key not in {cls.API_KEY for cls in keys}]

    return only(ApiVersionsRequest, take_out)


async def things_at(opener):
    client = Client(await opener())
    groups = set(await client.list())
    topics = {each.name for each in (await client.call(MetadataRequest(topics=None), 12)).topics}
    await client.aclose()
    return groups, topics - {"__consumer_offsets"}
