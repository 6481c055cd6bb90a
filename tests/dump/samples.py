"""Frames that belong together."""

import wire.messages as m
from wire.header import request_frame, response_frame
from wire.payloads import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from wire.records import Compression, Record, build

METADATA = encode_subscription(Subscription(("t", "u"), None, (TopicPartitions("t", (0, 1)),), 3, "here"))
ASSIGNMENT = encode_assignment(Assignment((TopicPartitions("t", (0, 2)),)))


def join_request(correlation_id=1, group="g", member="", protocol_type="consumer", metadata=METADATA, version=9):
    protocols = [m.JoinGroupRequestProtocol(name="range", metadata=metadata)]
    message = m.JoinGroupRequest(group_id=group, member_id=member, protocol_type=protocol_type, protocols=protocols)
    return request_frame(correlation_id, "me", message, version)


def join_response(correlation_id=1, member="m", metadata=METADATA, version=9, **fields):
    members = [m.JoinGroupResponseMember(member_id=member, metadata=metadata)]
    message = m.JoinGroupResponse(generation_id=1, protocol_name="range", leader=member, member_id=member,
                                  members=members, **fields)  # fmt: skip
    return response_frame(correlation_id, message, version)


def heartbeat(correlation_id=1, group="g", member="m", generation=1):
    message = m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)
    return request_frame(correlation_id, "me", message, 4)


def heartbeat_answer(correlation_id=1, error_code=0):
    return response_frame(correlation_id, m.HeartbeatResponse(error_code=error_code), 4)


def batches(compression=Compression.NONE):
    records = [
        Record(0, 1000, b"key", b"value", (("h", b"\xff"), ("null", None))),
        Record(1, 1001, None, None),
    ]
    return build(records, compression=compression, producer_id=7, producer_epoch=0, base_sequence=0)


def produce(records, correlation_id=1):
    data = [m.TopicProduceData(name="t", partition_data=[m.PartitionProduceData(index=0, records=records)])]
    return request_frame(correlation_id, "me", m.ProduceRequest(acks=-1, topic_data=data), 9)
