"""Judgements by rule: the language of rules, the queries as data, and the measures."""

import math

import pytest
import pytrec_eval
from benchmarks.quality.judging import contains, holds, parse_rule, read_queries, words_of
from benchmarks.quality.measures import gain, ndcg, success
from benchmarks.quality.sets import QUERIES, SETS, agreed_words, queries_of

HEART = {"name": ["red heart"], "subgroup": ["heart"], "tags": ["love", "valentines-day"]}


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        ("name:heart", True),
        ("name:hear", False),  # whole words only
        ("name=heart", False),  # the whole value
        ("subgroup=heart", True),
        ("name:blue|red", True),
        ("name:red + subgroup=heart", True),
        ("name:red + subgroup=symbol", False),
        ("name:blue, subgroup=heart", True),
        ("name:red + !subgroup=heart", False),
        ("!name:blue", True),
        ("tags:valentines day", True),  # a phrase, whatever separates its words
        ("tags:love valentines", False),  # a phrase does not go over the end of a value
        ("", False),
    ],
)
def test_rules(rule, met):
    assert holds(parse_rule(rule), HEART) is met


def test_the_plural_of_the_last_word_counts():
    assert contains("two baseball fields", "baseball field")
    assert contains("churches", "church")
    assert not contains("two baseballs field", "baseball field")


def test_a_rule_that_cannot_be_read_says_which_term():
    with pytest.raises(ValueError, match="'heart' of a rule"):
        parse_rule("name:red + heart")


def test_a_field_that_no_item_has_is_an_error_and_not_a_miss():
    with pytest.raises(ValueError, match="names the field 'nmae'"):
        holds(parse_rule("nmae:red"), HEART)


def test_halves_alternate_and_grades_prefer_the_best():
    queries = read_queries("kind\tquery\tbest\tgood\nword\ta\tname:red\tsubgroup=heart\nabsent\tb\t\t\n")
    assert [query.half for query in queries] == ["dev", "test"]
    assert [query.absent for query in queries] == [False, True]
    assert queries[0].grades([HEART, {**HEART, "name": ["blue heart"]}, {"name": ["x"], "subgroup": ["y"]}]) == [
        3,
        1,
        0,
    ]


def test_a_line_with_too_few_cells_is_named():
    with pytest.raises(ValueError, match="'word\tcar' has 2 cells"):
        read_queries("kind\tquery\tbest\tgood\nword\tcar\n")


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_enough_queries_of_every_kind(name):
    queries = queries_of(name)
    assert len([query for query in queries if not query.absent]) >= 60
    assert len([query for query in queries if query.absent]) == 10
    assert {"word", "phrase", "synonym", "plural", "misspelt", "attribute"} <= {query.kind for query in queries}
    assert len({query.text for query in queries}) == len(queries)
    for query in queries:
        assert bool(query.best) is not query.absent, query.text
        parse_rule(query.best), parse_rule(query.good)


def test_every_table_of_queries_belongs_to_a_set():
    assert {path.stem for path in QUERIES.glob("*.tsv")} == set(SETS)


def test_agreed_words_fold_plurals_but_keep_what_was_written():
    assert agreed_words(["tennis courts here", "one tennis court", "grass"]) == ["court", "courts", "tennis"]


def test_words_are_separated_by_whatever_is_no_letter():
    assert words_of("Log_in: 4x4, O’clock") == ["log", "in", "4x4", "o", "clock"]


def test_ndcg_is_that_of_trec_eval():
    judged = {"a": 3, "b": 1, "c": 0, "d": 3, "e": 1, "f": 0}
    order = ["b", "f", "a", "c", "e"]
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {id: int(gain(g)) for id, g in judged.items()}}, {"ndcg_cut.3"})
    expected = evaluator.evaluate({"q": {id: 10.0 - rank for rank, id in enumerate(order)}})["q"]["ndcg_cut_3"]
    assert math.isclose(ndcg([judged[id] for id in order], list(judged.values()), depth=3), expected, rel_tol=1e-6)


def test_ndcg_of_the_best_list_is_one_and_of_a_short_one_less():
    assert ndcg([3, 1, 0], [0, 1, 3]) == 1.0
    assert 0 < ndcg([3], [3, 3]) < 1
    with pytest.raises(ValueError, match="not defined"):
        ndcg([0], [0, 0])


def test_success_needs_the_best_grade_among_the_first_ten():
    assert success([1] * 9 + [3]) == 1.0
    assert success([1] * 10 + [3]) == 0.0
