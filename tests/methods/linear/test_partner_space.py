"""The partner space: canonical projections, judged by how often an item's own partner is found."""

import numpy as np
import pytest

import synthetic
from diptych._core.progress import silent
from diptych._core.state import pack, unpack
from diptych.data import training_data
from diptych.evaluation import evaluate_instances
from diptych.methods import create
from diptych.methods.linear import partner_space
from diptych.methods.linear.partner_space import (
    FEWEST_PAIRS,
    PARTNER_WEIGHTS,
    TOLERATED_LOSS,
    PartnerScorer,
    Spaces,
    _first_of_the_best,
    _partner_weight,
    add_partner_space,
    fit_partner_embedders,
    joined,
    with_class,
)
from diptych.methods.selection import Search, Validation


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def data(counts_dataset):
    return training_data(counts_dataset)


@pytest.fixture(scope="module")
def class_embedders(counts_dataset):
    """Class posteriors at length one, as something that knows classes."""
    model = create("sm", strength=0.1).fit(counts_dataset)
    return {
        name: lambda rows, name=name: unit(model.embed(name, rows)).astype(np.float32) for name in ("image", "text")
    }


@pytest.fixture
def one_value(monkeypatch):
    """Leave the grids a single value each."""

    def fixed(ridge, components, power):
        for name, value in (("RIDGES", ridge), ("COMPONENTS", components), ("POWERS", power)):
            monkeypatch.setattr(partner_space, name, (value,))

    return fixed


@pytest.mark.parametrize(("ridge", "power"), [(0.3, 0.0), (1.0, 2.0)])
@pytest.mark.parametrize("components", [100, 5])
def test_projections_are_those_of_canonical_correlation(counts_dataset, data, one_value, ridge, components, power):
    """With all components and power 0 they are CCA's as they stand, but for their length."""
    one_value(ridge, components, power)
    codes, chosen, _ = fit_partner_embedders(data, None, silent)
    kept = min(components, 12)  # the narrower modality has no more
    cca = create("cca", ridge=ridge, components=kept, weight_power=power, scaling={"text": "tfidf+centre"})
    cca.fit(counts_dataset)
    assert chosen == {"ridge": ridge, "components": components, "power": power}
    for name in ("image", "text"):
        rows = counts_dataset.split("test").features(name)
        found = codes[name](rows)
        assert found.shape[1] == kept and found.dtype == np.float32
        np.testing.assert_allclose(found, unit(cca.embed(name, rows)), atol=1e-5)


def naive_reciprocal_rank(queries, gallery):
    """Row p's partner is row p; ranked by cosine, one query after the other."""
    ranks = []
    for p, query in enumerate(queries):
        cosines = [float(query @ other / np.linalg.norm(query) / np.linalg.norm(other)) for other in gallery]
        ranks.append(1 + sum(cosine > cosines[p] for cosine in cosines))
    return np.mean(1 / np.array(ranks))


def test_the_judge_is_the_mean_reciprocal_rank_of_both_directions(data):
    judge = PartnerScorer.of(data)
    random = np.random.default_rng(3)
    shared = random.normal(size=(len(data.validation), 6))
    codes = {name: (shared + random.normal(size=shared.shape)).astype(np.float32) for name in ("image", "text")}
    documents = data.validation.documents.tolist()
    expected = [
        evaluate_instances(codes[a], codes[b], documents, documents).mean_reciprocal_rank
        for a, b in (("image", "text"), ("text", "image"))
    ]
    assert judge.score(codes) == pytest.approx(np.mean(expected))
    naive = [naive_reciprocal_rank(codes["image"], codes["text"]), naive_reciprocal_rank(codes["text"], codes["image"])]
    assert judge.score(codes) == pytest.approx(np.mean(naive), abs=1e-6)
    assert 0.05 < judge.score(codes) < 0.95


def test_too_few_pairs_judge_nothing(tmp_path, unjudged_dataset):
    assert PartnerScorer.of(training_data(unjudged_dataset)) is None
    few = synthetic.write(tmp_path / "few", synthetic.draft(counts={"train": 60, "val": FEWEST_PAIRS - 1, "test": 10}))
    assert PartnerScorer.of(training_data(few)) is None
    enough = synthetic.write(tmp_path / "enough", synthetic.draft(counts={"train": 60, "val": FEWEST_PAIRS, "test": 9}))
    assert PartnerScorer.of(training_data(enough)) is not None


def test_without_a_judge_the_first_of_each_grid_is_taken(unjudged_dataset):
    codes, chosen, search = fit_partner_embedders(training_data(unjudged_dataset), None, silent)
    assert chosen == {
        "ridge": partner_space.RIDGES[0],
        "components": partner_space.COMPONENTS[0],
        "power": partner_space.POWERS[0],
    }
    assert search.trials == []
    assert set(codes) == {"image", "text"}


def test_of_values_that_do_nearly_as_well_the_first_is_taken():
    search = Search()
    for ridge, score in ((1.0, 0.5), (0.3, 0.504), (0.1, 0.503)):
        search.add({"ridge": ridge}, score)
    assert _first_of_the_best(search, "ridge", (1.0, 0.3, 0.1)) == {"ridge": 1.0}
    search.add({"ridge": 0.1, "power": 2.0}, 0.6)
    assert _first_of_the_best(search, "ridge", (1.0, 0.3, 0.1)) == {"ridge": 0.1, "power": 2.0}


