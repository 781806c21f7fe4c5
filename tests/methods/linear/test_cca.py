from pathlib import Path

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych._core.seeding import generator
from diptych.data import Draft, ModalityRows
from diptych.data.importers.wikipedia import import_wikipedia
from diptych.evaluation import mean_average_precision
from diptych.methods.linear.cca import CCA, COMPONENTS, RIDGES
from diptych.methods.model_folder import load_model, save_model
from diptych.methods.registry import create

CHANCE = 1 / len(synthetic.CLASSES)
WIKIPEDIA = Path(__file__).parents[3].parent / "shared" / "data" / "wikipedia"


def training_codes(method, dataset):
    part = dataset.split("train").having("image", "text")
    return [method.embed(name, part.features(name)) for name in ("image", "text")]


def test_map(method, dataset):
    part = dataset.split("test")
    image, text = (method.embed(name, part.features(name)) for name in ("image", "text"))
    labels = part.labels
    return mean_average_precision(image, text, labels, labels), mean_average_precision(text, image, labels, labels)


test_map.__test__ = False


@pytest.fixture(scope="module")
def wide_noise(tmp_path_factory):
    """Modalities that have nothing to do with each other, with more columns than training pairs."""
    random = generator(5, "wide noise")
    splits = ["train"] * 60 + ["test"] * 200
    rows = {
        name: ModalityRows("dense", random.normal(size=(260, width))) for name, width in (("image", 90), ("text", 70))
    }
    labels = [synthetic.CLASSES[code] for code in random.permutation(260) % len(synthetic.CLASSES)]
    ids = [str(number) for number in range(260)]
    draft = Draft("noise", ids, splits, labels, synthetic.CLASSES, rows)
    return synthetic.write(tmp_path_factory.mktemp("data") / "noise", draft)


def test_all_settings_are_tried_and_the_best_is_kept(counts_dataset):
    reports = []
    method = CCA().fit(counts_dataset, progress=lambda *report: reports.append(report))
    trials = method.record_["selection"]
    assert {trial["params"]["ridge"] for trial in trials} == set(RIDGES.values)
    assert {trial["params"]["components"] for trial in trials} == {5, 10, 12}  # 12 is all there is
    best = max(trials, key=lambda trial: trial["score"])
    assert method.record_["chosen"] == best["params"]
    assert method.embed("image", np.zeros((1, 12))).shape == (1, best["params"]["components"])
    assert [report[:3] for report in reports][-1] == ("CCA search", len(RIDGES.values), len(RIDGES.values))


def test_the_chosen_setting_alone_gives_the_same_model(counts_dataset):
    searched = CCA().fit(counts_dataset)
    pinned = CCA(**searched.record_["chosen"]).fit(counts_dataset)
    assert pinned.record_["selection"] == []
    for name, weights in searched.weights_.items():
        np.testing.assert_allclose(pinned.weights_[name], weights, atol=1e-9)


def test_the_score_of_a_trial_is_what_the_model_scores_on_validation(counts_dataset):
    method = CCA().fit(counts_dataset)
    part = counts_dataset.split("val")
    image, text = (method.embed(name, part.features(name)) for name in ("image", "text"))
    both = [mean_average_precision(q, g, part.labels, part.labels) for q, g in ((image, text), (text, image))]
    best = max(trial["score"] for trial in method.record_["selection"])
    assert np.mean(both) == pytest.approx(best, abs=2e-3)  # float32 codes may swap near ties


def test_retrieval_is_well_above_chance(counts_dataset):
    assert min(test_map(CCA().fit(counts_dataset), counts_dataset)) > 1.5 * CHANCE


def test_paper_mode_keeps_everything_and_has_unit_variance(dense_dataset):
    method = CCA("paper").fit(dense_dataset)
    assert method.record_["chosen"] == {"ridge": 0.0, "components": 12}
    image, text = training_codes(method, dense_dataset)
    np.testing.assert_allclose(np.cov(image, rowvar=False), np.eye(12), atol=1e-4)
    between = np.corrcoef(image, text, rowvar=False)[:12, 12:]
    np.testing.assert_allclose(np.diagonal(between), method.strengths_, atol=1e-4)


def test_without_a_ridge_wide_data_is_degenerate_and_retrieves_at_chance(wide_noise):
    method = CCA("paper").fit(wide_noise)
    assert len(method.strengths_) == 59
    np.testing.assert_allclose(method.strengths_, 1.0, atol=1e-8)
    assert max(test_map(method, wide_noise)) < 1.15 * CHANCE


