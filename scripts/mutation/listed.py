"""tests/core/mutants.toml: the mutants that no test catches, each with the reason why none can or need."""

import tomllib
from pathlib import Path

from .making import Mutant

Key = tuple[str, str, str, str, int]


def read(path: Path) -> dict[Key, str]:
    """The reason of each mutant listed. ValueError where two entries mean the same one, or one has no reason."""
    reasons: dict[Key, str] = {}
    for entry in tomllib.loads(path.read_text())["mutant"]:
        key = (entry["file"], entry["function"], entry["original"], entry["mutated"], entry.get("nth", 1))
        if key in reasons:
            raise ValueError(f"{path.name} lists a mutant twice: {shown(key)}")
        if not entry["reason"].strip():
            raise ValueError(f"{path.name} gives no reason for {shown(key)}")
        reasons[key] = entry["reason"]
    return reasons


def shown(key: Key) -> str:
    """A mutant in lines of text."""
    file, function, original, mutated, nth = key
    which = f" (number {nth} of these)" if nth > 1 else ""
    return f"{file}: {function or 'the module'}{which}\n    - {original}\n    + {mutated}"


def entry(mutant: Mutant) -> str:
    """What to add to the file for a mutant, but for the reason."""
    lines = [
        "[[mutant]]",
        f"file = {quoted(mutant.file)}",
        f"function = {quoted(mutant.function)}",
        f"original = {quoted(mutant.original)}",
        f"mutated = {quoted(mutant.mutated)}",
    ]
    if mutant.nth > 1:
        lines.append(f"nth = {mutant.nth}")
    return "\n".join([*lines, 'reason = ""', ""])


def quoted(text: str) -> str:
    """A text as TOML has it: as it is where that can be."""
    if "'" not in text:
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
