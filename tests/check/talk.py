"""Conversations for tests: written down as requests and answers, and read as those of a run are."""

import struct

from kcoord.check.exchanges import Conversation, conversation, exchanges
from kcoord.check.transcript import Entry, Transcript, What
from wire.header import request_frame, response_frame


class Talk:
    """A transcript that is written by a test."""

    def __init__(self):
        self.transcript = Transcript(lambda: 0.0)
        self._lines = {}
        self._count = 0

    def line(self, connection):
        while connection not in self._lines:
            line = self.transcript.connection()
            self._lines[line.number] = line
        return self._lines[connection]

    def ask(self, request, version, answer=None, *, connection=1, client="me"):
        """A question, and its answer if there is one."""
        self._count += 1
        number = self._count
        self.line(connection).note(What.SENT, request_frame(number, client, request, version))
        if answer is not None:
            self.answer(number, answer, version, connection=connection)
        return number

    def answer(self, number, answer, version, *, connection=1):
        self.line(connection).note(What.GOT, response_frame(number, answer, version)[4:])

    def send(self, data, *, connection=1):
        self.line(connection).note(What.SENT, data)

    def close(self, connection=1):
        self.line(connection).note(What.CLOSED)

    def said(self) -> Conversation:
        return conversation(self.transcript)


def entry(what, data=b"", size=None, connection=1):
    return Entry(0.0, connection, what, data, len(data) if size is None else size)


def read(*entries):
    return exchanges(entries)


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
