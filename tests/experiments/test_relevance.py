"""A model with two spaces is measured in each of them, and every table says so."""

import json

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.evaluation import evaluate_direction, evaluate_instances
from diptych.experiments import Recipe, compare_methods, evaluate_model, model_block
from diptych.experiments.relevance import partner_chance, relevance_judgements
from diptych.experiments.run_store import read_scores, write_scores
from diptych.methods import registry
from experiments import fakes
from two_spaces import ENTRY

WORDS = "MAP is measured in the class space, MRR and R@k in the partner space"


@pytest.fixture(autouse=True)
def _registered(fake_registry, monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", {**fakes.METHODS, "two-spaces": ENTRY})


@pytest.fixture
def model(gaps_dataset):
    return registry.create("two-spaces").fit(gaps_dataset)


def measured(model, dataset, purpose, asking="image", searched="text"):
    """MAP and MRR in one space by the evaluator alone."""
    parts = [dataset.split("test").having(name) for name in (asking, searched)]
    codes = [model.embed(n, part.features(n), purpose) for n, part in zip((asking, searched), parts, strict=True)]
    by_class = evaluate_direction(*codes, parts[0].labels, parts[1].labels).mean()
    documents = [part.documents.tolist() for part in parts]
    return by_class, evaluate_instances(*codes, *documents).mean_reciprocal_rank


def test_each_measure_is_taken_in_its_space(model, gaps_dataset) -> None:
    scores = evaluate_model(model, gaps_dataset)
    by_class, _ = measured(model, gaps_dataset, "class")
    _, by_partner = measured(model, gaps_dataset, "partner")
    assert scores.directions["image->text"].mean() == pytest.approx(by_class)
    assert scores.instance["image->text"].mean_reciprocal_rank == pytest.approx(by_partner)
    assert (scores.purpose, scores.instance_purpose) == ("class", "partner")
    assert scores.notes == (WORDS,)


@pytest.mark.parametrize("purpose", ["class", "partner", "both"])
def test_a_purpose_is_forced_on_both_measures(model, gaps_dataset, purpose) -> None:
    scores = evaluate_model(model, gaps_dataset, purpose=purpose)
    expected = measured(model, gaps_dataset, purpose)
    found = scores.directions["image->text"].mean(), scores.instance["image->text"].mean_reciprocal_rank
    assert found == pytest.approx(expected)
    assert (scores.purpose, scores.instance_purpose) == (purpose, purpose)
    assert scores.notes[0].startswith("MAP, MRR and R@k are measured in")


def test_spaces_are_measured_under_every_normalisation(model, gaps_dataset) -> None:
    both = evaluate_model(model, gaps_dataset, normalisation="train")
    classes, partners = (
        evaluate_model(model, gaps_dataset, normalisation="train", purpose=purpose) for purpose in ("class", "partner")
    )
    assert both.directions["text->image"].to_json() == classes.directions["text->image"].to_json()
    assert both.instance["text->image"].ranks.tolist() == partners.instance["text->image"].ranks.tolist()


def test_documents_are_looked_for_in_the_partner_space(model, gaps_dataset) -> None:
    scores = evaluate_model(model, gaps_dataset, relevance="document")
    assert (scores.purpose, scores.instance_purpose) == ("partner", "partner")


def test_a_method_with_one_space_has_no_purposes(gaps_dataset) -> None:
    method = registry.create("steady").fit(gaps_dataset)
    scores = evaluate_model(method, gaps_dataset)
    assert (scores.purpose, scores.instance_purpose, scores.notes) == (None, None, ())
    with pytest.raises(ConfigError, match="'steady' has a single space"):
        evaluate_model(method, gaps_dataset, purpose="partner")


@pytest.mark.parametrize("fixture", ["counts_dataset", "gaps_dataset", "three_dataset"])
def test_the_average_mrr_is_the_mean_of_the_directions(request, fixture) -> None:
    dataset = request.getfixturevalue(fixture)
    method = registry.create("steady").fit(dataset)
    scores = evaluate_model(method, dataset)
    block = model_block(method, dataset, scores)["instance"]
    values = {name: each.mean_reciprocal_rank for name, each in scores.instance.items()}
    assert block["average"]["mean_reciprocal_rank"] == pytest.approx(np.mean(list(values.values())))
    low, high = block["average"]["mean_reciprocal_rank_ci95"]
    assert low < block["average"]["mean_reciprocal_rank"] < high
    assert block["average"]["R@10"] == pytest.approx(np.mean([each.recall(10) for each in scores.instance.values()]))
    for name, value in values.items():
        assert block[name]["mean_reciprocal_rank"] == pytest.approx(value)
    levels = [each.chance["mean_reciprocal_rank"] for each in scores.instance.values()]
    assert block["average"]["chance"]["mean_reciprocal_rank"] == pytest.approx(np.mean(levels))
    assert partner_chance(relevance_judgements(dataset, "test", method.modalities)) == pytest.approx(np.mean(levels))


def test_scores_without_names_of_queries_are_averaged_too(model, gaps_dataset, tmp_path) -> None:
    """As comparisons of earlier versions stored them."""
    scores = evaluate_model(model, gaps_dataset)
    write_scores(tmp_path, scores)
    body = json.loads((tmp_path / "scores.json").read_text())
    for name in ("purpose", "instance_purpose"):
        assert body["scores"].pop(name)
    for each in body["scores"]["instance"].values():
        assert each.pop("query_ids")
    (tmp_path / "scores.json").write_text(json.dumps(body))
    old = read_scores(tmp_path)
    found = model_block(model, gaps_dataset, old)
    expected = model_block(model, gaps_dataset, scores)["instance"]["average"]["mean_reciprocal_rank"]
    assert found["instance"]["average"]["mean_reciprocal_rank"] == pytest.approx(expected)
    assert found["purpose"] is None


def test_a_comparison_shows_mrr_and_the_spaces(gaps_dataset, tmp_path) -> None:
    recipe = Recipe(methods=("steady", "two-spaces"), seeds=(0,))
    results = compare_methods(gaps_dataset, recipe, tmp_path / "report")
    block = results["methods"]["two-spaces"]
    assert (block["purpose"], block["instance_purpose"]) == ("class", "partner")
    shown = f"{block['instance']['average']['mean_reciprocal_rank']:.3f}"
    chance = f"{results['chance']['mrr']:.3f}"
    for file in ("results.md", "report.html"):
        text = (tmp_path / "report" / file).read_text()
        assert shown in text
        assert chance in text
        assert f"two-spaces: {WORDS}." in text
        assert "steady: MAP" not in text
