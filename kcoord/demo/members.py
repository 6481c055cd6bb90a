"""The consumers of a story, each in a process of its own: so that it can crash, and nothing of it is left behind."""

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from typing import IO, Final

from kcoord.demo.stories import BUSY_S, GROUP, TOPIC, USUAL, Story

_PROGRAM: Final = "kcoord.demo.consumer"
_LAST_WORDS: Final = 4_096
"""Bytes of a process's standard error in which its last line is looked for."""


def has_client() -> bool:
    """Whether kafka-python is installed."""
    return find_spec("kafka") is not None


class Member:
    """One process. It loads what it needs at once, and joins the group when it is told where.

    It is in a session of its own: an interrupt from the terminal is for who started it. When that ends, so does it.
    Raises OSError if no process can be started.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaving = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-m", _PROGRAM],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._ready = False

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded what it needs."""
        assert self._process.stdout is not None
        self._ready = self._ready or bool(self._process.stdout.read())
        return self._ready

    @property
    def failure(self) -> str | None:
        """Why it ended though nobody told it to, in its last words; else None."""
        if self.leaving or self._process.poll() is None:
            return None
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - _LAST_WORDS, 0))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with status {self._process.returncode}"

    def join(self, story: Story, bootstrap: str) -> None:
        """Let it be a member of the story's group."""
        config = {"bootstrap_servers": bootstrap, "group_id": GROUP, "client_id": self.name, **USUAL, **story.consumers}
        if story.static:
            config["group_instance_id"] = self.name
        how = {"topic": TOPIC, "assignor": story.assignor, "config": config, "busy": BUSY_S[self.name]}
        self._tell(json.dumps(how))

    def stall(self) -> None:
        """Let it not poll any more."""
        self._tell("stall")

    def go_on(self) -> None:
        """Let it poll again."""
        self._tell("go on")

    def stop(self) -> None:
        """Let it close its consumer and end."""
        self.leaving = True
        self._tell("stop")

    def kill(self) -> None:
        """End it without giving it time for a word to the server."""
        self.leaving = True
        self._process.kill()

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, and so have its connections."""
        return self._process.poll() is not None

    def close(self) -> None:
        """See to it that nothing is left of the process."""
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            pipe.close()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            # It has ended, and `failure` tells why.
            return
