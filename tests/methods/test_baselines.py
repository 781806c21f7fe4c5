"""Features that already share a space: nothing learned, rows compared as they are."""

import numpy as np
import pytest
import scipy.sparse as sp

import synthetic
from diptych._core.errors import ConfigError, DataError, FitError
from diptych.data import ModalityRows
from diptych.evaluation import evaluate_instances
from diptych.methods import create, load_model, save_model
from diptych.methods.baselines import Identity
from diptych.methods.training_inputs import without_labels


def test_embeddings_are_the_features_at_length_one(shared_dataset) -> None:
    method = create("identity").fit(shared_dataset)
    for name in ("image", "text"):
        rows = shared_dataset.split("test").features(name)
        expected = [row / np.sqrt((row.astype(np.float64) ** 2).sum()) for row in rows]
        np.testing.assert_allclose(method.embed(name, rows), expected, atol=1e-6)
    assert method.embed("image", np.zeros((1, 12))).tolist() == [[0.0] * 12]


def test_it_says_that_it_saw_nothing_and_serves_the_partner_purpose(shared_dataset) -> None:
    method = create("identity").fit(shared_dataset)
    assert method.record_["saw"] == "nothing"
    assert method.purposes == ("partner",)


def test_zero_shot_search_works_without_labels_and_without_pairs(tmp_path) -> None:
    """Every training item lacks one of the modalities and has no label; test partners are found all the same."""
    base = synthetic.draft(shared=True)
    place, training = np.arange(len(base.ids)), np.asarray(base.splits) != "test"
    modalities = {}
    for parity, (name, rows) in enumerate(base.modalities.items()):
        present = ~training | (place % 2 == parity)
        modalities[name] = ModalityRows(rows.kind, rows.values[present], present)
    bare = synthetic.replace(base, modalities=modalities, labels=[None] * len(place), classes=())
    dataset = synthetic.write(tmp_path / "bare", bare)
    method = create("identity").fit(dataset)
    test = dataset.split("test")
    embedded = [method.embed(name, test.features(name)) for name in ("image", "text")]
    found = evaluate_instances(*embedded, test.documents.tolist(), test.documents.tolist())
    assert found.mean_reciprocal_rank > 0.8


def test_unequal_widths_are_refused_with_what_to_do(counts_dataset) -> None:
    with pytest.raises(FitError, match=r"image has 12, text has 20.*onnx:DIR.*such as 'auto'"):
        create("identity").fit(counts_dataset)
    assert Identity.unsuited({"image": 512, "text": 512}) is None
    assert "image has 512, text has 384" in Identity.unsuited({"image": 512, "text": 384})


def test_a_saved_model_opens(shared_dataset, tmp_path) -> None:
    method = create("identity").fit(shared_dataset)
    save_model(method, tmp_path / "model")
    rows = shared_dataset.split("test").features("text")
    np.testing.assert_array_equal(load_model(tmp_path / "model").embed("text", rows), method.embed("text", rows))


def partner_mrr(method, dataset) -> float:
    test = dataset.split("test")
    embedded = [method.embed(name, test.features(name), "partner") for name in ("image", "text")]
    return evaluate_instances(*embedded, test.documents.tolist(), test.documents.tolist()).mean_reciprocal_rank


@pytest.fixture(scope="module")
def clip_like(tmp_path_factory):
    """Wide features that share a space, apart by an offset each, and few pairs to learn from."""
    random = np.random.default_rng(2)
    counts = {"train": 60, "val": 60, "test": 120}
    base = synthetic.draft(shared=True, counts=counts)
    latent = random.normal(size=(len(base.ids), 64))
    modalities = {
        name: ModalityRows("dense", (latent + shift + 1.1 * random.normal(size=latent.shape)).astype(np.float32))
        for name, shift in (("image", 1.5), ("text", random.normal(size=64)))
    }
    folder = tmp_path_factory.mktemp("clip") / "data"
    return synthetic.write(folder, synthetic.replace(base, modalities=modalities))


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_cdmlmr_on_top_of_shared_features_keeps_what_they_find(clip_like) -> None:
    """Sixty pairs teach canonical projections less than the encoders know; the partner space takes the features."""
    zero_shot = partner_mrr(create("identity").fit(clip_like), clip_like)
    method = create("cdmlmr", cache=None).fit(clip_like)
    assert method.record_["chosen"]["features"] == 1.0
    assert partner_mrr(method, clip_like) >= 0.98 * zero_shot
    assert {"class", "partner"} == set(method.spaces)
    tried = [trial["params"] for trial in method.record_["partner_selection"]]
    assert {"features": 1.0, "centred": 0.0} in tried and {"features": 1.0, "centred": 1.0} in tried


