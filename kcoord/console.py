"""Where commands print for people."""

from rich.console import Console


class OutputConsole(Console):
    """A console for which an output that nobody reads any more is like others that cannot be written to.

    rich would end the process there, with status 1, which says something else of each command. `kcoord.commands.run`
    has one sentence for all outputs that take nothing, and status 2.
    """

    def on_broken_pipe(self) -> None:
        """Go on raising the BrokenPipeError that this is called in."""
        raise
