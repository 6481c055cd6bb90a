"""Where the reports for people are printed."""

from typing import IO

from rich.console import Console


class ReportConsole(Console):
    """A console whose lines are as long as they are where the output is no terminal.

    An output that nobody reads any more is a failure like others of writing: rich would end the process with status 1,
    which says that a rule is broken.
    """

    def __init__(self, file: IO[str], *, width: int | None = None) -> None:
        super().__init__(file=file, highlight=False, soft_wrap=not file.isatty(), width=width)

    def on_broken_pipe(self) -> None:
        """Go on raising the BrokenPipeError that this is called in."""
        raise
