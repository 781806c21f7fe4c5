"""What a card says is what is so: figures of the evaluation, choices of the record, counts of the dataset."""

import json

import pytest

from diptych._core.errors import DataError
from diptych.data import Protocol
from diptych.experiments import evaluate_model, model_block
from diptych.export import export_model, model_card
from diptych.methods import create, load_model, model_fingerprint, save_model
from diptych.search import build_index
from search.gallery import make


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    """`dataset`, `model`, `index` and `exported`, of real pictures and words."""
    pytest.importorskip("faiss", reason="the extra 'search' is not installed")
    folder = tmp_path_factory.mktemp("fields")
    dataset = make(folder, components=4)
    build_index(folder / "model", dataset, folder / "index", projection="none")
    export_model(folder / "model", folder / "exported")
    return folder, dataset


def test_figures_are_those_of_the_evaluation(saved, counts_dataset) -> None:
    folder = saved("cca", counts_dataset)
    figures = model_card(folder, dataset=counts_dataset)["figures"]
    model = load_model(folder)
    block = json.loads(json.dumps(model_block(model, counts_dataset, evaluate_model(model, counts_dataset))))
    assert list(figures["directions"]) == ["image->text", "text->image"]
    for name, found in figures["directions"].items():
        for measure in ("map", "map_ci95", "map@50", "map@50_ci95", "queries", "gallery", "per_class"):
            assert found[measure] == block[name][measure], (name, measure)
        assert found["chance"] == {key: block[name]["chance"][key] for key in ("map", "map@50")}
    for measure in ("map", "map_ci95", "map@50", "map@50_ci95", "chance"):
        assert figures["average"][measure] == block["average"][measure]
    assert figures["split"] == "test"
    assert figures["dataset"]["fingerprint"] == counts_dataset.fingerprint


def test_what_nobody_measured_is_not_known(saved, counts_dataset) -> None:
    card = model_card(saved("cca", counts_dataset))
    assert (card["figures"], card["calibration"], card["export"]) == (None, None, None)
    assert card["data"]["splits"] is None and card["data"]["labelled"] is None
    assert any(words.startswith("No figures are known") for words in card["limits"])


def test_parameters_and_choices_come_from_the_record(saved, counts_dataset) -> None:
    folder = saved("cca", counts_dataset)
    model, found = load_model(folder), model_card(folder)["parameters"]
    assert found["given"] == model.get_params()
    assert found["chosen"] == model.record_["chosen"]
    assert found["trials"] == len(model.record_["selection"]) > 1
    assert found["validation_map"] == max(trial["score"] for trial in model.record_["selection"])


def test_the_machine_is_not_on_the_card(saved, counts_dataset) -> None:
    """Where stages were cached and which device trained is nobody's business."""
    pytest.importorskip("torch")
    card = model_card(saved("dcca", counts_dataset))
    assert not {"cache", "device"} & card["parameters"]["given"].keys()
    assert {"profile", "seed"} <= card["parameters"]["given"].keys()


def test_data_are_counted(saved, gaps_dataset) -> None:
    data = model_card(saved("cca", gaps_dataset), dataset=gaps_dataset)["data"]
    assert (data["name"], data["fingerprint"]) == (gaps_dataset.name, gaps_dataset.fingerprint)
    assert data["classes"] == list(gaps_dataset.classes)
    for split, counts in data["splits"].items():
        part = gaps_dataset.split(split)
        assert counts == {name: len(part.having(name)) for name in ("image", "text")}
        assert data["labelled"][split] == len(part.labelled())
    assert data["labelled"]["train"] < len(gaps_dataset.split("train"))
    assert data["features"] is None and data["pipeline"] is None


def test_another_dataset_gives_figures_but_no_sizes(saved, counts_dataset, gaps_dataset) -> None:
    card = model_card(saved("cca", counts_dataset), dataset=gaps_dataset)
    assert card["data"]["fingerprint"] == counts_dataset.fingerprint
    assert card["data"]["splits"] is None
    assert card["figures"]["dataset"]["fingerprint"] == gaps_dataset.fingerprint
    assert any("another dataset than it was fitted on" in words for words in card["limits"])


def test_the_protocol_says_what_was_allowed_and_what_was_read(counts_dataset, tmp_path) -> None:
    protocol = Protocol(unlabelled="train", labels_per_class=3)
    save_model(create("jrl", sparsity=1.0, graph=1.0).fit(counts_dataset, protocol), tmp_path / "model")
    found = model_card(tmp_path / "model")["protocol"]
    assert found["might_see"] == protocol.describe()
    assert found["saw"] == "pairs + labels + unlabelled training features"
    assert (found["unlabelled"], found["labels_per_class"], found["use_pairs"]) == ("train", 3, False)


def test_raw_pictures_and_words_are_described(fields) -> None:
    folder, dataset = fields
    data = model_card(folder / "model", dataset=dataset)["data"]
    assert data["features"]["image"] == {"medium": "image", "features": "colour-moments"}
    assert data["features"]["text"] == {"medium": "text", "features": "bow:30"}
    assert data["pipeline"] == dataset.pipeline_fingerprint
    assert data["attribution"] == "Painted by nobody."


def test_an_index_adds_its_calibration_and_its_counts(fields) -> None:
    folder, dataset = fields
    card = model_card(folder / "model", index=folder / "index")
    written = json.loads((folder / "index" / "calibration.json").read_text())
    ours = {(one["query"], one["gallery"]): one for one in card["calibration"]["directions"]}
    assert len(ours) == len(written["directions"]) > 0
    for one in written["directions"]:
        found = ours[one["query"], one["gallery"]]
        assert (found["pairs"], found["relevant_share"]) == (one["pairs"], one["relevant_share"])
        assert found["error_top_10"] == one["test"]["top_10"]["error"]
        assert found["error_all_pairs"] == one["test"]["all_pairs"]["error"]
    assert card["data"]["splits"]["test"]["image"] == len(dataset.split("test"))
    assert card["data"]["attribution"] == "Painted by nobody."


def test_the_index_of_another_model_is_refused(fields, saved, counts_dataset) -> None:
    folder, _ = fields
    other = saved("cca", counts_dataset)
    with pytest.raises(DataError, match=rf"built with model {model_fingerprint(folder / 'model')}, and .* is "):
        model_card(other, index=folder / "index")


def test_an_export_has_the_card_of_its_model(fields) -> None:
    folder, dataset = fields
    ours, theirs = (model_card(folder / one, dataset=dataset, index=folder / "index") for one in ("exported", "model"))
    for part in ("model", "parameters", "data", "protocol", "calibration", "versions"):
        assert ours[part] == theirs[part], part
    for name, found in theirs["figures"]["directions"].items():
        assert ours["figures"]["directions"][name]["map"] == pytest.approx(found["map"], abs=1e-4)
    assert theirs["export"] is None
    assert max(ours["export"]["largest_difference"].values()) <= 1e-5
    assert {"onnx", "onnxruntime"} <= ours["export"]["versions"].keys()
    assert [words for words in theirs["limits"] if words not in ours["limits"]] == []
    assert any("neither fitted further nor exported again" in words for words in ours["limits"])


def test_an_encoders_file_is_named_without_its_folder() -> None:
    from diptych.export.pipeline_export import without_folders

    assert without_folders("onnx:/home/someone/models/clip.onnx+colour-moments") == "onnx:clip.onnx+colour-moments"
    assert without_folders("bow:1000") == "bow:1000"
