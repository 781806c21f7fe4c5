"""Parse the text of a condition: tokens first, then recursive descent (or < and < not < comparison)."""

import math
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, NoReturn

from diptych._core.errors import ConfigError
from diptych.index.filters import (
    And,
    Comparison,
    Condition,
    In,
    Key,
    Like,
    Missing,
    Not,
    Operator,
    Or,
    Value,
)

TokenKind = Literal["name", "key", "text", "number", "sign", "end"]

LONGEST = 20_000
"""Characters in a condition; keeps what others send us within what a database accepts."""
LONGEST_PATTERN = 1_000
"""Characters in a pattern of `like`: the work to match a text grows with it."""
DEEPEST = 50
"""Parentheses and negations within each other."""
MOST = 200
"""Comparisons in one condition."""
MOST_VALUES = 5_000
"""Values in all the lists of one condition."""

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
_SPACES = re.compile(r"\s*")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NO_LETTER_FOLLOWS_A_NUMBER = re.compile(r"[\w.]")


class Token(NamedTuple):
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
    if _NO_TEXT.search(condition):
        raise ConfigError("the condition holds a zero byte or half a character; write it in plain Unicode text.")
    place, length = 0, len(condition.rstrip())
    while place < length:
        found = _PATTERN.match(condition, place)
        if found is None or found.lastgroup is None:
            start = place + len(_SPACES.match(condition, place)[0])  # type: ignore[index]
            problem = "a quote is opened but not closed" if condition[start] in "'\"" else "this sign has no meaning"
            fail(condition, start + 1, f"{problem} ({condition[start]!r})")
        place = found.end()
        kind: TokenKind = found.lastgroup  # type: ignore[assignment]
        if kind == "number" and _NO_LETTER_FOLLOWS_A_NUMBER.match(condition, place):
            fail(condition, place + 1, "a number is followed by a letter; put texts in single quotes")
        yield Token(kind, found[kind], found.start(kind) + 1)
    yield Token("end", "", length + 1)


_WORDS = {"and", "or", "not", "in", "like", "is", "null", "true", "false"}
_SIGNS: dict[str, Operator] = {"=": "=", "==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def parse(condition: str) -> Condition:
    """Parse a condition; errors name the position.

    >>> parse("year >= 2020").operator
    '>='
    """
    return _Parser(condition).whole()


class _Parser:
    """The tokens of one condition and how far they are read."""

    def __init__(self, condition: str) -> None:
        self._condition = condition
        self._tokens = list(tokens(condition))
        self._next = 0
        self._comparisons = 0
        self._listed = 0

    def whole(self) -> Condition:
        if self._peek().kind == "end":
            raise ConfigError("the condition is empty; write one such as split = 'train', or leave it out.")
        result = self._any(0)
        if self._peek().kind != "end":
            self._expected("'and', 'or' or the end")
        return result

    def _any(self, depth: int) -> Condition:
        parts = [self._all(depth)]
        while self._take("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self, depth: int) -> Condition:
        parts = [self._negation(depth)]
        while self._take("and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self, depth: int) -> Condition:
        if depth > DEEPEST:
            self._fail(f"more than {DEEPEST} parentheses and negations within each other")
        if self._take("not"):
            return Not(self._negation(depth + 1))
        if self._take_sign("("):
            inner = self._any(depth + 1)
            self._need_sign(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        self._comparisons += 1
        if self._comparisons > MOST:
            self._fail(f"more than {MOST} comparisons; use key in (…) for many values")
        key = self._key()
        token = self._peek()
        if token.kind == "sign" and token.text in _SIGNS:
            self._next += 1
            return Comparison(key, _SIGNS[token.text], self._value())
        if self._take_sign("!=") or self._take_sign("<>"):
            return Not(Comparison(key, "=", self._value()))
        if self._take("is"):
            negated = self._take("not")
            self._need("null")
            return Not(Missing(key)) if negated else Missing(key)
        negated = self._take("not")
        found: Condition
        if self._take("in"):
            found = In(key, self._values())
        elif self._take("like"):
            found = Like(key, self._pattern())
        else:
            self._expected("a comparison (=, !=, <, <=, >, >=, in, like, is null)")
        return Not(found) if negated else found

    def _key(self) -> Key:
        token = self._peek()
        if token.kind == "key":
            self._next += 1
            return Key((token.text[1:-1],))
        if token.kind != "name" or token.text.lower() in _WORDS:
            self._expected("a key, such as label")
        self._next += 1
        return Key(tuple(token.text.split(".")))

    def _values(self) -> tuple[Value, ...]:
        self._need_sign("(")
        values = [self._listed_value()]
        while self._take_sign(","):
            values.append(self._listed_value())
        self._need_sign(")")
        return tuple(values)

    def _listed_value(self) -> Value:
        self._listed += 1
        if self._listed > MOST_VALUES:
            self._fail(f"more than {MOST_VALUES} values in lists; split it into several queries")
        return self._value()

    def _value(self) -> Value:
        token = self._peek()
        self._next += 1
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name" and token.text.lower() in ("true", "false"):
            return token.text.lower() == "true"
        self._next -= 1
        if token.kind == "name" and token.text.lower() == "null":
            self._fail("nothing equals null; write key is null")
        self._expected("a text in single quotes, a number, true or false")

    def _number(self, token: Token) -> Value:
        try:
            whole = int(token.text)
        except ValueError:  # a fraction or an exponent
            number = float(token.text)
        else:
            if -(2**63) <= whole < 2**63:
                return whole
            number = float(whole) if len(token.text) < 300 else math.inf
        if not math.isfinite(number):
            fail(self._condition, token.position, "the number is too large")
        return number

    def _pattern(self) -> str:
        value = self._value() if self._peek().kind == "text" else None
        if not isinstance(value, str):
            self._expected("a pattern in single quotes")
        if len(value) > LONGEST_PATTERN:
            self._fail(f"the pattern before this has {len(value)} characters; it may have {LONGEST_PATTERN}")
        return value

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self, word: str) -> bool:
        taken = self._peek().kind == "name" and self._peek().text.lower() == word
        self._next += taken
        return taken

    def _take_sign(self, sign: str) -> bool:
        taken = self._peek().kind == "sign" and self._peek().text == sign
        self._next += taken
        return taken

    def _need(self, word: str) -> None:
        if not self._take(word):
            self._expected(repr(word))

    def _need_sign(self, sign: str) -> None:
        if not self._take_sign(sign):
            self._expected(repr(sign))

    def _expected(self, what: str) -> NoReturn:
        token = self._peek()
        found = "the end" if token.kind == "end" else token.text
        self._fail(f"expected {what}, found {found}")

    def _fail(self, problem: str) -> NoReturn:
        fail(self._condition, self._peek().position, problem)
