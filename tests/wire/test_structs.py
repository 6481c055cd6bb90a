"""The legible form: frames taken apart and put together, also wrongly."""

import construct
import pytest

from tests.wire import samples
from wire import messages as m
from wire.codec import decode, encode
from wire.errors import UnexpectedNull, Unsupported
from wire.header import request_frame, response_frame
from wire.structs import message_of, request_struct, response_struct, struct_of, values


def test_a_request_can_be_read_by_people():
    frame = request_frame(7, "me", m.HeartbeatRequest(group_id="g", generation_id=3, member_id="m"), 4)
    shown = request_struct(m.HeartbeatRequest, 4).parse(frame)
    assert shown.header.client_id == "me"
    assert shown.header.correlation_id == 7
    assert shown.body.generation_id == 3
    assert shown.rest == b""
    assert "generation_id = 3" in str(shown)


@pytest.mark.parametrize("version", [3, 4])
def test_frames_can_be_put_together(version):
    request = m.HeartbeatRequest(group_id="g", group_instance_id="i")
    header = {"api_key": 12, "api_version": version, "correlation_id": 5, "client_id": None, "tags": []}
    rendered = request_struct(m.HeartbeatRequest, version)
    built = rendered.build({"header": header, "body": values(request, version)})
    assert built == request_frame(5, None, request, version)

    response = m.HeartbeatResponse(error_code=25)
    rendered = response_struct(m.HeartbeatResponse, version)
    built = rendered.build({"header": {"correlation_id": 5, "tags": []}, "body": values(response, version)})
    assert built == response_frame(5, response, version)
    assert message_of(m.HeartbeatResponse, version, rendered.parse(built).body) == response


def test_a_frame_can_be_wrong_in_one_place():
    body = values(m.HeartbeatRequest(group_id="g"), 4)
    body["tags"] = [{"tag": 77, "body": b"new"}]
    data = struct_of(m.HeartbeatRequest, 4).build(body)
    assert data.endswith(b"\1\x4d\3new")
    assert decode(m.HeartbeatRequest, 4, data) == m.HeartbeatRequest(group_id="g")


def test_unknown_tags_are_shown_and_dropped():
    data = encode(m.FetchRequest(cluster_id="c"), 12)[:-5] + b"\2\0\2\2c\x09\1x"
    shown = struct_of(m.FetchRequest, 12).parse(data)
    assert [(entry.tag, entry.body) for entry in shown.tags] == [(0, "c"), (9, b"x")]
    assert message_of(m.FetchRequest, 12, shown) == m.FetchRequest(cluster_id="c")


@pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)
def test_both_codecs_refuse_the_same_nulls(cls, version):
    null = b"\0" if version in cls.FLEXIBLE else b"\xff" * 4
    for f in samples.array_fields(cls, version):
        empty = b"\1" if version in cls.FLEXIBLE else bytes(4)
        data = encode(cls(**{f.name: f.type.container()}), version)
        at = len(encode_until(cls, version, f.name))
        assert data[at : at + len(empty)] == empty
        nulled = data[:at] + null + data[at + len(empty) :]
        if version in f.nullable:
            assert getattr(decode(cls, version, nulled), f.name) is None
            assert struct_of(cls, version).parse(nulled)[f.name] is None
        else:
            with pytest.raises(UnexpectedNull):
                decode(cls, version, nulled)
            with pytest.raises(construct.ConstructError):
                struct_of(cls, version).parse(nulled)


def encode_until(cls, version, name):
    """The bytes in front of a field, when everything is at its default."""
    rendered = struct_of(cls, version)
    before = list(rendered.subcons)
    index = [sub.name for sub in before].index(name)
    return construct.Struct(*before[:index]).build(values(cls(), version))


def test_unknown_versions():
    for render in (struct_of, request_struct):
        with pytest.raises(Unsupported):
            render(m.HeartbeatRequest, 5)
    with pytest.raises(Unsupported):
        response_struct(m.HeartbeatResponse, 5)
