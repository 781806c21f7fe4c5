"""Fusion, presence and ranking on plain arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.seeding import generator
from diptych.search.listing import IMAGE, TEXT, WORDS, Listed, Presence, fit_presence, nearness
from diptych.search.probability import CosineLine, Pairs, fit_line, sigmoid
from diptych.search.probability.simulation import phrase
from diptych.search.ranking import Fusion, fused, learn_fusion, merged, word_evidence

ALL = np.array([True, True, True])


def listed(kind, scores, complete=True, names=None):
    names = names or [f"d{place}" for place in range(len(scores))]
    modality = "image" if kind == IMAGE else "text"
    ids = [f"{modality}:{name}" for name in names]
    return kind, Listed(ids, names, names, [modality] * len(names), np.array(scores, np.float64), complete)


def test_missing_evidence_is_that_of_the_last_listed() -> None:
    fusion = Fusion((1.0, 2.0, 4.0), -1.0)
    lists = [
        listed(IMAGE, [0.9, 0.5]),
        listed(TEXT, [0.8, 0.3], False, ["d1", "d2"]),
        listed(WORDS, [0.5], True, ["d2"]),
    ]
    found, floors = fused(lists, fusion, ALL)
    assert floors.tolist() == [0.5, 0.3, 0.0]
    expected = {
        "d0": -1 + 0.9 + 2 * 0.3,
        "d1": -1 + 0.5 + 2 * 0.8,
        "d2": -1 + 0.5 + 2 * 0.3 + 4 * 0.25,
    }
    scores = {one.document: one.score for one in found}
    assert scores == pytest.approx({name: float(sigmoid(np.array(value))) for name, value in expected.items()})
    assert [one.score for one in found] == sorted(scores.values(), reverse=True)
    assert {one.document: one.side for one in found} == {"d0": IMAGE, "d1": TEXT, "d2": WORDS}
    without = fused(lists, fusion, np.array([True, True, False]))[0]
    assert [one.document for one in without] == ["d1", "d0", "d2"]


def test_the_data_decide_how_steep_the_score_is_and_hardly_its_proportions() -> None:
    random = generator(0, "fusion")
    evidence = random.random((20_000, 3)) * [0.6, 0.8, 0.4]
    truth = sigmoid(-6 + 2 * (evidence @ [3.0, 10.0, 5.0]))
    prior = Fusion.prior()
    learned = learn_fusion(evidence, random.random(20_000) < truth, prior, "labels")
    assert learned.weights == pytest.approx([6, 20, 10], rel=0.1) and learned.bias == pytest.approx(-6, abs=0.5)
    by_images_alone = random.random(20_000) < sigmoid(-2 + 8 * evidence[:, IMAGE])
    learned = learn_fusion(evidence, by_images_alone, prior, "labels")
    ratio = np.array(learned.weights) / prior.weights
    assert ratio.max() / ratio.min() <= 1.25 / 0.8 + 1e-6 and min(learned.weights) > 0
    again = Fusion.from_json(learned.to_json())
    assert again == learned


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.booleans())
def test_more_matching_words_never_count_less(values, names) -> None:
    worth = word_evidence(np.sort(np.array(values)), names=names)
    assert (np.diff(worth) >= 0).all() and worth.min() >= 0 and worth.max() <= 1


def test_a_line_is_the_logistic_regression_of_pairs() -> None:
    random = generator(1, "line")
    cosines = random.uniform(-0.2, 1.0, 30_000)
    pairs = Pairs(cosines, random.random(30_000) < sigmoid(-5 + 9 * cosines), np.ones(30_000))
    line = fit_line(pairs)
    assert line.slope == pytest.approx(9, rel=0.06) and line.intercept == pytest.approx(-5, rel=0.06)
    np.testing.assert_allclose(line.inverse(line(cosines)), cosines, atol=1e-9)
    assert fit_line(pairs, growth=10.0).intercept == pytest.approx(line.intercept - np.log(10))
    falling = fit_line(Pairs(cosines, random.random(30_000) < sigmoid(1 - 9 * cosines), np.ones(30_000)))
    assert falling.slope > 0
    assert fit_line(Pairs(cosines, np.ones(30_000, np.bool_), np.ones(30_000))) is None


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=12), min_size=1, max_size=3),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_merged_lists_rank_by_the_best_side_however_deep_one_looks(columns, wanted, depth) -> None:
    line = CosineLine(2.0, -1.0)
    scores = [np.sort(np.array(column))[::-1] for column in columns]
    best: dict[str, float] = {}
    for column in scores:
        for place, score in enumerate(column):
            best[f"d{place}"] = max(best.get(f"d{place}", -9.0), float(line(np.array(score))))
    expected = [name for name, _ in sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))][:wanted]
    lists = [(*listed(IMAGE, column[:depth], len(column) <= depth), line) for column in scores]
    found = merged(lists, wanted)
    if found is None:
        assert any(len(column) > depth for column in scores)
    else:
        assert [one.document for one in found] == expected[: len(found)] and len(found) == min(wanted, len(best))


def test_nearness_looks_at_the_best_texts_and_words() -> None:
    lists = [listed(TEXT, [0.9, 0.5, 0.4, 0.3, 0.2, 0.1]), listed(WORDS, [0.4])]
    assert nearness(lists) == pytest.approx(0.5 * 0.9 + 0.5 * 0.46 + 0.5 * 0.4)
    assert nearness([]) == 0.0
    presence = fit_presence(np.linspace(0.6, 1.0, 200).tolist())
    assert 0.3 < presence.limit < 0.6 and fit_presence([]) is None
    assert presence(lists) > 0.9 and presence([listed(TEXT, [0.2, 0.1])]) < 0.1
    kind, all_words = listed(WORDS, [0.1])
    held = Listed(
        *(getattr(all_words, name) for name in ("ids", "documents", "items", "modalities", "scores")), True, True
    )
    assert presence([(kind, held)]) == 1.0 and Presence.from_json(presence.to_json()) == presence


def test_phrases_are_neighbouring_words_of_one_line() -> None:
    text = "many planes are parked here.\nsome trees and a pond"
    for seed in range(40):
        words = phrase(text, generator(seed), lambda word: word in ("are", "a", "and")).split()
        assert 1 <= len(words) <= 6
        lines = ["many planes parked here", "some trees pond"]
        assert any(" ".join(words) in line for line in lines)
    assert phrase("  \n ", generator(0)) == "" and phrase("the", generator(0), lambda word: True) == "the"
