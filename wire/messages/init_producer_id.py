"""InitProducerId (key 22): a producer id, by whose sequence numbers records sent twice are known. KIP-98.

| version | added |
|---|---|
| 0 | the API |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
| 3 | producer_id and producer_epoch in the request (KIP-360) |
| 4 | no change of layout; error 90 is allowed (KIP-588) |
| 5 | no change of layout; error 120 is allowed (KIP-890) |
| 6 | two-phase commit (KIP-939); still unstable, so that Kafka does not offer it |
"""

from wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Message, field, message


@message(api=22, versions="0-6", flexible="2+")
class InitProducerIdRequest(Message):
    """Asks for an id (-1), or for the next epoch of the one it has. Without a transactional id: for idempotence."""

    transactional_id: str | None = field(STRING, nullable="0+")
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, "3+", default=-1)
    producer_epoch: int = field(INT16, "3+", default=-1)
    enable2_pc: bool = field(BOOLEAN, "6+")
    keep_prepared_txn: bool = field(BOOLEAN, "6+")


@message(api=22, versions="0-6", flexible="2+", answers=InitProducerIdRequest)
class InitProducerIdResponse(Message):
    """The id and its epoch; -1 if there is an error."""

    throttle_time_ms: int = field(INT32, ignorable=True)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, "6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, "6+", default=-1)
