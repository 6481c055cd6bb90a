"""Faults that cannot be are refused with a sentence; those that can, say what they are."""

import pytest

from kcoord.faults import BadFault, FaultRule


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "a fault needs something to do: error, delay, late, hold, drop or truncate"),
        ({"api": "Heartbeats", "error": 27}, "Kafka has no request 'Heartbeats' that is served here; there are Alter"),
        ({"api": "Heartbeat", "error": "NOPE"}, "Kafka has no error NOPE"),
        ({"api": "Heartbeat", "error": 9999}, "Kafka has no error 9999"),
        ({"api": "Heartbeat", "error": 0}, "NONE is no error"),
        ({"error": True}, "error must be an error's name or number, not True"),
        ({"api": 12, "drop": "before"}, "api must be a text, not 12"),
        ({"delay": "1"}, "delay must be a number, not '1'"),
        ({"delay": float("nan")}, "delay must be a number from 0, not nan"),
        ({"delay": float("inf")}, "delay must be a number from 0, not inf"),
        ({"late": -1}, "late must be a number from 0, not -1"),
        ({"truncate": 1.5}, "truncate must be a whole number, not 1.5"),
        ({"drop": "before", "nth": 0}, "nth must be a number from 1, not 0"),
        ({"drop": "before", "times": 0}, "times must be a number from 1, not 0"),
        ({"drop": "before", "partition": -1}, "partition must be a number from 0, not -1"),
        ({"drop": "before", "probability": 0}, "probability must be above 0 and at most 1, not 0"),
        ({"drop": "before", "probability": 1.1}, "probability must be above 0 and at most 1, not 1.1"),
        ({"drop": "now"}, "drop must be before or after, not 'now'"),
        ({"hold": "it"}, "hold must be request or answer, not 'it'"),
        ({"drop": "after", "error": 15}, "drop sends no answer, so that there is none to put an error in or to"),
        ({"drop": "before", "late": 1}, "a request that is dropped before it is handled has no answer to keep back"),
        ({"drop": "before", "state": "Happy"}, "a group has no state 'Happy'; it has CompletingRebalance, Dead,"),
        ({"api": "Heartbeat", "error": 27, "topic": "t"}, "Heartbeat names no topic, so a fault for it cannot be for"),
        ({"api": "Metadata", "error": 3, "group": "g"}, "Metadata names no group, so a fault for it cannot be for one"),
        ({"api": "Metadata", "error": 3, "instance_id": "g"}, "Metadata names no instance, so a fault for it"),
        ({"api": "JoinGroup", "error": 25, "generation": 3}, "JoinGroup names no generation, so a fault for it"),
        ({"api": "Heartbeat", "eror": 27}, "a fault has no eror; it has api, broker, client_id, delay, drop, error,"),
    ],
)
def test_what_no_fault_can_be(given, sentence):
    with pytest.raises(BadFault) as caught:
        FaultRule.of(given)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"api": "Heartbeat", "error": "rebalance_in_progress", "group": "g", "nth": 3},
            "REBALANCE_IN_PROGRESS is answered: Heartbeat, group 'g', number 3",
        ),
        (
            {"delay": 2, "late": 0.5, "client_id": "c", "probability": 0.25, "seconds": 9},
            "it is handled 2 s late and the answer is sent 0.5 s late: any request, client id 'c', with prob",
        ),
        ({"hold": "request", "broker": 2}, "the request is held: any request, broker 2"),
        (
            {"hold": "answer", "truncate": 4},
            "the answer is held and no more than 4 bytes of the answer are sent: any request",
        ),
        ({"drop": "after", "times": 2}, "the connection is dropped after the request is handled: any request, 2 times"),
    ],
)
def test_what_a_fault_says_of_itself(given, sentence):
    assert str(FaultRule.of(given)).startswith(sentence)
