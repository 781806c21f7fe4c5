"""Judgements by rule: which items answer a typed query, decided by labels and metadata alone, never by a model.

A rule is written as people read it: `name:red + subgroup=heart, keywords:valentines`. Terms joined by `+` must all
hold, one of the alternatives between commas is enough, `!` negates, `field=a|b` compares the whole value, and
`field:a|b` asks for a word or phrase (its plural counts too) in any of the field's values.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

Fields = Mapping[str, Sequence[str]]
"""What is known of one item: each field has several values, such as tags."""

BEST, GOOD = 3, 1
_TERM = re.compile(r"(!?)([a-z]+)([=:])(.+)")


@dataclass(frozen=True)
class Term:
    """One condition on a field.

    Attributes:
        field: its name.
        values: any of these will do.
        whole: whether a whole value must equal one of them, rather than hold it as words.
        negated: whether the condition must not hold.
    """

    field: str
    values: tuple[str, ...]
    whole: bool
    negated: bool

    def holds(self, fields: Fields) -> bool:
        """Whether an item meets the condition."""
        if self.field not in fields:
            raise ValueError(f"a rule names the field '{self.field}'; there are {', '.join(sorted(fields))}.")
        known = fields[self.field]
        if self.whole:
            met = any(value in self.values for value in known)
        else:
            met = any(contains(value, phrase) for value in known for phrase in self.values)
        return met != self.negated


Rule = tuple[tuple[Term, ...], ...]
"""Alternatives, each a set of terms that must hold together."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; everything that is neither letter nor digit separates them.

    >>> words_of("O'clock, 4-wheel")
    ['o', 'clock', '4', 'wheel']
    """
    return re.findall(r"[^\W_]+", text.lower())


def contains(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase, in whole words; the plural of its last word counts too.

    >>> contains("two baseball fields", "baseball field"), contains("carpet", "car")
    (True, False)
    """
    padded, wanted = _padded(text), _padded(phrase).rstrip()
    return wanted in padded and any(f"{wanted}{ending} " in padded for ending in ("", "s", "es"))


@cache
def _padded(text: str) -> str:
    """The words of a text with a space on either side; kept, for every rule reads every text."""
    return f" {' '.join(words_of(text))} "


def parse_rule(written: str) -> Rule:
    """Read a rule; an empty one holds for nothing.

    >>> parse_rule("name:dog|wolf + !subgroup=food")[0][1]
    Term(field='subgroup', values=('food',), whole=True, negated=True)

    Raises:
        ValueError: for a term that is not `field=value` or `field:words`.
    """
    return tuple(
        tuple(_parse_term(term.strip()) for term in alternative.split(" + "))
        for alternative in written.split(", ")
        if alternative.strip()
    )


def _parse_term(written: str) -> Term:
    found = _TERM.fullmatch(written)
    if found is None:
        raise ValueError(f"the term '{written}' of a rule is neither field=value nor field:words.")
    negation, field, operator, values = found.groups()
    return Term(field, tuple(value.strip() for value in values.split("|")), operator == "=", bool(negation))


def holds(rule: Rule, fields: Fields) -> bool:
    """Whether an item meets a rule."""
    return any(all(term.holds(fields) for term in terms) for terms in rule)


@dataclass(frozen=True)
class JudgedQuery:
    """A query as a person types it, with the rules that judge its answers.

    Attributes:
        text: what is typed.
        kind: what is difficult about it, such as "synonym" or "misspelt"; "absent" for what no item shows.
        best: the rule for exactly what was meant (grade 3).
        good: the rule for what is near it (grade 1).
        half: choices are made on "dev"; "test" only reports.
    """

    text: str
    kind: str
    best: str
    good: str
    half: Literal["dev", "test"]

    @property
    def absent(self) -> bool:
        """Whether nothing in the set answers it."""
        return self.kind == "absent"

    def grades(self, items: Sequence[Fields]) -> list[int]:
        """How well each item answers: 3, 1 or 0."""
        best, good = parse_rule(self.best), parse_rule(self.good)
        return [BEST if holds(best, item) else GOOD if holds(good, item) else 0 for item in items]


def read_queries(table: str) -> list[JudgedQuery]:
    """Read a table of queries: kind, query, best, good, between tabs; the halves alternate, dev first.

    Raises:
        ValueError: for a line with another number of cells.
    """
    queries: list[JudgedQuery] = []
    for line in table.splitlines()[1:]:
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 4:
            raise ValueError(f"the line '{line}' has {len(cells)} cells; it needs kind, query, best and good.")
        kind, text, best, good = (cell.strip() for cell in cells)
        queries.append(JudgedQuery(text, kind, best, good, "test" if len(queries) % 2 else "dev"))
    return queries
