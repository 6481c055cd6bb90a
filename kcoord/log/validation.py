"""What a broker checks of the records that a producer sends, before they have a place. Pure."""

from wire.errors import ErrorCode


class Refused(Exception):
    """Records, or a change of a log, are refused.

    `code` is Kafka's number, `message` what Kafka says with it (None: nothing). `record_errors` names the records at
    fault by their index in the batch, with a sentence or None (KIP-467).
    """

    def __init__(
        self, code: ErrorCode, message: str | None = None, record_errors: tuple[tuple[int, str | None], ...] = ()
    ) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message
        self.record_errors = record_errors
