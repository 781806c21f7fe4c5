"""Names of what lies together, against a naive loop and on words that were planted."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.seeding import generator
from diptych.search import NewItem, Searcher
from diptych.search.browse import cluster_names as module
from diptych.search.browse.cluster_names import cluster_names, word_counts, word_weights
from search.gallery import build_unlabelled, png

PLANTED = ("harbour", "orchard", "desert", "glacier")


def scattered(each=60):
    """Four heaps of positions in the corners, whose texts hold a word each, among words that are everywhere."""
    random = generator(0, "heaps")
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32).repeat(each, axis=0)
    positions = corners + random.normal(0, 0.05, corners.shape).astype(np.float32)
    texts = []
    for number in range(4 * each):
        word = PLANTED[number // each] if number % 4 else "rare"
        texts.append(f"a view of the {word} in {random.choice(['spring', 'winter'])} {number}")
    return positions, texts


def test_weights_are_those_of_the_formula_written_out() -> None:
    _, texts = scattered(each=12)
    counts, words = word_counts(texts)
    assert set(words) == {*PLANTED, "rare", "spring", "winter"}  # no numbers, nor what every text holds
    of = np.arange(48) // 12
    members = sp.csr_array((np.ones(48), (of, np.arange(48))), shape=(4, 48))
    weights = word_weights(counts, members).toarray()
    for part in range(4):
        for number, word in enumerate(words):
            has = [word in text.split() for text in texts]
            here = sum(one for one, mine in zip(has, of, strict=True) if mine == part)
            prior = 4.8 * sum(has) / 48
            inside, outside = here + prior, sum(has) - here + prior
            odds = math.log(inside / max(16.8 - inside, 0.5)) - math.log(outside / max(40.8 - outside, 0.5))
            expected = odds / math.sqrt(1 / inside + 1 / outside) if here >= 2 else 0.0
            assert weights[part, number] == pytest.approx(expected, abs=1e-9), (part, word)


def test_heaps_are_named_by_what_only_they_hold_at_every_zoom() -> None:
    positions, texts = scattered()
    names = cluster_names(positions, texts, np.ones(240, np.bool_))
    assert {one.level for one in names} == {0, 1}  # 10 parts, then 40 of six items
    assert {one.words for one in names if one.level == 0} == set(PLANTED)
    for one in names:
        if one.words in PLANTED:
            corner = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])[PLANTED.index(one.words)]
            assert np.abs(np.array([one.x, one.y]) - corner).max() < 0.3
    assert sum(one.count for one in names if one.level == 0) <= 240
    assert names == cluster_names(positions, texts, np.ones(240, np.bool_))


def test_only_items_without_a_label_are_named_and_nothing_is_said_where_nothing_tells() -> None:
    positions, texts = scattered()
    unlabelled = np.arange(240) < 60
    named = cluster_names(positions, texts, unlabelled)
    assert {one.words for one in named if one.level == 0} == {PLANTED[0]}
    assert cluster_names(positions, ["the same words"] * 240, np.ones(240, np.bool_)) == []
    assert cluster_names(positions, [""] * 240, np.ones(240, np.bool_)) == []
    assert cluster_names(positions, texts, np.zeros(240, np.bool_)) == []
    chinese = ["一只小猫" if number < 120 else "山上下雪" for number in range(240)]
    found = {one.words for one in cluster_names(positions, chinese, np.ones(240, np.bool_))}
    assert found and all("小猫" in words or "山上" in words or "·" in words for words in found)


def test_the_map_of_an_index_has_names_that_are_kept_until_much_has_changed(tmp_path, monkeypatch) -> None:
    build_unlabelled(tmp_path)
    asked = []
    monkeypatch.setattr(module, "cluster_names", lambda *given: asked.append(given) or cluster_names(*given))
    with Searcher.open(tmp_path / "index", writable=True) as searcher:
        drawn = searcher.map()
        said = " ".join(one.words for one in drawn.names)
        assert drawn.labels == [None] * 80 and all(colour in said for colour in ("red", "green", "blue", "grey"))
        searcher.add([NewItem("image:mine", "image", png("blue", "mine"), {"text": "a blue tile"})])
        assert searcher.map().names is drawn.names and len(asked) == 1
        for number in range(3):
            searcher.add([NewItem(f"text:{number}", "text", "a blue tile")])
        assert searcher.map().names is not drawn.names and len(asked) == 2
