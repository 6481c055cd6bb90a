"""Any value as a sentence shows it: on one line, and in some words, whatever it is; and what no text could show."""

from enum import Enum

_MOST_SHOWN = 80
"""Characters."""
_MOST_DIGITS = 30


def shown(value: object) -> str:
    """Return a value as Python writes it if it is a short text or number, else what kind of thing it is."""
    if isinstance(value, Enum | type) or not isinstance(value, bool | int | float | str | bytes | None):
        kind = type(value).__name__
        return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
    if is_huge(value):
        return f"a number of more than {_MOST_DIGITS} digits"
    if isinstance(value, str | bytes) and len(value) > _MOST_SHOWN:
        return f"{value[:_MOST_SHOWN]!r}... ({len(value)} {'bytes' if isinstance(value, bytes) else 'characters'})"
    return repr(value)


def as_given(text: str) -> str:
    """Return a text as it is where it is short, else as `shown`."""
    return text if len(text) <= _MOST_SHOWN else shown(text)


def is_unicode(text: str) -> bool:
    """Whether a text is of characters alone: half a surrogate pair is none, and no bytes can be made of it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_huge(value: object) -> bool:
    """Whether it is a whole number that nothing here has room for; Python refuses to write those of many digits."""
    return isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS
