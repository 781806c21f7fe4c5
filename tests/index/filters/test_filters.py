"""The language of conditions: what it accepts, what it says when it does not, and that SQL means what Python means."""

import json
import re
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.index.filters import (
    And,
    Comparison,
    In,
    Key,
    Like,
    LikeMatcher,
    Missing,
    Not,
    Or,
    matches,
    predicate,
    regex_of,
)
from diptych.index.filters.parser import parse
from diptych.index.filters.sql import to_postgresql, to_sqlite


def key(*path):
    return Key(path)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("split = 'train'", Comparison(key("split"), "=", "train")),
        ("a<=1 AND b>=-2.5e1", And((Comparison(key("a"), "<=", 1), Comparison(key("b"), ">=", -25.0)))),
        ("a == 1 or b < 2 and c > 3", Or((Comparison(key("a"), "=", 1),
                                        And((Comparison(key("b"), "<", 2), Comparison(key("c"), ">", 3)))))),
        ("(a = 1 or b = 2) and c = 3", And((Or((Comparison(key("a"), "=", 1), Comparison(key("b"), "=", 2))),
                                          Comparison(key("c"), "=", 3)))),
        ("not a = 1 and b = 2", And((Not(Comparison(key("a"), "=", 1)), Comparison(key("b"), "=", 2)))),
        ("a != 1", Not(Comparison(key("a"), "=", 1))),
        ("a <> 'it''s'", Not(Comparison(key("a"), "=", "it's"))),
        ("label IN ('river','pond')", In(key("label"), ("river", "pond"))),
        ("label not in (1)", Not(In(key("label"), (1,)))),
        ("a is null", Missing(key("a"))),
        ("a is not null", Not(Missing(key("a")))),
        ("a not like '%x_'", Not(Like(key("a"), "%x_"))),
        ("media.kind = true", Comparison(key("media", "kind"), "=", True)),
        ('"my key.x" = false', Comparison(key("my key.x"), "=", False)),
        ("größe > 99999999999999999999", Comparison(key("größe"), ">", 1e20)),
    ],
)  # fmt: skip
def test_what_is_understood(text, meaning):
    assert parse(text) == meaning
    assert repr(parse(text)) == repr(meaning)  # 1, 1.0 and true are equal in Python and not here


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("split ~ 1", 7, "this sign has no meaning"),
        ("split = 'train", 9, "not closed"),
        ("split =", 8, "expected a text in single quotes, a number, true or false, found the end"),
        ("split = train", 9, "found train"),
        ("a = 1 b = 2", 7, "expected 'and', 'or' or the end, found b"),
        ("(a = 1", 7, r"expected '\)'"),
        ("a in ()", 7, "expected a text"),
        ("a in 'x'", 6, r"expected '\('"),
        ("a = null", 5, "write key is null"),
        ("a is 3", 6, "expected 'null'"),
        ("a like 3", 8, "expected a pattern"),
        ("and = 3", 1, "expected a key"),
        ("a = 12abc", 7, "followed by a letter"),
        ("a = 1e999", 5, "too large"),
        ("'a' = 1", 1, "expected a key"),
        ("a = 1; drop table items", 6, "no meaning"),
        ("(" * 60 + "a = 1" + ")" * 60, 52, "within each other"),
        (" or ".join(["a = 1"] * 201), 1801, "more than 200 comparisons"),
        (f"a in ({'1,' * 5000}1)", 10007, "more than 5000 values in lists"),
        (f"a in ({'1,' * 4999}1) or b in (1,2)", 10017, "more than 5000 values in lists"),
        (f"a like '{'%a' * 501}'", 1012, "the pattern before this has 1002 characters; it may have 1000"),
    ],
)
def test_what_is_not_understood_is_shown(text, position, problem):
    with pytest.raises(ConfigError, match=rf"at character {position}: .*{problem}"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "problem"), [("", "empty"), ("  ", "empty"), ("a" * 20_001, "characters"), ("a = '\0'", "zero byte")]
)
def test_what_is_no_condition(text, problem):
    with pytest.raises(ConfigError, match=problem):
        parse(text)


