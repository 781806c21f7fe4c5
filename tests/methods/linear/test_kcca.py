import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.evaluation import mean_average_precision
from diptych.methods.linear.algebra import canonical_coordinates, cross_basis, spectrum
from diptych.methods.linear.kcca import COMPONENTS, KAPPAS, KCCA
from diptych.methods.linear.kernels import centre
from diptych.methods.model_folder import load_model, save_model
from diptych.methods.registry import create

LANDMARKS = 60


def scaled_training_rows(method, dataset):
    part = dataset.split("train")
    return {name: method.scalings_[name](part.features(name)) for name in ("image", "text")}


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_weights_fulfil_the_constraint_and_embed_training_rows_as_in_the_definition(dense_dataset, kernel):
    method = KCCA(kernel, components=5, kappa=0.05, gamma_scale=1.0, degree=2).fit(dense_dataset)
    for name, rows in scaled_training_rows(method, dense_dataset).items():
        raw = method.kernels_[name](rows, rows)
        assert np.diagonal(raw).mean() == pytest.approx(1.0)
        gram, alphas = centre(raw), method.alphas_[name]
        kappa = 0.05 * len(rows)
        np.testing.assert_allclose(alphas.T @ (gram @ gram + kappa * gram) @ alphas, np.eye(5), atol=1e-8)
        codes = method.embed(name, dense_dataset.split("train").features(name))
        np.testing.assert_allclose(codes, gram @ alphas, atol=1e-5)


def test_rbf_width_is_the_scaled_median_distance(dense_dataset):
    from scipy.spatial.distance import pdist

    method = KCCA(gamma_scale=2.0, kappa=0.1, components=3).fit(dense_dataset)
    for name, rows in scaled_training_rows(method, dense_dataset).items():
        assert method.kernels_[name].gamma == pytest.approx(1 / (2 * (2 * np.median(pdist(rows))) ** 2))


def test_linear_kernel_is_ridge_cca(dense_dataset):
    method = KCCA("linear", kappa=0.1, components=4).fit(dense_dataset)
    views = [spectrum(rows - rows.mean(axis=0)) for rows in scaled_training_rows(method, dense_dataset).values()]
    # κ n on a kernel of unit mean diagonal is a ridge of κ n · mean|x|² / (n − 1), and mean|x|² is the
    # dimension times the mean variance times (n − 1) / n.
    ridges = tuple(0.1 * view.rows.shape[1] * view.mean_variance for view in views)
    variances = tuple(view.variances for view in views)
    expected, *parts = canonical_coordinates(cross_basis(*views), variances, ridges, 4)
    np.testing.assert_allclose(method.correlations_, expected, atol=1e-10)
    for name, view, part in zip(("image", "text"), views, parts, strict=True):
        codes = method.embed(name, dense_dataset.split("train").features(name))
        theirs = view.rows @ view.weights(part)
        cosines = np.einsum("ij,ij->j", codes, theirs)
        cosines /= np.linalg.norm(codes, axis=0) * np.linalg.norm(theirs, axis=0)
        np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-6)


def test_landmarks_are_a_seeded_subset_and_all_pairs_take_part(dense_dataset):
    def fit(seed):
        return KCCA(kappa=0.05, gamma_scale=2.0, components=4, max_landmarks=LANDMARKS, seed=seed).fit(dense_dataset)

    first, again, other = fit(0), fit(0), fit(1)
    assert first.landmarks_["image"].shape == (LANDMARKS, 12)
    assert first.record_["landmarks"] == LANDMARKS
    np.testing.assert_array_equal(first.landmarks_["image"], again.landmarks_["image"])
    assert not np.array_equal(first.landmarks_["image"], other.landmarks_["image"])
    exact = KCCA(kappa=0.05, gamma_scale=2.0, components=4).fit(dense_dataset)
    np.testing.assert_allclose(first.correlations_, exact.correlations_, atol=0.08)
    codes = first.embed("image", dense_dataset.split("train").features("image"))
    np.testing.assert_allclose(codes.mean(axis=0), 0.0, atol=1e-5)


@pytest.mark.parametrize(("kernel", "shapes"), [("rbf", 3), ("poly", 2), ("linear", 1)])
def test_all_settings_are_tried_and_the_best_one_retrieves(counts_dataset, kernel, shapes):
    method = KCCA(kernel).fit(counts_dataset)
    trials = [trial["params"] for trial in method.record_["selection"]]
    settings = {tuple(sorted((k, v) for k, v in trial.items() if k != "components")) for trial in trials}
    assert len(settings) == shapes * len(KAPPAS.values)
    part = counts_dataset.split("test")
    image, text = (method.embed(name, part.features(name)) for name in ("image", "text"))
    for query, gallery in ((image, text), (text, image)):
        assert mean_average_precision(query, gallery, part.labels, part.labels) > 1.5 / len(counts_dataset.classes)


def test_the_chosen_setting_alone_gives_the_same_model(counts_dataset):
    searched = KCCA().fit(counts_dataset)
    pinned = KCCA(**searched.record_["chosen"]).fit(counts_dataset)
    assert pinned.record_["selection"] == []
    for name, alphas in searched.alphas_.items():
        np.testing.assert_allclose(pinned.alphas_[name], alphas, atol=1e-8)


def test_without_validation_defaults_are_taken_and_said(unjudged_dataset):
    method = KCCA().fit(unjudged_dataset)
    assert method.record_["chosen"]["kappa"] == KAPPAS.fallback
    assert method.record_["chosen"]["components"] == COMPONENTS.fallback
    assert "no validation split" in method.record_["selection_note"]


def test_a_vanishing_kappa_is_degenerate(dense_dataset):
    method = KCCA(kappa=1e-12, gamma_scale=0.5, components=10).fit(dense_dataset)
    np.testing.assert_allclose(method.correlations_, 1.0, atol=1e-3)


@pytest.mark.parametrize("name", ["kcca-rbf", "kcca-poly"])
def test_saved_and_loaded_it_embeds_the_same(counts_dataset, tmp_path, name):
    method = create(name, components=4).fit(counts_dataset)
    save_model(method, tmp_path / "model")
    rows = counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(load_model(tmp_path / "model").embed("text", rows), method.embed("text", rows))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "cubic"}, "kernel is 'cubic'; choose one of rbf, poly, linear"),
        ({"components": 0}, "components is 0"),
        ({"kappa": -0.1}, "kappa is -0.1"),
        ({"gamma_scale": 0.0}, "gamma_scale is 0.0; it must be above 0"),
        ({"max_landmarks": 1}, "max_landmarks is 1; it must be at least 2"),
    ],
)
def test_senseless_parameters_are_refused(counts_dataset, params, message):
    with pytest.raises(ConfigError, match=message):
        KCCA(**params).fit(counts_dataset)
