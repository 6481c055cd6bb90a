"""Where the reports for people are printed."""

from typing import IO

from kcoord.console import OutputConsole


class ReportConsole(OutputConsole):
    """A console whose lines are as long as they are where the output is no terminal."""

    def __init__(self, file: IO[str], *, width: int | None = None) -> None:
        super().__init__(file=file, highlight=False, soft_wrap=not file.isatty(), width=width)
