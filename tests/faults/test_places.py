"""Errors in the places that each API has for them, in every version: whatever the request, the answer can be sent."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcoord.apis import BY_KEY
from kcoord.faults.place import Whole
from kcoord.faults.places import PLACES
from kcoord.faults.rule import APIS
from tests.wire.samples import structs
from wire.codec import decode, encode
from wire.errors import ErrorCode, Unsendable

SERVED = {api.name: api for api in BY_KEY.values()}
PAIRS = [
    pytest.param(name, version, id=f"{name}-{version}") for name, api in SERVED.items() for version in api.versions
]
ONE, OTHER = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR


def no_name(_topic_id):
    return None


def codes(message):
    """All error codes in a message, wherever they are."""
    found = []
    for name in getattr(message, "__dataclass_fields__", {}):
        value = getattr(message, name)
        if name == "error_code":
            found.append(value)
        elif isinstance(value, list):
            for each in value:
                found += codes(each)
    return found


def sent(name, version, response):
    """The answer as its client reads it; None if it has names in it that are too long."""
    cls = APIS[name].RESPONSE
    try:
        return decode(cls, version, encode(response, version))
    except Unsendable:
        return None


def test_every_api_that_is_served_has_a_place_for_errors():
    assert SERVED.keys() == PLACES.keys()


@pytest.mark.parametrize(("name", "version"), PAIRS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_whole_request_is_refused(name, version, data):
    request = data.draw(structs(APIS[name], version))
    place = PLACES[name]
    answer = sent(name, version, place.refused(request, version, ONE, None))
    if answer is None:
        return
    found = set(codes(answer))
    assert found <= {ONE, 0}
    if isinstance(place, Whole) or place.entries(request, no_name):
        assert ONE in found or (name, version) in {("OffsetFetch", 1), ("Metadata", version)}


@pytest.mark.parametrize(("name", "version"), [pair for pair in PAIRS if not isinstance(PLACES[pair.values[0]], Whole)])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_some_entries_are_refused_and_the_rest_is_asked(name, version, data):
    request = data.draw(structs(APIS[name], version))
    place = PLACES[name]
    entries = place.entries(request, no_name)
    if len(entries) < 2 or (name == "OffsetFetch" and any(entry.topic is None for entry in entries)):
        return
    chosen = frozenset(data.draw(st.sets(st.integers(0, len(entries) - 1), min_size=1, max_size=len(entries) - 1)))
    rest = place.without(request, chosen)
    kept = [entry for at, entry in enumerate(entries) if at not in chosen]
    assert place.entries(rest, no_name) == kept
    refused = place.refused(request, version, ONE, chosen)
    others = place.refused(rest, version, OTHER, frozenset(range(len(kept))))
    wanted = sorted([*codes(refused), *codes(others)])
    joined = sent(name, version, place.joined(refused, others))
    if joined is not None and name != "OffsetFetch":
        assert sorted(code for code in codes(joined) if code) == [code for code in wanted if code]
