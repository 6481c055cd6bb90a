"""InitProducerId (key 22): an id for a producer whose records, sent twice, are to be stored once (KIP-98).

v2 flexible (KIP-482); v3 the id and epoch that the producer has (KIP-360); v4 error 90 may occur (KIP-588); v5 error
120 may occur (KIP-890).

Transactions are not served. A producer that wants some asks for their coordinator first, and is told there already
that it may not; who asks here all the same is told the same. It is TRANSACTIONAL_ID_AUTHORIZATION_FAILED because that
alone is final for all clients: whatever says "not here" or "not now" is tried again until a minute or so has passed,
by librdkafka anything else as well.
"""

from kcoord.apis.api import Api, Call
from wire.errors import ErrorCode
from wire.messages import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER = -1
"""Stands for no id and for no epoch."""
LONGEST_TRANSACTION_MS = 900_000
"""The default of transaction.max.timeout.ms, in ms."""


async def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Answer with an id that nobody has had, in its epoch 0, or with an error and no id.

    A producer without transactions gets a new id even if it has one: its epoch goes up in the client alone (KIP-360,
    Apache Kafka `TransactionCoordinator.handleInitProducerId`).
    """
    error = invalid(request)
    if error is not ErrorCode.NONE:
        return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER, producer_epoch=NO_PRODUCER)
    return InitProducerIdResponse(producer_id=next(call.broker.producer_ids), producer_epoch=0)


def invalid(request: InitProducerIdRequest) -> ErrorCode:
    """Return why there is no id, or NONE.

    Id and epoch come together or not at all (Apache Kafka `KafkaApis.handleInitProducerIdRequest`); which they are
    is only of interest to transactions.
    """
    has_id, has_epoch = request.producer_id != NO_PRODUCER, request.producer_epoch != NO_PRODUCER
    if has_id != has_epoch or request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return ErrorCode.NONE
    if not 0 < request.transaction_timeout_ms <= LONGEST_TRANSACTION_MS:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


API = Api(request=InitProducerIdRequest, versions="0-5", handle=init_producer_id)
