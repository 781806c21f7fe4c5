"""Semantic matching against scikit-learn, and what it does with gaps, classes and strengths."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych.data import Protocol
from diptych.features import fit_scaling
from diptych.methods import create, load_model, save_model
from diptych.methods.semantic.posteriors import STRENGTH_GRID


def test_codes_are_the_posteriors_of_scikit_learn(counts_dataset) -> None:
    method = create("sm", strength=0.05).fit(counts_dataset)
    train, test = counts_dataset.split("train"), counts_dataset.split("test")
    for name, kind in (("image", "dense"), ("text", "counts")):
        scaling = fit_scaling(train.features(name), kind)
        model = LogisticRegression(C=1 / (len(train) * 0.05), max_iter=500)
        model.fit(scaling(train.features(name)), train.labels.codes)
        expected = model.predict_proba(scaling(test.features(name)))
        np.testing.assert_allclose(method.embed(name, test.features(name)), expected, atol=1e-6)


def test_an_item_counts_for_the_modalities_it_has(gaps_dataset) -> None:
    method = create("sm", strength=0.05).fit(gaps_dataset)
    part = gaps_dataset.split("train").labelled().having("image")
    assert len(part) > len(part.having("text"))
    rows = fit_scaling(gaps_dataset.split("train").having("image").features("image"), "dense")(part.features("image"))
    model = LogisticRegression(C=1 / (len(part) * 0.05), max_iter=500).fit(rows, part.labels.codes)
    np.testing.assert_allclose(method.embed("image", part.features("image")), model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("name", ["sm", "scm"])
def test_chosen_strengths_are_the_best_tried_and_give_the_same_model(name: str, counts_dataset) -> None:
    method = create(name).fit(counts_dataset)
    best = max(method.record_["selection"], key=lambda trial: trial["score"])
    chosen = method.record_["chosen"]
    assert chosen == best["params"]
    again = create(name, **chosen).fit(counts_dataset)
    assert again.record_["selection"] == []
    rows = counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(again.embed("text", rows), method.embed("text", rows))


def test_each_modality_gets_a_strength_of_its_own(three_dataset) -> None:
    method = create("sm", strength={"audio": 0.3}).fit(three_dataset)
    trials = [trial["params"]["strength"] for trial in method.record_["selection"]]
    assert {trial["audio"] for trial in trials} == {0.3}
    assert {trial["image"] for trial in trials} == {trial["text"] for trial in trials} == set(STRENGTH_GRID)
    assert len(trials) == 3 * len(STRENGTH_GRID)


def test_classes_without_a_kept_label_have_posterior_zero(tmp_path) -> None:
    base = synthetic.draft()
    labels = [
        None if split == "train" and x == "music" else x for x, split in zip(base.labels, base.splits, strict=True)
    ]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels))
    rows = dataset.split("test").features("image")
    for name in ("sm", "scm"):
        codes = create(name).fit(dataset).embed("image", rows)
        np.testing.assert_array_equal(codes[:, dataset.classes.index("music")], 0.0)
        np.testing.assert_allclose(codes.sum(axis=1), 1.0, atol=1e-6)
        save_model(create(name).fit(dataset), tmp_path / name)  # minus infinity is kept
        np.testing.assert_array_equal(load_model(tmp_path / name).embed("image", rows), codes)


def test_several_labels_are_equal_shares_of_an_item(tmp_path) -> None:
    base = synthetic.draft()
    labels = [["art", "music"] if i == 5 else label for i, label in enumerate(base.labels)]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels))
    train = dataset.split("train")
    place = int(np.argmax(train.labels.per_item))
    assert train.labels.per_item[place] == 2
    model = create("sm", strength=0.01).fit(dataset)
    rows = fit_scaling(train.features("image"), "dense")(train.features("image"))
    # An item of two classes counts as half an item of each.
    twice = np.append(np.arange(len(rows)), place)
    codes = np.append(train.labels.matrix.toarray().argmax(axis=1), dataset.classes.index("music"))
    codes[place] = dataset.classes.index("art")
    halves = np.ones(len(twice))
    halves[[place, -1]] = 0.5
    naive = LogisticRegression(C=1 / (len(rows) * 0.01), max_iter=2000, tol=1e-8)
    naive.fit(rows[twice], codes, sample_weight=halves)
    np.testing.assert_allclose(model.embed("image", train.features("image")), naive.predict_proba(rows), atol=2e-3)


def test_a_modality_without_labelled_rows_is_refused(tmp_path) -> None:
    base = synthetic.draft()
    first = np.arange(len(base.ids)) < 20
    rows = base.modalities["text"]
    text = synthetic.ModalityRows(rows.kind, rows.values[~first], ~first)
    labels = [x if f or s != "train" else None for x, f, s in zip(base.labels, first, base.splits, strict=True)]
    content = synthetic.replace(base, labels=labels, modalities={**base.modalities, "text": text})
    dataset = synthetic.write(tmp_path / "data", content)
    with pytest.raises(FitError, match="no labelled training item has 'text'"):
        create("sm").fit(dataset)


@pytest.mark.parametrize(
    ("strength", "message"),
    [(0.0, "must be positive"), (-1.0, "must be positive"), ({"smell": 1.0}, "names the modality 'smell'")],
)
def test_bad_strengths_are_refused(strength, message: str, counts_dataset) -> None:
    with pytest.raises(ConfigError, match=message):
        create("sm", strength=strength).fit(counts_dataset)


def test_projections_have_unit_variance_over_the_pairs(counts_dataset) -> None:
    method = create("scm", components=4, ridge=0.1, strength=0.1).fit(counts_dataset)
    rows = counts_dataset.split("train").features("text")
    projected = method._centred("text", rows) @ method.weights_["text"]
    np.testing.assert_allclose(projected.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(projected.std(axis=0), 1.0)


def test_all_projections_know_what_the_rows_know(dense_dataset) -> None:
    """All canonical directions together span the rows; under a weak penalty the basis hardly matters."""
    rows = dense_dataset.split("test").features("image")
    plain = create("sm", strength=1e-3).fit(dense_dataset).embed("image", rows)
    projected = create("scm", components=12, ridge=1e-6, strength=1e-3).fit(dense_dataset).embed("image", rows)
    assert np.mean(plain.argmax(axis=1) == projected.argmax(axis=1)) > 0.9


def test_more_labels_help(counts_dataset) -> None:
    few = create("sm").fit(counts_dataset, Protocol(labels_per_class=1))
    many = create("sm").fit(counts_dataset)
    assert synthetic.score_on_test(few, counts_dataset) < synthetic.score_on_test(many, counts_dataset)


def test_a_kernel_tells_classes_apart_that_no_plane_divides(tmp_path) -> None:
    """One class lies around the other, in both modalities."""
    random = np.random.default_rng(0)
    base = synthetic.draft(counts={"train": 160, "val": 60, "test": 60})
    inner = np.arange(len(base.ids)) % 2 == 0
    directions = {name: random.normal(size=(len(inner), 4)) for name in ("image", "text")}
    rows = {
        name: np.where(inner, 1.0, 2.0)[:, None] * each / np.linalg.norm(each, axis=1, keepdims=True)
        for name, each in directions.items()
    }
    modalities = {name: synthetic.ModalityRows("dense", each.astype(np.float32)) for name, each in rows.items()}
    labels = ["art" if each else "music" for each in inner]
    dataset = synthetic.write(
        tmp_path / "rings", synthetic.replace(base, modalities=modalities, labels=labels, classes=("art", "music"))
    )
    kernel, plane = (synthetic.score_on_test(create(name).fit(dataset), dataset) for name in ("sm-rbf", "sm"))
    assert kernel > 0.95 and plane < 0.75


def test_kernel_posteriors_are_those_of_scikit_learns_regression_on_the_kernel(dense_dataset) -> None:
    """With every row a landmark the coordinates span the kernel: the dual problem in scikit-learn's hands."""
    model = create("sm-rbf", strength=0.1, sharpness=2.0).fit(dense_dataset)
    train, test = dense_dataset.split("train"), dense_dataset.split("test")
    scaling = fit_scaling(train.features("image"), "dense")
    rows, others = scaling(train.features("image")), scaling(test.features("image"))
    gaps = np.linalg.norm(rows[:, None] - rows[None], axis=2)[np.triu_indices(len(rows), 1)]
    gamma = 2.0 / np.median(gaps) ** 2
    middle = np.eye(len(rows)) - 1 / len(rows)
    values, vectors = np.linalg.eigh(middle @ rbf_kernel(rows, gamma=gamma) @ middle)
    kept = values > 1e-6 * values.max()
    scale = np.sqrt(rows.shape[1] * len(rows) / values[kept].sum())
    compared = rbf_kernel(others, rows, gamma=gamma) - rbf_kernel(rows, gamma=gamma).mean(axis=0)
    coordinates = scale * vectors[:, kept] * np.sqrt(values[kept])
    asked = scale * (compared @ middle @ vectors[:, kept]) / np.sqrt(values[kept])
    naive = LogisticRegression(C=1 / (len(rows) * 0.1), max_iter=2000, tol=1e-8).fit(coordinates, train.labels.codes)
    np.testing.assert_allclose(model.embed("image", test.features("image")), naive.predict_proba(asked), atol=2e-3)


def test_a_kernel_of_no_width_is_refused(dense_dataset) -> None:
    with pytest.raises(ConfigError, match=r"sharpness is 0; it must be positive"):
        create("sm-rbf", sharpness=0).fit(dense_dataset)