def test_every_value_is_tried_once_around_the_best_so_far(data):
    _, chosen, search = fit_partner_embedders(data, PartnerScorer.of(data), silent)
    tried = [trial["params"] for trial in search.trials]
    grids = {"ridge": partner_space.RIDGES, "components": partner_space.COMPONENTS, "power": partner_space.POWERS}
    for name, values in grids.items():
        assert {trial[name] for trial in tried} == set(values)
    assert len(tried) == 1 + sum(len(values) - 1 for values in grids.values())
    assert chosen in tried
    score = next(trial["score"] for trial in search.trials if trial["params"] == chosen)
    assert score >= (1 - partner_space.NEARLY) * search.best_score


def test_the_class_inside_the_partner_code_adds_its_cosine_by_weight():
    random = np.random.default_rng(1)
    partners, classes = ([unit(random.normal(size=(5, 4))).astype(np.float32) for _ in range(2)] for _ in range(2))
    one, two = (with_class(p, c, 0.5) for p, c in zip(partners, classes, strict=True))
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1.0, atol=1e-6)
    expected = (partners[0] @ partners[1].T + 0.25 * classes[0] @ classes[1].T) / 1.25
    np.testing.assert_allclose(one @ two.T, expected, atol=1e-6)
    assert with_class(partners[0], classes[0], 0.0) is partners[0]
    both = joined(classes[0], partners[0], 0.5, 0.7)
    np.testing.assert_array_equal(both[:, :4], classes[0])
    np.testing.assert_allclose(both[:, 4:], np.float32(0.7) * one, atol=1e-7)


@pytest.fixture(scope="module")
def spaces(data, class_embedders):
    return add_partner_space(data, class_embedders, silent)


def test_both_codes_stand_side_by_side(counts_dataset, spaces, class_embedders):
    assert list(spaces.widths) == ["class", "partner"]
    for name, code in spaces.embedders.items():
        rows = counts_dataset.split("test").features(name)
        whole = code(rows)
        assert isinstance(code, Spaces) and whole.shape[1] == sum(spaces.widths.values())
        classes, partners = np.split(whole, [spaces.widths["class"]], axis=1)
        np.testing.assert_array_equal(classes, class_embedders[name](rows))
        lengths = np.linalg.norm(partners, axis=1)
        np.testing.assert_allclose(lengths, spaces.chosen["partner_weight"], rtol=1e-5)


def test_partners_are_found_in_the_partner_space_and_classes_in_the_other(counts_dataset, spaces):
    test = counts_dataset.split("test")
    found = {name: code(test.features(name)) for name, code in spaces.embedders.items()}
    split = spaces.widths["class"]
    by_class, by_partner = (
        evaluate_instances(
            found["image"][:, part], found["text"][:, part], test.documents.tolist(), test.documents.tolist()
        ).mean_reciprocal_rank
        for part in (slice(split), slice(split, None))
    )
    assert by_partner > 1.5 * by_class


def test_both_spaces_together_leave_class_map_nearly_where_it_was(data, spaces, class_embedders):
    """The partner code is as long as that allows: anything longer costs more on validation."""
    validation = Validation.of(data)
    codes = {
        name: (class_embedders[name](rows), spaces.embedders[name].partner_embedder(rows))
        for name, rows in validation.rows.items()
    }
    alone = validation.score({name: classes for name, (classes, _) in codes.items()})

    def together(weight):
        class_weight = spaces.chosen["class_weight"]
        return validation.score({name: joined(*each, class_weight, weight) for name, each in codes.items()})

    chosen = spaces.chosen["partner_weight"]
    assert chosen != PARTNER_WEIGHTS[-1]
    assert together(chosen) >= alone - TOLERATED_LOSS
    for longer in PARTNER_WEIGHTS[: PARTNER_WEIGHTS.index(chosen)]:
        assert together(longer) < alone - TOLERATED_LOSS


def test_partners_that_know_no_class_are_kept_short(data):
    """Codes of certain classes beside noise: where the noise is 0.7 long, it can no longer turn a ranking over."""
    validation, random = Validation.of(data), np.random.default_rng(0)
    codes = {
        name: (np.eye(6, dtype=np.float32)[labels.codes], unit(random.normal(size=(len(labels), 3))).astype(np.float32))
        for name, labels in validation.labels.items()
    }
    assert PARTNER_WEIGHTS[:2] == (1.0, 0.7)
    assert _partner_weight(validation, codes, 0.0) == 0.7
    nothing = {name: (noise, classes) for name, (classes, noise) in codes.items()}
    assert _partner_weight(validation, nothing, 0.0) == 1.0


def test_without_validation_the_spaces_count_as_by_default(unjudged_dataset, class_embedders):
    spaces = add_partner_space(training_data(unjudged_dataset), class_embedders, silent)
    assert spaces.chosen["class_weight"] == partner_space.CLASS_WEIGHTS[0]
    assert spaces.chosen["partner_weight"] == partner_space.UNVALIDATED_WEIGHT
    assert spaces.trials == []


def test_a_code_survives_packing(counts_dataset, spaces):
    code, rows = spaces.embedders["text"].partner_embedder, counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(unpack(*pack(code, "code"))(rows), code(rows))
