"""An exported model has the spaces of the model it was made from."""

import json

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.experiments import evaluate_model
from diptych.export import export_model, model_card, render_card
from diptych.methods import load_model, registry
from two_spaces import ENTRY


@pytest.fixture(autouse=True)
def _registered(monkeypatch) -> None:
    monkeypatch.setitem(registry._METHODS, "two-spaces", ENTRY)


@pytest.fixture
def folders(saved, counts_dataset, tmp_path):
    model = saved("two-spaces", counts_dataset)
    export_model(model, tmp_path / "exported", dataset=counts_dataset)
    return model, tmp_path / "exported"


def test_every_purpose_is_served_as_by_the_model(folders, counts_dataset) -> None:
    model, exported = map(load_model, folders)
    assert exported.purposes == model.purposes == ("class", "partner", "both")
    assert list(exported.spaces.items()) == list(model.spaces.items())
    for modality in ("image", "text"):
        rows = counts_dataset.split("test").features(modality)
        for purpose in ("auto", *model.purposes):
            found, expected = exported.embed(modality, rows, purpose), model.embed(modality, rows, purpose)
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_export_is_measured_in_the_same_spaces(folders, counts_dataset) -> None:
    model, exported = (evaluate_model(load_model(folder), counts_dataset) for folder in folders)
    assert (exported.purpose, exported.instance_purpose) == ("class", "partner")
    assert exported.average_map == pytest.approx(model.average_map, abs=1e-4)


def test_a_model_with_one_named_space_is_exported_whole(saved, counts_dataset, tmp_path) -> None:
    model = saved("two-spaces", counts_dataset, classes=False)
    export_model(model, tmp_path / "exported")
    loaded = load_model(tmp_path / "exported")
    assert loaded.purposes == ("partner",)
    with pytest.raises(ConfigError, match="'two-spaces' has no class space"):
        loaded.embed("text", np.ones((1, 20)), "class")


def test_an_export_of_an_earlier_version_has_one_space(saved, counts_dataset, tmp_path) -> None:
    export_model(saved("cca", counts_dataset), tmp_path / "exported")
    document = tmp_path / "exported" / "model.json"
    written = json.loads(document.read_text())
    assert written.pop("spaces") == {}
    document.write_text(json.dumps(written))
    assert load_model(tmp_path / "exported").purposes == ()


def test_the_card_names_the_spaces_and_measures_both(folders, counts_dataset) -> None:
    for folder in folders:
        card = model_card(folder, dataset=counts_dataset)
        assert card["model"]["spaces"] == {"class": 6, "partner": 5}
        assert (card["figures"]["purpose"], card["figures"]["instance_purpose"]) == ("class", "partner")
        page = render_card(card)
        assert "- spaces, chosen by `--purpose`: class (6 columns) and partner (5 columns)" in page
        assert f"{card['figures']['average']['mrr']['value']:.3f}" in page
        assert "MAP is measured in the class space, MRR and R@k in the partner space" in page
