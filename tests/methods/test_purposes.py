"""A model with two spaces gives the one that is asked for, and a model with one refuses to be asked."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.methods import create, load_model, registry, save_model
from diptych.methods.purposes import columns_of, purposes_of
from two_spaces import ENTRY


@pytest.fixture(autouse=True)
def _registered(monkeypatch) -> None:
    monkeypatch.setitem(registry._METHODS, "two-spaces", ENTRY)


@pytest.fixture
def model(counts_dataset):
    return create("two-spaces").fit(counts_dataset)


def rows_of(dataset, modality):
    return dataset.split("test").features(modality)


def test_purposes_name_the_spaces_that_are_there() -> None:
    assert purposes_of({}) == ()
    assert purposes_of({"partner": 3}) == ("partner",)
    assert purposes_of({"class": 2, "partner": 3}) == ("class", "partner", "both")


def test_columns_follow_the_order_of_the_spaces() -> None:
    row = np.arange(5)
    spaces = {"class": 2, "partner": 3}
    assert row[columns_of(spaces, "class")].tolist() == [0, 1]
    assert row[columns_of(spaces, "partner")].tolist() == [2, 3, 4]
    assert row[columns_of(spaces, "both")].tolist() == row[columns_of({}, None)].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("modality", ["image", "text"])
def test_each_purpose_takes_its_columns(model, counts_dataset, modality) -> None:
    rows = rows_of(counts_dataset, modality)
    whole = model._embed(modality, rows).astype(np.float32)
    assert model.purposes == ("class", "partner", "both")
    np.testing.assert_array_equal(model.embed(modality, rows, "both"), whole)
    np.testing.assert_array_equal(model.embed(modality, rows, purpose="class"), whole[:, :6])
    np.testing.assert_array_equal(model.embed(modality, rows, purpose="partner"), whole[:, 6:])
    np.testing.assert_array_equal(model.embed(modality, rows), whole[:, :6])
    blocks = model.embed_blocks(modality, counts_dataset.split("test").blocks(modality, 7), "partner")
    np.testing.assert_allclose(np.concatenate(list(blocks)), whole[:, 6:], atol=1e-6)
    sides = model.represent(modality, modality, rows, rows, "partner")
    np.testing.assert_array_equal(sides[1], whole[:, 6:])


def test_a_model_without_a_class_space_gives_the_one_it_has(counts_dataset) -> None:
    model = create("two-spaces", classes=False).fit(counts_dataset)
    rows = rows_of(counts_dataset, "text")
    assert model.purposes == ("partner",)
    np.testing.assert_array_equal(model.embed("text", rows), model.embed("text", rows, "partner"))
    for purpose in ("class", "both"):
        with pytest.raises(ConfigError, match=f"'two-spaces' has no class space, which the purpose '{purpose}' needs"):
            model.embed("text", rows, purpose)


def test_a_method_with_one_space_refuses_a_purpose(counts_dataset) -> None:
    model = create("cca").fit(counts_dataset)
    rows = rows_of(counts_dataset, "text")
    assert model.purposes == ()
    np.testing.assert_array_equal(model.embed("text", rows), model.embed("text", rows, "auto"))
    with pytest.raises(ConfigError, match=r"'cca' has a single space .* leave the purpose out"):
        model.embed("text", rows, "class")
    with pytest.raises(ConfigError, match="the purpose is 'twin'; choose one of auto, class, partner, both"):
        model.embed("text", rows, "twin")


def test_spaces_are_saved_in_their_order(model, counts_dataset, tmp_path) -> None:
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert list(loaded.spaces.items()) == [("class", 6), ("partner", 5)]
    rows = rows_of(counts_dataset, "image")
    np.testing.assert_array_equal(loaded.embed("image", rows, "partner"), model.embed("image", rows, "partner"))
