"""Which release of Apache Kafka a broker is, as far as it tells: a user may judge it by another without wishing to.

No request asks for that. But from 3.3 on a broker without ZooKeeper tells which levels of metadata.version it supports
(KIP-778), and the highest of them is another one in each release.
"""

from collections.abc import Mapping
from typing import Final

import trio

from kcoord.check.probe import Client, Offers
from kcoord.check.rule import OLDEST, release_text
from kcoord.check.target import ANSWERS, CLIENT, ask
from kcoord.check.world import Opener
from wire.messages import ApiVersionsRequest

Release = tuple[int, int]
FEATURE: Final = "metadata.version"
TOLD_SINCE: Final = 3
"""The version of ApiVersions from which on features are told (KIP-584)."""
RELEASES: Final[Mapping[int, Release]] = {
    7: (3, 3),
    8: (3, 4),
    11: (3, 5),
    14: (3, 6),
    19: (3, 7),
    20: (3, 8),
    21: (3, 9),
    25: (4, 0),
    27: (4, 1),
    29: (4, 2),
    30: (4, 3),
    33: (4, 4),
}
"""Releases by the highest level that each tells (Apache Kafka MetadataVersion.LATEST_PRODUCTION)."""


async def recognized(opener: Opener, offers: Offers) -> Release | None:
    """Return the release that a broker is; None if it does not tell, or is none that is known here.

    Raises what `target.ANSWERS` lists.
    """
    if ApiVersionsRequest.API_KEY not in offers or TOLD_SINCE not in offers[ApiVersionsRequest.API_KEY]:
        return None
    client = Client(await opener(), CLIENT, offers=offers)
    try:
        request = ApiVersionsRequest(client_software_name=CLIENT, client_software_version="1")
        answer = await ask(client, request, TOLD_SINCE)
    finally:
        await trio.aclose_forcefully(client.stream)
    highest = {one.name: one.max_version for one in answer.supported_features}
    return RELEASES.get(highest.get(FEATURE, -1))


async def note_of_release(opener: Opener, offers: Offers, judged_by: Release) -> list[str]:
    """Return notes if a broker is of another release than it is judged by, and if that one is too old; else none."""
    notes: list[str] = []
    if judged_by < OLDEST:
        oldest, older = release_text(OLDEST), release_text(judged_by)
        notes.append(f"the rules were tried from Kafka {oldest} on: what {older} did otherwise may be called broken")
    try:
        found = await recognized(opener, offers)
    except ANSWERS:
        # Whatever is wrong with the broker, the rules find it; a note is no verdict.
        return notes
    if found is not None and found != judged_by:
        told = release_text(found)
        notes.append(f"this broker looks like Kafka {told}: --kafka {told} judges it by that release")
    return notes
