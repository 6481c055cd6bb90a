"""What a file is, and the frames in it: hex, bytes, captures, sessions."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcoord.dump.frames import BadInput, Cutter, Frame, Remark
from kcoord.dump.session import MAGIC, Broken, Closed, Opened, Passed, Session, first_line, line_of
from kcoord.dump.sources import checked, read
from tests.dump.captures import (
    ACK,
    BROKER,
    CLIENT,
    COOKED,
    COOKED_2,
    ETHERNET,
    FIN,
    LOOP,
    NULL,
    RAW,
    RST,
    SYN,
    Talk,
    capture,
    in_link,
    tcp,
)
from tests.dump.samples import heartbeat, heartbeat_answer, join_request, join_response

V6 = ("::1", 51234), ("::1", 9092)


def everything(data, **how):
    """What is read, and the sentence it ends with, if it does."""
    found = []
    try:
        for each in read(io.BytesIO(data), "FILE", **how):
            found.append(each)  # noqa: PERF402 - kept also where it ends in an error
    except BadInput as error:
        return found, str(error)
    return found, None


def frames(data, **how):
    found, error = everything(data, **how)
    assert error is None
    return [each for each in found if isinstance(each, Frame)]


def remarks(data, **how):
    return [each.text for each in everything(data, **how)[0] if isinstance(each, Remark)]


# Single frames


def test_hex_may_be_written_in_any_way():
    one, two = heartbeat(1), join_request(2)
    text = f"{one.hex(' ').upper()}\n\n  {two.hex()[:7]}\r\n\t{two.hex()[7:]}\n"
    assert [each.data for each in frames(text.encode())] == [one, two]
    assert [each.from_client for each in frames(text.encode(), answers=True)] == [False, False]


def test_bytes_are_frames_one_behind_the_other():
    many = [heartbeat(number) for number in range(5_000)]
    assert [each.data for each in frames(b"".join(many))] == many


@pytest.mark.parametrize(
    ("data", "words", "count"),
    [
        (b"", "FILE is empty", 0),
        (heartbeat()[:-1], "FILE ends in the middle of frame 1; a frame begins with its size", 1),
        (heartbeat() + heartbeat()[:9], "FILE ends in the middle of frame 2", 2),
        (heartbeat() + b"\0\0", "FILE ends in the middle of frame 2", 2),
        (b"\x7f\xff\xff\xff" + bytes(99), "a frame of 2147483647 bytes cannot be", 1),
        (b"\xff\xff\xff\xff" + bytes(99), "a frame of -1 bytes cannot be", 1),
        (b"\x16\3\1\2\0\1" + bytes(99), "this is TLS, in which no frames can be seen", 1),
        (heartbeat().hex().encode() + b"0", "an odd number of hex digits", 1),
        (heartbeat().hex().encode() + b" x", "has 'x' in it", 0),
        (b"\x0a\x0d\x0d\x0a" + bytes(50), "editcap -F pcap FILE", 0),
        (b"\xd4\xc3\xb2\xa1" + bytes(5), "FILE is not a capture", 0),
        (b"\xd4\xc3\xb2\xa1" + bytes(16) + b"\x99\0\0\0", "link layer 153", 0),
        (capture([], link=1) + bytes(3), "FILE ends in the middle of packet 1", 0),
        (capture([], link=1) + bytes(8) + b"\xff\xff\xff\x7f" * 2, "packet 1 has 2147483647 bytes", 0),
        (capture([], link=1) + bytes(8) + b"\x09\0\0\0" * 2 + b"x", "FILE ends in the middle of packet 1", 0),
        (MAGIC + b":2}\n", "FILE is not a session", 0),
        (MAGIC + b"\n", "FILE, line 1: it is not JSON", 0),
        (MAGIC + b":1}\n", "FILE, line 1: the time at which it started cannot be read", 0),
    ],
)
def test_what_is_wrong_is_one_sentence(data, words, count):
    found, error = everything(data)
    assert words in error
    assert len(found) == count


def test_answers_are_single_frames():
    assert "--response is for single frames" in everything(capture([]), answers=True)[1]


def test_nothing_is_set_aside_for_what_is_claimed():
    cutter = Cutter(100)
    assert cutter.feed(b"\0\0\0\x64" + bytes(10)) == []
    assert len(cutter.rest) == 14
    assert cutter.feed(bytes(90) + b"\0\0\0\x65ab") == [b"\0\0\0\x64" + bytes(100)]
    assert "101 bytes" in cutter.broken
    assert cutter.rest == b"\0\0\0\x65ab"
    assert cutter.feed(bytes(1000)) == []
    assert len(cutter.rest) == 6


def test_a_file_that_cannot_be_read_says_so():
    class Broken(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, _):
            raise OSError(5, "Input/output error")

    with pytest.raises(BadInput, match="cannot read FILE: Input/output error"):
        next(read(checked(Broken(), "FILE"), "FILE"))


# Captures


@pytest.mark.parametrize("link", [ETHERNET, NULL, RAW, LOOP, COOKED, COOKED_2])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("ends", [(CLIENT, BROKER), V6])
def test_captures_of_every_kind(link, order, nanoseconds, ends):
    talk = Talk(*ends)
    talk.ask(join_request())
    talk.answer(join_response())
    data = capture(talk.packets, link=link, order=order, nanoseconds=nanoseconds)
    one, two = frames(data)
    host = "[::1]" if ends == V6 else "127.0.0.1"
    assert (one.data, one.from_client, one.source, one.target) == (
        join_request(),
        True,
        f"{host}:51234",
        f"{host}:9092",
    )
    assert (two.data, two.from_client, two.source, two.target) == (
        join_response(),
        False,
        f"{host}:9092",
        f"{host}:51234",
    )
    assert (one.time_ms, two.time_ms) == (1_700_000_000_002, 1_700_000_000_003)


def test_frames_lie_across_segments_and_several_lie_in_one():
    talk = Talk()
    both = heartbeat(1) + join_request(2)
    for at in range(0, len(both), 7):
        talk.ask(both[at : at + 7])
    talk.answer(heartbeat_answer(1) + join_response(2))
    assert [each.data for each in frames(capture(talk.packets))] == [
        heartbeat(1), join_request(2), heartbeat_answer(1), join_response(2),
    ]  # fmt: skip


def test_numbers_begin_again():
    talk = Talk(first=2**32 - 20)
    data = [heartbeat(number) for number in range(9)]
    for each in data:
        talk.ask(each)
    assert [each.data for each in frames(capture(talk.packets))] == data


def test_segments_that_come_twice_overlap_or_overtake_each_other():
    talk = Talk()
    data = [heartbeat(number) for number in range(6)]
    for each in data:
        talk.ask(each)
    hello, sent = talk.packets[:2], talk.packets[2:]
    first = 1001
    bridge = tcp(CLIENT, BROKER, first + len(data[0]) - 5, data[0][-5:] + data[1] + data[2][:3])
    packets = [*hello, sent[0], sent[0], bridge, sent[1], sent[2], sent[4], sent[3], sent[5], sent[4]]
    assert [each.data for each in frames(capture(packets))] == data


def test_missing_bytes_are_told_and_the_next_frame_is_found():
    talk = Talk()
    for number in range(3):
        talk.ask(heartbeat(number))
    del talk.packets[3]
    found = capture(talk.packets)
    assert [each.data for each in frames(found)] == [heartbeat(0), heartbeat(2)]
    assert f"{len(heartbeat())} bytes are missing" in remarks(found)

    talk = Talk()
    whole = heartbeat(0)
    talk.ask(whole[:10])
    talk.ask(whole[10:20])
    talk.ask(whole[20:] + heartbeat(1))
    talk.ask(heartbeat(2))
    del talk.packets[3]
    found = capture(talk.packets)
    # The frame that has its beginning in the middle of a segment is lost, too.
    assert [each.data for each in frames(found)] == [heartbeat(2)]
    assert "10 bytes are missing, in a frame of which 10 bytes are there" in remarks(found)


def test_there_is_an_end_to_waiting(monkeypatch):
    monkeypatch.setattr("kcoord.dump.tcp.MOST_WAITING", 3)
    talk = Talk()
    for number in range(6):
        talk.ask(heartbeat(number))
    del talk.packets[2]
    found = everything(capture([*talk.packets, talk.ask(b"")]))[0]
    assert [type(each) for each in found] == [Remark, *[Frame] * 5]


def test_what_the_capture_cut_off_is_told():
    talk = Talk()
    talk.ask(join_request(1), cut=10)
    talk.ask(heartbeat(2))
    found = capture(talk.packets)
    assert [each.data for each in frames(found)] == [heartbeat(2)]
    assert f"10 bytes were not captured, in a frame of which {len(join_request(1)) - 10} bytes are there" in remarks(
        found
    )


def test_without_the_beginning_the_client_is_who_asks():
    for ends in ((CLIENT, BROKER), (BROKER, CLIENT)):
        talk = Talk(*ends, hello=False)
        talk.answer(join_response(7))
        talk.ask(join_request(8))
        assert [each.from_client for each in frames(capture(talk.packets))] == [False, True]
    talk = Talk(hello=False)
    talk.ask(b"\0\0\0\x0a\0\x44\0\0\0\0\0\1\xff\xff")  # an API that is not described: then the port tells
    assert frames(capture(talk.packets))[0].from_client
    talk = Talk(hello=False)
    talk.ask(heartbeat()[14:])
    talk.ask(heartbeat())
    assert [each.data for each in frames(capture(talk.packets))] == [heartbeat()]


def test_connections_end_and_ports_are_used_again():
    talk = Talk()
    talk.ask(heartbeat(1))
    talk.ask(flags=FIN | ACK, payload=b"")
    talk.answer(heartbeat_answer(1), flags=FIN | ACK)
    again = Talk(first=99_000)
    again.ask(heartbeat(2))
    third = Talk(first=5_000_000)
    third.ask(heartbeat(3)[:9])
    third.answer(b"", flags=RST)
    found = everything(capture(talk.packets + again.packets + third.packets))[0]
    assert [each.connection for each in found] == [1, 1, 1, 2, 2, 3, 3]
    texts = [each.text for each in found if isinstance(each, Remark)]
    assert texts == ["closed", "its port is used again", "ends 9 bytes into a frame", "reset"]
    assert [each.routine for each in found if isinstance(each, Remark)] == [True, True, False, True]


@pytest.mark.parametrize("times", [2, 3])
def test_a_capture_in_which_every_packet_comes_twice(times):
    """So they are captured from the loopback interface by `-i any`."""
    first, again = Talk(), Talk(first=99_000)
    for talk in (first, again):
        talk.ask(heartbeat(1))
        talk.ask(heartbeat(2), flags=FIN | ACK)
        talk.answer(heartbeat_answer(1))
        talk.answer(heartbeat_answer(2), flags=FIN | ACK)
    cut_off = Talk(first=5_000_000)
    cut_off.ask(heartbeat(3))
    cut_off.answer(b"", flags=RST | ACK)
    once = first.packets + again.packets + cut_off.packets
    twice = [packet for packet in once for _ in range(times)]

    def told(packets):
        found = everything(capture(packets))[0]
        return [(each.connection, each.data if isinstance(each, Frame) else each.text) for each in found]

    assert told(twice) == told(once)
    assert [each.data for each in frames(capture(twice))] == [
        *[heartbeat(1), heartbeat(2), heartbeat_answer(1), heartbeat_answer(2)] * 2,
        heartbeat(3),
    ]


def test_what_comes_after_the_end_is_of_another_connection():
    talk = Talk()
    talk.ask(heartbeat(1), flags=FIN | ACK)
    talk.answer(heartbeat_answer(1), flags=FIN | ACK)
    other = Talk(first=9_000_000, hello=False)
    other.ask(heartbeat(2))
    assert [each.connection for each in frames(capture(talk.packets + other.packets))] == [1, 1, 2]


def test_what_is_no_kafka_is_told_once():
    talk = Talk()
    for _ in range(5):
        talk.ask(b"GET / HTTP/1.1\r\n\r\n")
        talk.answer(b"HTTP/1.1 200 OK\r\n\r\n")
    talk.answer(b"", flags=RST)
    found, error = everything(capture(talk.packets))
    assert error is None
    assert [each.text for each in found] == [
        "a frame of 1195725856 bytes cannot be; it would have 0 to 104857600; this connection is not read any further"
    ]
    assert everything(capture(talk.packets), port=9093) == ([], None)


def test_other_packets_are_passed_over():
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    udp = in_link(ETHERNET, b"\x45" + bytes(8) + b"\x11" + bytes(30))
    fragment = in_link(ETHERNET, b"\x45" + bytes(5) + b"\x20\0\0\x06" + bytes(40))
    tagged = bytes(12) + b"\x81\0\0\7\x08\0" + tcp(CLIENT, BROKER, 5, heartbeat())
    extended = tcp(*V6, 9, heartbeat(2))
    extended = (
        extended[:4]
        + (len(extended) - 32).to_bytes(2, "big")
        + b"\0\x40"
        + extended[8:40]
        + b"\6"
        + bytes(7)
        + extended[40:]
    )
    other = b"\x60" + bytes(5) + b"\x2c" + bytes(60)
    odd = [arp, udp, fragment, in_link(ETHERNET, other), b"", b"\0" * 13, in_link(ETHERNET, b"\x50" + bytes(60)),
           in_link(ETHERNET, tcp(CLIENT, CLIENT, 1, heartbeat())),
           in_link(ETHERNET, tcp(CLIENT, BROKER, 1)[:32] + b"\0" + bytes(7))]  # fmt: skip
    header = capture([], link=ETHERNET)
    packets = [*odd, tagged, in_link(ETHERNET, extended)]
    data = header + b"".join(bytes(8) + len(each).to_bytes(4, "little") * 2 + each for each in packets)
    assert [each.data for each in frames(data)] == [heartbeat(), heartbeat(2)]


def test_packets_without_a_length_of_their_own_reach_to_their_end():
    packet = tcp(CLIENT, BROKER, 5, heartbeat())
    assert len(frames(capture([packet[:2] + b"\0\0" + packet[4:]]))) == 1


@settings(max_examples=300)
@given(
    packets=st.lists(
        st.builds(
            tcp,
            st.sampled_from([CLIENT, BROKER]),
            st.sampled_from([CLIENT, BROKER]),
            st.one_of(st.integers(0, 60), st.integers(0, 2**32)),
            st.one_of(st.binary(max_size=40), st.just(heartbeat()), st.just(heartbeat_answer())),
            st.sampled_from([ACK, SYN, FIN, RST, SYN | ACK]),
            st.integers(0, 5),
        ),
        max_size=12,
    ),
    noise=st.binary(max_size=30),
    link=st.sampled_from([ETHERNET, NULL, COOKED, COOKED_2]),
)
def test_any_capture_can_be_read(packets, noise, link):
    everything(capture(packets, link=link) + noise)
    everything(capture([noise or b"\0", *packets], link=link))


@settings(max_examples=300)
@given(
    head=st.sampled_from([b"", b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"ab 0", MAGIC]), data=st.binary(max_size=90)
)
def test_any_bytes_can_be_read(head, data):
    everything(head + data)


# Sessions


def session(*events):
    return (first_line(1_700_000_000_000, "b:1") + "".join(map(line_of, events))).encode()


EVENTS = [
    Opened(0, 1, "c:2"),
    Passed(1.5, 1, True, heartbeat()),
    Passed(2, 1, False, heartbeat_answer()),
    Broken(3, 1, "broker", "why", b"\1\2"),
    Broken(3, 1, "client", "why", b""),
    Closed(4, 1, "client"),
    Closed(5, 2, ""),
]


def test_a_session_is_what_was_written():
    opened = Session(io.BytesIO(session(*EVENTS)), "FILE")
    assert (opened.to, opened.started_ms) == ("b:1", 1_700_000_000_000)
    assert list(opened.events()) == EVENTS


def test_the_frames_of_a_session():
    found = everything(session(*EVENTS))[0]
    assert found[1] == Frame(heartbeat(), 1, True, "c:2", "b:1", 1_700_000_000_001.5)
    assert found[2] == Frame(heartbeat_answer(), 1, False, "b:1", "c:2", 1_700_000_000_002)
    assert found[3] == Remark("why", 1, "b:1", "c:2", 1_700_000_000_003, b"\1\2")
    assert [each.text for each in found if isinstance(each, Remark)] == [
        "opened", "why", "why", "closed by the client", "closed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "not a JSON object"),
        ("x", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "it must have ms"),
        ('{"ms": -1, "connection": 1}', "it must have ms"),
        ('{"ms": NaN, "connection": 1}', "it must have ms"),
        ('{"ms": 1, "connection": 0}', "it must have connection"),
        ('{"ms": 1, "connection": "1"}', "it must have connection"),
        ('{"ms": 1, "connection": true}', "it must have connection"),
        ('{"ms": true, "connection": 1}', "it must have ms"),
        ('{"ms": 1, "connection": 1, "event": "broken"}', "it must say by whom"),
        ('{"ms": 1, "connection": 1, "event": "broken", "by": "\\u001b[2J"}', "it must say by whom"),
        ('{"ms": 1, "connection": 1}', "no event that is known"),
        ('{"ms": 1, "connection": 1, "event": "sang"}', "no event that is known"),
        ('{"ms": 1, "connection": 1, "frame": "0"}', "not in hex"),
        ('{"ms": 1, "connection": 1, "frame": 7}', "not in hex"),
        ('{"ms": 1, "connection": 1, "frame": "0000"}', "another size than it says"),
        ('{"ms": 1, "connection": 1, "frame": "7fffffff00"}', "another size than it says"),
        ('{"ms": 1, "connection": 1, "frame": "00000000"}', "from neither"),
    ],
)
def test_lines_that_are_none_are_told_by_their_number(line, words):
    error = everything(session(EVENTS[0]) + line.encode())[1]
    assert error.startswith("FILE, line 3: ")
    assert words in error


def test_lines_have_a_longest(monkeypatch):
    monkeypatch.setattr("kcoord.dump.session._LONGEST_LINE", 200)
    assert "longer than 200 bytes" in everything(session(Broken(1, 1, "client", "x" * 300)))[1]


KEYS = st.sampled_from(["ms", "connection", "frame", "event", "by", "from", "bytes", "peer"])
VALUES = st.recursive(
    st.none() | st.floats() | st.integers() | st.sampled_from(["client", "broken", "00000000"]),
    lambda inner: st.dictionaries(KEYS, inner),
    max_leaves=6,
)


@given(st.lists(VALUES))
def test_any_lines_can_be_read(lines):
    everything(session() + "\n".join(map(json.dumps, lines)).encode())