names = st.sampled_from(["a", "b", "ü", "id", "modality", "c d", "n.x"])
texts = st.text(alphabet="aAbß%_'\"\\-; ", max_size=4)
literals = st.one_of(texts, st.integers(-3, 3), st.sampled_from([0.5, -1.0, 2.0**70]), st.booleans())
keys = names.map(lambda name: Key(tuple(name.split("."))))
leaves = st.one_of(
    st.builds(Comparison, keys, st.sampled_from(["=", "<", "<=", ">", ">="]), literals),
    st.builds(In, keys, st.lists(literals, min_size=1, max_size=3).map(tuple)),
    st.builds(Like, keys, texts),
    st.builds(Missing, keys),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
values = st.one_of(literals, st.none(), st.lists(st.one_of(literals, st.none(), st.just([1])), max_size=3))
metadata = st.dictionaries(
    st.sampled_from(["a", "b", "ü", "c d", "n"]), st.one_of(values, st.dictionaries(st.just("x"), values)), max_size=4
)


@given(conditions, st.lists(st.tuples(texts, texts, metadata), min_size=1, max_size=5))
@settings(max_examples=120, deadline=None)
def test_sql_means_what_python_means(condition, items):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE items (row INTEGER PRIMARY KEY, id TEXT, modality TEXT, metadata TEXT)")
    rows = [(row, id, name, json.dumps(known, ensure_ascii=False)) for row, (id, name, known) in enumerate(items)]
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
    sql, parameters = to_sqlite(condition)
    found = {row for (row,) in connection.execute(f"SELECT row FROM items WHERE {sql}", parameters)}
    connection.close()
    assert found == {row for row, (id, name, known) in enumerate(items) if matches(condition, id, name, known)}


@given(st.text(max_size=60))
@settings(max_examples=120, deadline=None)
def test_any_text_is_parsed_or_refused_politely(text):
    try:
        sql, _ = to_sqlite(parse(text))
    except ConfigError:
        return
    assert sql.count("(") == sql.count(")")


@given(texts, texts)
def test_no_text_reaches_the_sql(value, name):
    quoted = value.replace("'", "''")
    sql, parameters = to_sqlite(parse(f"a = '{quoted}' or b like '{quoted}'"))
    assert parameters.count(value) == 2
    assert sql == to_sqlite(parse("a = 'x' or b like 'x'"))[0]


def test_lists_match_by_any_element_and_absence_by_negation():
    item = {"labels": ["river", "pond"], "n": 3}
    for text, expected in {
        "labels = 'pond'": True,
        "labels != 'pond'": False,
        "labels > 'q'": True,
        "labels like 'RIV%'": True,
        "nothing = 1": False,
        "nothing != 1": True,
        "nothing not in (1)": True,
        "n = '3'": False,
        "n = true": False,
        "labels is null": False,
        "id = 'x' and modality = 'image'": True,
    }.items():
        assert matches(parse(text), "x", "image", item) is expected, text


def test_a_list_is_one_parameter():
    values = tuple(range(9_000))
    assert len(to_sqlite(In(key("a"), values))[1]) == 2
    assert len(to_sqlite(In(key("a"), (*values, "x", "y", True)))[1]) == 6
    sql, parameters = to_postgresql(In(key("a"), values))
    assert len(parameters) == 3 and len(sql) < 500


class Counted(int):
    """A number that counts how often its kind is asked for."""

    asked = 0

    @property
    def __class__(self):
        Counted.asked += 1
        return int


@pytest.mark.parametrize("compiled", [to_sqlite, to_postgresql, predicate])
def test_the_work_grows_with_the_list_and_not_with_its_square(compiled):
    work = []
    for count in (500, 1_000):
        Counted.asked = 0
        compiled(In(key("a"), tuple(Counted(number) for number in range(count))))
        work.append(Counted.asked)
    assert work[1] <= 2.2 * work[0]


@given(st.text(alphabet="aAbBß%_", max_size=6), st.text(alphabet="aAbBß\n%_", max_size=9))
@settings(max_examples=400, deadline=None)
def test_like_without_backtracking_is_like(pattern, text):
    expected = re.fullmatch(regex_of(pattern), text, re.DOTALL) is not None
    assert LikeMatcher(pattern).matches(text) is expected


def test_like_does_not_backtrack():
    # A regular expression of this pattern needs longer than the universe lasts.
    script = (
        "from diptych.index.filters import matches\nfrom diptych.index.filters.parser import parse\n"
        "pattern = '%a' * 400 + '%b'\n"
        "item = {'t': 'a' * 100_000}\n"
        "assert not matches(parse(f\"t like '{pattern}'\"), 'x', 'image', item)\n"
        "pattern = '%_a' * 300 + '_b'\n"
        "assert not matches(parse(f\"t like '{pattern}'\"), 'x', 'image', item)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
