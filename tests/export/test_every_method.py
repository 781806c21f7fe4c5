"""Every registered method is exported and agrees with itself, or is refused with a sentence."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.experiments import evaluate_model
from diptych.export import export_model
from diptych.methods import entry, load_model, model_fingerprint, names
from diptych.methods.exported import ExportedModel

REFUSED = {"chance": "draws embeddings from a hash of each row"}
CHEAP = {"cdmlmr", "dcca"}
"""Deep methods that are tested every time; the others train as long and end in the same layers."""


def methods():
    slow = [name for name in names() if entry(name).extra and name not in CHEAP]
    kept = [name for name in names() if not entry(name).chooses]  # the others are saved as one of these
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in kept]


def rows_near(dataset, modality):
    """Rows that no check has seen: those of the dataset with noise, and counts that stay counts."""
    rows = dataset.everything.having(modality).features(modality)
    dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)
    random = generator(5, "near", modality)
    near = dense * random.normal(1.0, 0.2, dense.shape)
    for block in dataset.modalities[modality].blocks:
        if block.kind == "counts":
            columns = slice(block.start, block.stop)
            near[:, columns] = dense[:, columns] + random.poisson(1.0, dense[:, columns].shape)
    return near.astype(np.float32)


@pytest.mark.parametrize("kind", ["counts_dataset", "dense_dataset", "mixed_dataset"])
@pytest.mark.parametrize("name", methods())
def test_graphs_agree_with_the_model_or_the_method_is_refused(name, kind, saved, tmp_path, request) -> None:
    dataset = request.getfixturevalue("shared_dataset" if name == "identity" else kind)
    folder = saved(name, dataset)
    if name in REFUSED:
        with pytest.raises(ConfigError, match=REFUSED[name]):
            export_model(folder, tmp_path / "exported")
        assert list(tmp_path.iterdir()) == []
        return
    exported = export_model(folder, tmp_path / "exported", dataset=dataset)
    model, loaded = load_model(folder), load_model(tmp_path / "exported")
    assert isinstance(loaded, ExportedModel)
    assert model_fingerprint(tmp_path / "exported") == model_fingerprint(folder)
    assert (loaded.registry_name, loaded.citation) == (name, model.citation)
    assert loaded.similarity == model.similarity
    usual, machine = model.parameter_defaults(), {"cache", "device"}
    assert loaded.get_params() == {
        key: usual[key] if key in machine else value for key, value in model.get_params().items()
    }
    assert loaded.record_ == model.record_
    assert loaded.purposes == model.purposes
    whole = "both" if "both" in model.purposes else "auto"
    for modality in model.modalities:
        assert exported.checks[modality].difference <= 1e-5
        rows = rows_near(dataset, modality)
        expected, found = (each.embed(modality, rows, whole) for each in (model, loaded))
        # Not every row: a unit that was barely alive in training makes much of the last digit, in the model too.
        apart = np.abs(found - expected).max(axis=1) / np.maximum(1.0, np.abs(expected).max(axis=1))
        assert np.quantile(apart, 0.98) <= 1e-5
        assert loaded.embed(modality, rows[:0], whole).shape == (0, expected.shape[1])
        np.testing.assert_array_equal(loaded.embed(modality, csr_array(rows), whole), found)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("jrl", {"similarity_mode": "knn_vote", "neighbours": 7}),
        ("cca", {"scaling": "sqrt+zscore"}),
        ("cca", {"scaling": "tf+minmax"}),
        ("cca", {"scaling": "log1p+none"}),
        ("cca", {"scaling": "tfidf+centre"}),
        ("cca", {"scaling": "minmax"}),
    ],
)
def test_settings_reach_the_graph(name, params, saved, counts_dataset, tmp_path) -> None:
    """Each of these changes what is computed between the rows and the codes."""
    folder = saved(name, counts_dataset, **params)
    export_model(folder, tmp_path / "exported")
    model, loaded = load_model(folder), load_model(tmp_path / "exported")
    rows = rows_near(counts_dataset, "text")
    expected = model.embed("text", rows)
    np.testing.assert_allclose(loaded.embed("text", rows), expected, atol=1e-5)
    plain = load_model(saved(name, counts_dataset)).embed("text", rows)
    assert plain.shape != expected.shape or not np.allclose(plain, expected, atol=1e-3)


def test_a_graph_is_plain_onnx_from_stored_rows_to_codes(saved, counts_dataset, tmp_path) -> None:
    """The scaling is inside: whoever runs the file elsewhere feeds it rows as they are stored."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    folder = saved("cca", counts_dataset)
    export_model(folder, tmp_path / "exported")
    graph = onnx.load(tmp_path / "exported" / "text.onnx")
    onnx.checker.check_model(graph, full_check=True)
    assert [(one.name, one.type.tensor_type.shape.dim[1].dim_value) for one in graph.graph.input] == [("rows", 20)]
    assert {node.domain for node in graph.graph.node} == {""}
    model = load_model(folder)
    rows = counts_dataset.split("test").having("text").features("text").toarray().astype(np.float32)
    by_hand = np.log1p(rows.astype(np.float64)) * model.scalings_["text"].rarity
    by_hand /= np.linalg.norm(by_hand, axis=1, keepdims=True)
    by_hand = (by_hand - model.scalings_["text"].shift) / model.scalings_["text"].scale
    by_hand = (by_hand - model.centres_["text"]) @ model.weights_["text"]
    (codes,) = ReferenceEvaluator(graph).run(None, {"rows": rows})
    np.testing.assert_allclose(codes, by_hand, atol=1e-5)


def test_scores_are_those_of_the_model(saved, counts_dataset, tmp_path) -> None:
    folder = saved("cdmlmr", counts_dataset)
    export_model(folder, tmp_path / "exported")
    ours, theirs = (evaluate_model(load_model(one), counts_dataset) for one in (tmp_path / "exported", folder))
    for direction, scores in theirs.directions.items():
        assert ours.directions[direction].mean() == pytest.approx(scores.mean(), abs=1e-3)


def test_a_method_with_a_space_for_each_direction_is_not_compared_by_others(saved, counts_dataset, tmp_path) -> None:
    pytest.importorskip("torch")
    folder = saved("multimodal-dbn", counts_dataset)
    exported = export_model(folder, tmp_path / "exported")
    assert exported.by_direction
    with pytest.raises(ConfigError, match="compares other embeddings in each direction"):
        evaluate_model(load_model(tmp_path / "exported"), counts_dataset)


@pytest.mark.parametrize("name", ["cca", "cca3v", "sm", "cdmlmr", "dcca"])
def test_models_of_three_modalities_are_exported(name, saved, three_gaps_dataset, tmp_path) -> None:
    folder = saved(name, three_gaps_dataset)
    export_model(folder, tmp_path / "exported", dataset=three_gaps_dataset)
    model, loaded = load_model(folder), load_model(tmp_path / "exported")
    assert loaded.modalities == ("image", "text", "audio")
    assert {path.name for path in (tmp_path / "exported").glob("*.onnx")} == {"image.onnx", "text.onnx", "audio.onnx"}
    whole = "both" if "both" in model.purposes else "auto"
    for modality in model.modalities:
        rows = rows_near(three_gaps_dataset, modality)
        np.testing.assert_allclose(loaded.embed(modality, rows, whole), model.embed(modality, rows, whole), atol=2e-4)
