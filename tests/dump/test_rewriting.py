"""Answers are changed so that clients come to the proxy."""

import pytest

import wire.messages as m
from kcoord.config import Address
from kcoord.dump.rewriting import Rewriter
from tests.dump.samples import heartbeat, heartbeat_answer
from wire.header import read_response, request_frame, response_frame

PROXY = Address("proxy", 1)


def rewritten(request, version, answer):
    rewriter = Rewriter(PROXY)
    rewriter.request(request_frame(5, "me", request, version))
    got = rewriter.response(response_frame(5, answer, version))
    return read_response(got.data[4:], type(answer), version)[1], got.remark


@pytest.mark.parametrize("version", [0, 9, 13])
def test_metadata(version):
    brokers = [m.MetadataResponseBroker(node_id=1, host="b", port=9)]
    answer, remark = rewritten(m.MetadataRequest(), version, m.MetadataResponse(brokers=brokers))
    assert (answer.brokers[0].node_id, answer.brokers[0].host, answer.brokers[0].port, remark) == (1, "proxy", 1, None)


def test_coordinators():
    answer, _ = rewritten(m.FindCoordinatorRequest(), 2, m.FindCoordinatorResponse(node_id=1, host="b", port=9))
    assert (answer.host, answer.port) == ("proxy", 1)
    entries = [m.Coordinator(key="g", host="b", port=9), m.Coordinator(key="h", host="", port=-1, error_code=15)]
    answer, _ = rewritten(m.FindCoordinatorRequest(), 4, m.FindCoordinatorResponse(coordinators=entries))
    assert [(each.host, each.port) for each in answer.coordinators] == [("proxy", 1), ("", -1)]


def test_clusters():
    brokers = [m.DescribeClusterBroker(broker_id=1, host="b", port=9)]
    answer, _ = rewritten(m.DescribeClusterRequest(), 1, m.DescribeClusterResponse(brokers=brokers))
    assert (answer.brokers[0].host, answer.brokers[0].port) == ("proxy", 1)


def test_several_brokers_stay_where_they_are():
    brokers = [m.MetadataResponseBroker(node_id=node, host="b", port=node) for node in (1, 2)]
    answer, remark = rewritten(m.MetadataRequest(), 9, m.MetadataResponse(brokers=brokers))
    assert [each.host for each in answer.brokers] == ["b", "b"]
    assert remark == "the answer names several brokers, and is passed on as it is"


def test_what_is_not_asked_or_cannot_be_read_stays_as_it_is():
    rewriter = Rewriter(PROXY)
    rewriter.request(heartbeat(5))
    assert rewriter.response(heartbeat_answer(5)).data == heartbeat_answer(5)
    rewriter.request(b"\0\0\0\2\0\3")
    rewriter.request(request_frame(6, "me", m.MetadataRequest(), 9))
    broken = b"\0\0\0\6\0\0\0\6\0\0"
    got = rewriter.response(broken)
    assert got.data == broken
    assert "cannot be rewritten" in got.remark
    newer = request_frame(7, "me", m.MetadataRequest(), 9)
    rewriter.request(newer[:6] + b"\0\x63" + newer[8:])
    assert "no version 99" in rewriter.response(b"\0\0\0\5\0\0\0\7\0").remark


def test_what_nobody_answers_is_forgotten(monkeypatch):
    monkeypatch.setattr("kcoord.dump.rewriting.MOST_ASKED", 1)
    rewriter = Rewriter(PROXY)
    answer = response_frame(1, m.MetadataResponse(brokers=[m.MetadataResponseBroker(host="b", port=9)]), 9)
    for number in (1, 2):
        rewriter.request(request_frame(number, "me", m.MetadataRequest(), 9))
    assert rewriter.response(answer).data == answer