def test_weighting_multiplies_by_powers_of_rho(dense_dataset):
    plain = CCA(ridge=0.1, components=4).fit(dense_dataset)
    weighted = CCA(ridge=0.1, components=4, weight_power=2.0).fit(dense_dataset)
    for name, weights in plain.weights_.items():
        np.testing.assert_allclose(weighted.weights_[name], weights * plain.strengths_**2, atol=1e-12)


def test_units_of_a_column_do_not_matter(tmp_path):
    draft = synthetic.draft(counts_text=False)
    scaled = ModalityRows("dense", draft.modalities["image"].values * np.logspace(-3, 3, 12))
    other = Draft(**{**vars(draft), "modalities": {**draft.modalities, "image": scaled}})
    first = CCA(ridge=0.1, components=4).fit(synthetic.write(tmp_path / "a", draft))
    second = CCA(ridge=0.1, components=4).fit(synthetic.write(tmp_path / "b", other))
    np.testing.assert_allclose(first.strengths_, second.strengths_, atol=1e-6)


@pytest.mark.parametrize("scaling", ["none", "minmax", {"text": "log1p+none"}])
def test_any_scaling_is_centred(counts_dataset, scaling):
    method = CCA(ridge=0.1, components=3, scaling=scaling).fit(counts_dataset)
    for codes in training_codes(method, counts_dataset):
        np.testing.assert_allclose(codes.mean(axis=0), 0.0, atol=1e-5)
    if isinstance(scaling, dict):
        assert {name: s.recipe for name, s in method.scalings_.items()} == {"image": "zscore", "text": "log1p+none"}


def test_items_that_lack_a_modality_are_left_out(gaps_dataset):
    assert min(test_map_of_pairs(CCA().fit(gaps_dataset), gaps_dataset)) > 1.5 * CHANCE


def test_map_of_pairs(method, dataset):
    part = dataset.split("test").having("image", "text")
    image, text = (method.embed(name, part.features(name)) for name in ("image", "text"))
    return [mean_average_precision(a, b, part.labels, part.labels) for a, b in ((image, text), (text, image))]


test_map_of_pairs.__test__ = False


def test_without_validation_defaults_are_taken_and_said(unjudged_dataset):
    method = CCA().fit(unjudged_dataset)
    assert method.record_["chosen"] == {"ridge": RIDGES.fallback, "components": COMPONENTS.fallback}
    assert "no validation split" in method.record_["selection_note"]


def test_saved_and_loaded_it_embeds_the_same(counts_dataset, tmp_path):
    method = create("cca", scaling={"text": "log1p+zscore"}).fit(counts_dataset)
    save_model(method, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    rows = counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(loaded.embed("text", rows), method.embed("text", rows))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "loose"}, "mode is 'loose'; choose one of tuned, paper"),
        ({"components": 0}, "components is 0; it must be at least 1"),
        ({"ridge": -1.0}, "ridge is -1.0; it must be at least 0"),
        ({"ridge": float("nan")}, "ridge is nan"),
        ({"mode": "paper", "ridge": 1.0}, "mode 'paper' has no ridge, and ridge is 1.0"),
        ({"scaling": {"sound": "zscore"}}, "scaling names the modality 'sound'; there are image, text"),
    ],
)
def test_senseless_parameters_are_refused(counts_dataset, params, message):
    with pytest.raises(ConfigError, match=message):
        CCA(**params).fit(counts_dataset)


def test_a_modality_that_never_varies_is_refused(tmp_path):
    draft = synthetic.draft()
    constant = ModalityRows("dense", np.ones((len(draft.ids), 3)))
    draft = Draft(**{**vars(draft), "modalities": {**draft.modalities, "image": constant}})
    with pytest.raises(FitError, match=f"'image' is the same in all {synthetic.COUNTS['train']} training pairs"):
        CCA().fit(synthetic.write(tmp_path / "constant", draft))


def test_a_single_pair_is_refused(tmp_path):
    draft = synthetic.draft(counts={"train": 1, "val": 0, "test": 23})
    with pytest.raises(FitError, match="only 1 training items have all of image, text"):
        CCA().fit(synthetic.write(tmp_path / "single", draft))


@pytest.mark.real_data
def test_wikipedia_is_where_it_was_measured(tmp_path):
    if not WIKIPEDIA.is_dir():
        pytest.skip(f"the Wikipedia features are not at {WIKIPEDIA}")
    dataset = import_wikipedia(WIKIPEDIA, tmp_path / "wikipedia")
    method = CCA().fit(dataset)
    assert {name: s.recipe for name, s in method.scalings_.items()} == {"image": "sqrt+zscore", "text": "log+zscore"}
    image_to_text, text_to_image = test_map(method, dataset)
    assert 0.24 < image_to_text < 0.30
    assert 0.20 < text_to_image < 0.25
