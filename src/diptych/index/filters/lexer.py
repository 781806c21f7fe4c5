"""Cut the text of a condition into words, numbers, quoted texts and signs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn

from diptych._core.errors import ConfigError

TokenKind = Literal["name", "key", "text", "number", "sign", "end"]

LONGEST = 20_000
"""Characters in a condition; keeps what others send us within what a database accepts."""

_PATTERN = re.compile(
    r"""\s*(?:
        (?P<name>[^\W\d]\w*(?:\.\w+)*)
      | (?P<key>"[^"\\\x00-\x1f]+")
      | (?P<text>'(?:[^']|'')*')
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
      | (?P<sign>!=|<>|<=|>=|==|[=<>(),])
    )""",
    re.VERBOSE,
)
_NO_LETTER_FOLLOWS_A_NUMBER = re.compile(r"[\w.]")


@dataclass(frozen=True)
class Token:
    """One word, its kind, and the position (from 1) where it starts."""

    kind: TokenKind
    text: str
    position: int


def fail(condition: str, position: int, problem: str) -> NoReturn:
    """Say what is wrong and where."""
    shown = condition if len(condition) <= 200 else condition[:200] + "…"
    raise ConfigError(f"the condition {shown!r} is not understood at character {position}: {problem}.")


def tokens(condition: str) -> Iterator[Token]:
    """Cut a condition into tokens, the last of which is "end"."""
    if len(condition) > LONGEST:
        raise ConfigError(f"the condition has {len(condition)} characters; it may have {LONGEST}.")
    if "\0" in condition or any("\ud800" <= sign <= "\udfff" for sign in condition):
        raise ConfigError("the condition holds a zero byte or half a character; write it in plain Unicode text.")
    place, length = 0, len(condition.rstrip())
    while place < length:
        found = _PATTERN.match(condition, place)
        start = place + len(condition[place:]) - len(condition[place:].lstrip())
        if found is None or found.lastgroup is None:
            problem = "a quote is opened but not closed" if condition[start] in "'\"" else "this sign has no meaning"
            fail(condition, start + 1, f"{problem} ({condition[start]!r})")
        place = found.end()
        kind: TokenKind = found.lastgroup  # type: ignore[assignment]
        if kind == "number" and _NO_LETTER_FOLLOWS_A_NUMBER.match(condition, place):
            fail(condition, place + 1, "a number is followed by a letter; put texts in single quotes")
        yield Token(kind, found.group(kind), start + 1)
    yield Token("end", "", length + 1)
