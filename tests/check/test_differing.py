"""Where masked conversations differ."""

import pytest

from kcoord.check.differing import Difference, Place, differences, shown
from kcoord.check.exchanges import Conversation, Exchange, Said


def asked(value, answer=None, *, connection=1, closed=False, api="Heartbeat 4", part=False):
    return Exchange(
        connection,
        Said(f"{api} request, client 'c'", value),
        None if answer is None else Said(f"{api} response", answer, part),
        closed,
    )


def told(first, second, whole=True):
    found = differences(Conversation(tuple(first), whole), Conversation(tuple(second)))
    return [(each.place.text, each.first, each.second) for each in found]


def test_the_same():
    both = [asked({"x": 1}, {"y": [1, {"z": b"1"}]}), asked({"x": 2}, closed=True)]
    assert told(both, both) == []


def test_a_field():
    (only,) = differences(
        Conversation((asked({}, {"a": {"b": [1, 2]}}),)), Conversation((asked({}, {"a": {"b": [1, 3]}}),))
    )
    assert only == Difference(Place(1, "Heartbeat 4 response", ("a", "b", 1)), "2", "3")
    assert only.place.field == "a.b.1"
    assert only.place.text == "#1 Heartbeat 4 response, a.b.1"


def test_errors_have_names():
    assert told([asked({}, {"error_code": 0})], [asked({}, {"error_code": 27})]) == [
        ("#1 Heartbeat 4 response, error_code", "0 NONE", "27 REBALANCE_IN_PROGRESS")
    ]
    assert shown(("error_code",), 999) == "999 (no error that Kafka has)"


def test_long_values_are_cut():
    assert len(shown((), {f"field_{number}": number for number in range(100)})) < 130
    assert shown((), {"a": 1, "b": "x"}) == "a: 1, b: 'x'"


def test_elements_are_known_by_their_names_and_else_by_their_places():
    one, two, three = ({"name": name, "x": at} for at, name in enumerate("abc"))
    other = {"name": "b", "x": 9}
    assert told([asked({}, {"l": [one, two]})], [asked({}, {"l": [other, three, one]})]) == [
        ("#1 Heartbeat 4 response, l.[name b].x", "1", "9"),
        ("#1 Heartbeat 4 response, l.[name c]", "nothing", "name: 'c', x: 2"),
    ]
    assert told([asked({}, {"l": [one, two]})], [asked({}, {"l": [one]})])[0][1:] == ("name: 'b', x: 1", "nothing")
    assert told([asked({}, {"l": ["a", "b"]})], [asked({}, {"l": ["b"]})]) == [
        ("#1 Heartbeat 4 response, l.0", "'a'", "'b'"),
        ("#1 Heartbeat 4 response, l.1", "'b'", "nothing"),
    ]
    # A name that is there twice is no name; the order does not count all the same.
    assert told([asked({}, {"l": [one, one, two]})], [asked({}, {"l": [two, one, one]})]) == []


@pytest.mark.parametrize(("first", "second"), [({"x": 0}, {"x": False}), ({"x": 1}, {"x": {"y": 1}}), ({}, {"x": 1})])
def test_values_of_other_kinds(first, second):
    assert len(told([asked({}, first)], [asked({}, second)])) == 1


def test_no_answer_and_a_closed_connection():
    assert told([asked({}, {"x": 1})], [asked({}, closed=True)]) == [
        ("#1 Heartbeat 4 response", "an answer", "no answer"),
        ("#1 Heartbeat 4 response", "it stays open", "the broker closes the connection"),
    ]


def test_questions_that_differ():
    assert told([asked({"x": 1}, {})], [asked({"x": 2}, {})]) == [("#1 Heartbeat 4 request, x", "1", "2")]
    assert told([asked({}, api="A 1"), asked({}, api="C 1")], [asked({}, api="A 1"), asked({}, api="B 1")]) == [
        ("#1 C 1 request", "it is sent", "it is not sent"),
        ("#1 B 1 request", "it is not sent", "it is sent"),
    ]
    nobody_asked = Exchange(1, None, Said("a frame that answers nothing", b"x"))
    assert told([nobody_asked], []) == [("#1 a frame", "it comes", "it does not come")]
    assert told([nobody_asked], [nobody_asked]) == []
    assert told([nobody_asked], [Exchange(1, None, Said("a frame that answers nothing", b"y"))]) == [
        ("#1 a frame that answers nothing", "b'x'", "b'y'")
    ]


def beats(*errors, connection=1):
    return [asked({}, {"error_code": error}, connection=connection) for error in errors]


def test_how_often_something_is_asked_does_not_count():
    assert told(beats(0, 0, 0, 27), beats(0, 27, 27)) == []
    assert told(beats(0, 27, 25), beats(0, 25)) == []
    assert told(beats(0, 0, 27), beats(0, 0)) == told(beats(0), beats(0, 27, 25)) == []
    assert told(beats(0), beats(27, 27)) == [
        ("#1 Heartbeat 4 response, error_code", "0 NONE", "27 REBALANCE_IN_PROGRESS")
    ]
    assert told(beats(0, 0, 27), beats(0, 0, 25)) == [
        ("#1 Heartbeat 4 response, error_code", "27 REBALANCE_IN_PROGRESS", "25 UNKNOWN_MEMBER_ID")
    ]


def test_what_is_asked_twice_counts_twice():
    assert [each[1:] for each in told(beats(0, 27), beats(27, 0))] == [
        ("0 NONE", "27 REBALANCE_IN_PROGRESS"),
        ("27 REBALANCE_IN_PROGRESS", "0 NONE"),
    ]


def test_the_last_of_several_may_be_without_an_answer():
    assert told([*beats(0), asked({})], beats(0)) == []
    assert told([asked({})], beats(0)) == [("#1 Heartbeat 4 response", "no answer", "an answer")]


def test_of_what_goes_on_only_what_both_have_is_compared():
    first = [asked({"x": 1}, {}), asked({"x": 2}), asked({}, {"y": 1}, api="A 1")]
    second = [asked({"x": 1}, {}), asked({"x": 2}, {}), asked({}, {"y": 2}, api="A 1"), asked({}, api="B 1")]
    assert told(first, second, whole=False) == [("#1 A 1 response, y", "1", "2")]
    assert told([asked({}, api="C 1")], [], whole=False) == []
    assert told([asked({}, {"l": [1, 2]}, part=True)], [asked({}, {"l": [1]})]) == []
    assert len(told([asked({}, {"l": [1, 2]}, part=True)], [asked({}, {"l": [3]})])) == 1
