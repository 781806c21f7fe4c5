from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych._core.errors import DataError
from diptych.experiments import evaluate_model
from diptych.experiments.relevance import chance_levels, relevance_judgements
from diptych.experiments.score_blocks import average_block, item_scores, merge_seeds
from diptych.methods import registry
from experiments.naive import label_sets, naive_map


def fitted(dataset, name="steady", **params):
    return registry.create(name, **params).fit(dataset)


@pytest.mark.parametrize("fixture", ["counts_dataset", "gaps_dataset"])
@pytest.mark.parametrize(("measure", "k"), [("map", None), ("map@50", 50)])
def test_directions_agree_with_plain_loops(request, fixture, measure, k):
    dataset = request.getfixturevalue(fixture)
    method = fitted(dataset)
    scores = evaluate_model(method, dataset)
    parts = {name: dataset.split("test").having(name) for name in ("image", "text")}
    codes = {name: method.embed(name, part.features(name)) for name, part in parts.items()}
    for asking, searched in (("image", "text"), ("text", "image")):
        expected = naive_map(codes[asking], codes[searched], label_sets(parts[asking]), label_sets(parts[searched]), k)
        assert scores.directions[f"{asking}->{searched}"].mean(measure) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("how", ["eval-set", "train"])
def test_normalised_scores_agree_with_plain_loops(counts_dataset, how):
    method = fitted(counts_dataset)
    scores = evaluate_model(method, counts_dataset, normalisation=how)
    test, basis = counts_dataset.split("test"), counts_dataset.split("test" if how == "eval-set" else "train")
    codes = {}
    for name in ("image", "text"):
        rows, reference = (method.embed(name, part.features(name)).astype(float) for part in (test, basis))
        codes[name] = (rows - reference.mean(axis=0)) / reference.std(axis=0)
    expected = naive_map(codes["image"], codes["text"], label_sets(test), label_sets(test))
    assert scores.directions["image->text"].mean() == pytest.approx(expected, abs=1e-9)
    if how == "eval-set":
        plain = evaluate_model(method, counts_dataset)
        assert plain.normalised["image->text"].mean() == pytest.approx(expected, abs=1e-9)
        assert plain.directions["image->text"].mean() != pytest.approx(expected, abs=1e-6)


def test_the_classes_add_up_to_the_whole(counts_dataset):
    scores = evaluate_model(fitted(counts_dataset), counts_dataset)
    counts = counts_dataset.split("test").labels.class_counts()
    per_class = scores.per_class["text->image"]
    assert list(per_class) == list(counts_dataset.classes)
    weighted = np.average(list(per_class.values()), weights=counts)
    assert weighted == pytest.approx(scores.directions["text->image"].mean())


def test_three_modalities_have_six_directions(three_dataset):
    scores = evaluate_model(fitted(three_dataset), three_dataset)
    assert len(scores.directions) == len(scores.instance) == 6
    assert "audio->image" in scores.directions
    block = average_block(scores.directions)
    assert block["map"] == pytest.approx(scores.average_map)
    assert block["map_ci95"][0] < block["map"] < block["map_ci95"][1]


def test_without_labels_documents_decide_and_a_note_says_so(tmp_path):
    draft = synthetic.draft()
    labels = [None if split == "test" else label for label, split in zip(draft.labels, draft.splits, strict=True)]
    dataset = synthetic.write(tmp_path / "d", replace(draft, labels=labels))
    method = fitted(dataset)
    scores = evaluate_model(method, dataset)
    assert scores.relevance == "document"
    assert "no item of split 'test' has a label" in scores.notes[0]
    assert scores.per_class == {}
    reciprocal = scores.instance["image->text"].mean_reciprocal_rank
    assert scores.directions["image->text"].mean() == pytest.approx(reciprocal)
    asked = evaluate_model(method, dataset, relevance="document")
    assert asked.notes == ()
    assert asked.average_map == scores.average_map


def test_chance_is_what_the_evaluation_says_it_is(gaps_dataset):
    scores = evaluate_model(fitted(gaps_dataset), gaps_dataset)
    levels = chance_levels(relevance_judgements(gaps_dataset, "test", ("image", "text")))
    for name, each in scores.directions.items():
        expected = {measure: each.chance[measure] for measure in ("map", "map@50")}
        expected["mrr"] = scores.instance[name].chance["mean_reciprocal_rank"]
        assert levels[name] == pytest.approx(expected)
    assert levels["map"] == pytest.approx(average_block(scores.directions)["chance"]["map"])


def test_a_model_is_not_scored_on_modalities_it_lacks(three_dataset, counts_dataset):
    with pytest.raises(DataError, match=r"joins 'audio', which .* lacks; it has image, text"):
        evaluate_model(fitted(three_dataset), counts_dataset)


def test_an_empty_split_is_refused(unjudged_dataset):
    with pytest.raises(DataError, match="no val item with image"):
        evaluate_model(fitted(unjudged_dataset), unjudged_dataset, "val")


@pytest.mark.parametrize("fixture", ["counts_dataset", "gaps_dataset"])
def test_item_scores_average_to_the_average(request, fixture):
    dataset = request.getfixturevalue(fixture)
    scores = evaluate_model(fitted(dataset), dataset)
    items = item_scores(scores.directions)
    assert items.mean() == pytest.approx(scores.average_map)
    if fixture == "counts_dataset":
        both = [each.scores["map"] for each in scores.directions.values()]
        assert items == pytest.approx(np.mean(both, axis=0))


def test_seeds_are_averaged_query_by_query(counts_dataset):
    runs = [evaluate_model(fitted(counts_dataset, "seeded", seed=seed), counts_dataset) for seed in (0, 1)]
    one, two = (run.directions["image->text"] for run in runs)
    merged = merge_seeds([one, two])
    assert not np.array_equal(one.scores["map"], two.scores["map"])
    assert merged.scores["map"] == pytest.approx((one.scores["map"] + two.scores["map"]) / 2)
    assert merged.mean() == pytest.approx((one.mean() + two.mean()) / 2)
    with pytest.raises(DataError, match="different queries"):
        merge_seeds([one, replace(two, query_ids=two.query_ids[::-1])])