@pytest.mark.usefixtures("hurried")
def test_features_that_share_no_space_are_tried_and_passed_over(tmp_path) -> None:
    base = synthetic.draft(counts_text=False)
    text = base.modalities["text"]
    equal = {**base.modalities, "text": ModalityRows("dense", text.values[:, :12])}
    dataset = synthetic.write(tmp_path / "equal", synthetic.replace(base, modalities=equal))
    chosen = create("cdmlmr", cache=None).fit(dataset).record_["chosen"]
    assert "features" not in chosen and chosen["ridge"] > 0


def test_labels_can_be_taken_away(counts_dataset) -> None:
    from diptych.data import training_data

    bare = without_labels(training_data(counts_dataset))
    assert not bare.train.labels.is_labelled.any() and not bare.validation.labels.is_labelled.any()
    assert len(bare.train) == len(counts_dataset.split("train"))


@pytest.fixture(scope="module")
def chance(counts_dataset):
    return create("chance").fit(counts_dataset)


def test_scores_scatter_around_the_expectation(counts_dataset) -> None:
    scores = [synthetic.score_on_test(create("chance", seed=s).fit(counts_dataset), counts_dataset) for s in range(30)]
    error = np.std(scores, ddof=1) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - synthetic.chance_score(counts_dataset)) < 4 * error


def test_codes_depend_on_content_seed_and_modality(counts_dataset, chance) -> None:
    rows = np.arange(24.0).reshape(2, 12)
    codes = chance.embed("image", rows)
    np.testing.assert_array_equal(chance.embed("image", rows[::-1]), codes[::-1])
    changed = rows.copy()
    changed[0, 3] += 1e-3
    assert not np.isclose(chance.embed("image", changed)[0], codes[0], atol=1e-3).any()
    assert not np.isclose(create("chance", seed=1).fit(counts_dataset).embed("image", rows), codes, atol=1e-6).all()


def test_sparse_dense_and_negative_zero_are_one_content(chance) -> None:
    rows = np.zeros((1, 20))
    rows[0, 4] = 2.0
    np.testing.assert_array_equal(chance.embed("text", rows), chance.embed("text", sp.csr_array(rows)))
    signed = rows.copy()
    signed[0, 0] = -0.0
    np.testing.assert_array_equal(chance.embed("text", rows), chance.embed("text", signed))


def test_values_are_uniform(chance) -> None:
    codes = chance.embed("image", np.random.default_rng(0).normal(size=(2000, 12)))
    assert codes.min() >= -1
    assert codes.max() <= 1
    assert np.abs(codes.mean(axis=0)).max() < 0.06
    np.testing.assert_allclose(codes.var(axis=0), 1 / 3, atol=0.03)


def test_numbers_too_large_for_singles_are_refused(chance) -> None:
    with pytest.raises(DataError, match=r"row 0, column 0 of 'image' is 1e\+300: that is beyond what float32 can hold"):
        chance.embed("image", np.full((1, 12), 1e300))


def test_dimensions_are_checked(counts_dataset) -> None:
    assert create("chance", dimensions=3).fit(counts_dataset).embed("image", np.zeros((2, 12))).shape == (2, 3)
    with pytest.raises(ConfigError, match="dimensions is 0"):
        create("chance", dimensions=0).fit(counts_dataset)
