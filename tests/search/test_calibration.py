"""Probabilities that mean what they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthetic
from diptych._core.errors import DataError
from diptych._core.seeding import generator
from diptych.data import Dataset, Labels
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index
from diptych.search.probability import Pairs, ProbabilityMap, Side, draw_pairs, fit_map
from diptych.search.probability.calibration import read_calibration, write_calibration
from diptych.search.probability.calibrator import calibrate
from diptych.search.probability.reliability import reliability


def truth(cosines):
    """A steep curve of the kind that cosines have."""
    return 0.02 + 0.9 / (1 + np.exp(-14 * (cosines - 0.55)))


def drawn(seed, count=40_000, weights=None) -> Pairs:
    random = generator(seed, "pairs")
    cosines = random.beta(2, 4, count) * 1.4 - 0.4
    return Pairs(cosines, random.random(count) < truth(cosines), np.ones(count) if weights is None else weights)


def side(modality, count, classes, seed, first=0) -> Side:
    random = generator(seed, "side", modality)
    rows = random.normal(size=(count, 6))
    labels = Labels.from_codes(random.integers(0, classes, count).tolist(), [str(c) for c in range(classes)])
    return Side(modality, rows / np.linalg.norm(rows, axis=1, keepdims=True), labels, np.arange(first, first + count))


def test_probabilities_match_frequencies_on_pairs_never_seen() -> None:
    curve, unseen = fit_map(drawn(0)), drawn(1)
    judged = reliability(curve(unseen.cosines), unseen.relevant)
    assert judged["error"] < 0.01
    for point in judged["curve"]:
        if point["share"] > 0.01:
            assert point["probability"] == pytest.approx(point["frequency"], abs=0.05)
    inside = np.linspace(-0.1, 0.85, 40)
    np.testing.assert_allclose(curve(inside), truth(inside), atol=0.06)


def test_the_map_is_small_and_never_falls() -> None:
    curve = fit_map(drawn(2, 100_000))
    assert 2 <= len(curve.scores) <= 64
    values = curve(np.linspace(-1, 1, 999))
    assert (np.diff(values) >= 0).all() and 0 < values[0] < values[-1] < 1


@given(st.lists(st.tuples(st.floats(-1, 1), st.booleans(), st.floats(0.01, 100)), min_size=2, max_size=200))
def test_any_pairs_give_a_monotone_map_or_none(given_pairs) -> None:
    cosines, relevant, weights = (np.array(column) for column in zip(*given_pairs, strict=True))
    curve = fit_map(Pairs(cosines, relevant, weights))
    if relevant.all() or not relevant.any():
        assert curve is None
        return
    values = curve(np.linspace(-1, 1, 101))
    assert (np.diff(values) >= -1e-12).all() and values[0] >= 0 and values[-1] <= 1
    again = ProbabilityMap.from_json(curve.to_json())
    np.testing.assert_array_equal(again(cosines), curve(cosines))


def test_a_few_lucky_pairs_make_no_certainty() -> None:
    cosines = np.linspace(0, 1, 200)
    relevant = cosines > 0.95
    assert fit_map(Pairs(cosines, relevant, np.ones(200)))(1.0) < 0.99


def test_a_damaged_map_is_refused() -> None:
    for scores, values in (([0.0, 0.0], [0.1, 0.2]), ([0.0, 1.0], [0.5, 0.2]), ([], []), ([0.0], [0.1, 0.2])):
        with pytest.raises(DataError, match="calibration is damaged"):
            ProbabilityMap.from_json({"scores": scores, "probabilities": values})


def test_few_pairs_are_all_taken() -> None:
    queries, gallery = side("a", 30, 4, 0), side("b", 20, 4, 1)
    pairs = draw_pairs(queries, gallery, generator(0))
    assert len(pairs) == 600 and (pairs.weights == 1).all()
    table = [
        (float(q @ g), a == b)
        for q, a in zip(queries.embeddings, queries.labels.codes, strict=True)
        for g, b in zip(gallery.embeddings, gallery.labels.codes, strict=True)
    ]
    found = zip(pairs.cosines.tolist(), pairs.relevant.tolist(), strict=True)
    np.testing.assert_allclose(sorted(found), sorted(table), atol=1e-12)


def test_of_many_pairs_the_weights_stand_for_all() -> None:
    queries, gallery = side("a", 300, 50, 0), side("b", 400, 50, 1)
    pairs = draw_pairs(queries, gallery, generator(0), most=4_000)
    shared = queries.labels.shared_with(gallery.labels)
    assert len(pairs) == 4_000 and pairs.relevant.sum() == 2_000
    assert pairs.weights.sum() == pytest.approx(120_000)
    assert pairs.relevant_share == pytest.approx(shared.mean())


def test_no_item_is_paired_with_itself_in_its_own_modality() -> None:
    one = side("a", 40, 3, 0)
    assert len(draw_pairs(one, one, generator(0))) == 40 * 39
    other = Side("b", one.embeddings, one.labels, one.items)
    assert len(draw_pairs(one, other, generator(0))) == 40 * 40


def test_reliability_is_the_naive_loop() -> None:
    random = generator(3)
    given_values, relevant = random.random(500), random.random(500) < 0.4
    weights = random.random(500) + 0.1
    found = reliability(given_values, relevant, weights, bins=7)
    error = 0.0
    for low in range(7):
        inside = (given_values >= low / 7) & (given_values < (low + 1) / 7)
        share = weights[inside].sum() / weights.sum()
        means = (
            np.average(given_values[inside], weights=weights[inside]),
            np.average(relevant[inside], weights=weights[inside]),
        )
        error += share * abs(means[0] - means[1])
    assert found["error"] == pytest.approx(error) and found["pairs"] == 500
    assert sum(point["share"] for point in found["curve"]) == pytest.approx(1)


def test_a_dataset_is_calibrated_in_every_direction_from_validation_alone(dense_dataset, tmp_path) -> None:
    model = create("cca", components=6).fit(dense_dataset)
    made = calibrate(model, dense_dataset)
    assert set(made.maps) == {(a, b) for a in ("image", "text") for b in ("image", "text")}
    assert made.relevance == "label"
    for known in made.facts.values():
        assert known["test"]["all_pairs"]["error"] < 0.1 and known["test"]["top_10"]["pairs"] > 0
    write_calibration(made, tmp_path / "c.json")
    again = read_calibration(tmp_path / "c.json")
    assert again.to_json() == made.to_json()
    one = np.array([0.3])
    assert again.probabilities("image", ["text"], one) == made.probabilities("image", ["text"], one) != [None]
    assert again.probabilities("image", ["sound"], one) == again.probabilities(None, ["text"], one) == [None]


def test_test_items_do_not_shape_the_map(dense_dataset, tmp_path) -> None:
    draft = synthetic.draft(counts_text=False, seed=1)
    labels = ["c0" if split == "test" else label for split, label in zip(draft.splits, draft.labels, strict=True)]
    classes = list(dict.fromkeys([*draft.classes, "c0"]))
    other = synthetic.write(tmp_path / "other", replace(draft, labels=labels, classes=classes))
    first = calibrate(create("cca", components=6).fit(dense_dataset), dense_dataset)
    second = calibrate(create("cca", components=6).fit(other), other)
    for way, curve in first.maps.items():
        np.testing.assert_array_equal(curve.scores, second.maps[way].scores)
        np.testing.assert_array_equal(curve.probabilities, second.maps[way].probabilities)


def test_without_labels_partners_belong_together(tmp_path) -> None:
    draft = synthetic.draft(counts_text=False, seed=5)
    bare = replace(draft, labels=[None] * len(draft.ids), classes=[])
    dataset: Dataset = synthetic.write(tmp_path / "bare", bare)
    made = calibrate(create("cca", components=6).fit(dataset), dataset)
    assert made.relevance == "document" and set(made.maps) == {("image", "text"), ("text", "image")}
    count = int((dataset.splits != "test").sum())  # one partner among all that are searched but the test items
    assert made.facts["image", "text"]["relevant_share"] == pytest.approx(1 / count)


def test_without_validation_there_are_no_probabilities(unjudged_dataset) -> None:
    made = calibrate(create("cca", components=4).fit(unjudged_dataset), unjudged_dataset)
    assert made.maps == {} and made.probabilities("image", ["text"], np.array([0.9])) == [None]


@pytest.mark.parametrize("query", ["image", "text"])
def test_reported_reliability_is_that_of_the_index_as_it_is_searched(tmp_path, query) -> None:
    """Test items ask the whole index, and what it says is compared with what is so."""
    dataset: Dataset = synthetic.write(tmp_path / "data", synthetic.draft(counts_text=False, seed=3))
    save_model(create("cca", components=6).fit(dataset), tmp_path / "model")
    build_index(tmp_path / "model", dataset, tmp_path / "index", projection="none")
    ids = dataset.ids[dataset.splits == "test"].tolist()
    with Searcher.open(tmp_path / "index") as searcher:
        for gallery in ("image", "text"):
            said, seen = [], []
            for id in ids:
                label = searcher.get(f"{query}:{id}").metadata["label"]
                for hit in searcher.similar(f"{query}:{id}", into=gallery, k=10).hits:
                    said.append(hit.probability)
                    seen.append(hit.metadata["label"] == label)
            told = searcher.calibration.facts[query, gallery]["test"]
            assert told["top_10"]["error"] == pytest.approx(reliability(said, seen)["error"], abs=1e-4)
            assert told["top_10"]["pairs"] == len(said) and told["gallery"] == searcher.count(modality=gallery)
