"""Stories, word for word: each file in `transcripts/` is a sequence of commands and their whole outcomes.

After a change of behaviour, `pytest tests/core/test_transcripts.py --rewrite-transcripts` writes them anew. Keep
what it wrote only if you can say of each changed line why it changed.
"""

from pathlib import Path

import pytest

from .transcript import run

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path, request):
    expected = path.read_text(encoding="utf-8")
    came_out = run(expected)
    if request.config.getoption("--rewrite-transcripts"):
        path.write_text(came_out, encoding="utf-8")
    else:
        assert came_out == expected


def test_there_are_stories():
    assert len(FILES) >= 15
