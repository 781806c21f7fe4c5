"""Models that were saved when CDMLMR trained in stages open under their names and give the codes they gave."""

import json
import subprocess
import sys

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.methods import create, load_model, method_class, save_model
from diptych.methods.deep.cdmlmr_staged import StagedCDMLMR
from diptych.methods.deep.cmdn import BaseNetwork

pytestmark = pytest.mark.usefixtures("hurried")

LOSSES = {"cdmlmr": "both", "cdmlmr-semi": "contrastive", "cdmlmr-quad": "quadruplet"}


def edit(folder, **changes):
    body = json.loads((folder / "model.json").read_text())
    body.pop("checksum", None)  # which former versions did not write
    (folder / "model.json").write_text(json.dumps(body | changes))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def former(counts_dataset, cache, tmp_path):
    """A model as its former class saved it: the model itself, and its folder."""

    def saved(name):
        if name == "base":
            model = BaseNetwork("fast", cache=cache)
        else:
            model = create("cdmlmr-staged", losses=LOSSES[name], profile="fast", seed=3, centred=False, cache=cache)
        model.fit(counts_dataset)
        model.registry_name = "cdmlmr-staged" if name != "base" else "base"
        save_model(model, tmp_path / name)
        edit(tmp_path / name, method=name)
        return model, tmp_path / name

    return saved


@pytest.mark.parametrize("name", ["base", *LOSSES])
def test_the_codes_are_the_same(name, former, counts_dataset):
    model, folder = former(name)
    loaded = load_model(folder)
    assert type(loaded) is method_class(name)
    assert loaded.registry_name == name
    assert loaded.purposes == ()
    for modality in ("image", "text"):
        rows = counts_dataset.split("test").features(modality)
        np.testing.assert_array_equal(loaded.embed(modality, rows), model.embed(modality, rows))


def test_parameters_that_are_gone_or_meant_something_else_are_kept_in_the_record(former, tmp_path, counts_dataset):
    model, folder = former("cdmlmr-quad")
    loaded = load_model(folder)
    now = loaded.parameter_defaults()
    same = {"losses": "quadruplet", "profile": "fast", "seed": 3, "device": "auto", "cache": model.cache}
    assert loaded.get_params() == now | same
    former_parameters = loaded.record_["former_parameters"]
    assert set(former_parameters) == set(StagedCDMLMR.parameter_defaults()) - set(same)
    assert former_parameters["centred"] is False
    assert former_parameters["contrastive_margin"] is None  # a number now
    save_model(loaded, tmp_path / "again")
    again = load_model(tmp_path / "again")
    assert again.record_["former_parameters"] == former_parameters
    rows = counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(again.embed("text", rows), model.embed("text", rows))


def test_a_model_of_today_is_not_taken_for_a_former_one(counts_dataset, cache, tmp_path):
    model = create("cdmlmr", profile="fast", cache=cache, steps=4, mixup=0.2).fit(counts_dataset)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert "former_parameters" not in loaded.record_


def test_parameters_that_no_version_had_are_refused(former):
    _, folder = former("cdmlmr")
    edit(folder, params={"centred": True, "colour": "red"})
    with pytest.raises(ConfigError, match="has no parameter 'colour'"):
        load_model(folder)


def test_a_process_that_has_imported_nothing_else_can_open_one(former, counts_dataset, tmp_path):
    """What the frozen layers need is there as soon as the method is."""
    model, folder = former("cdmlmr")
    rows = counts_dataset.split("test").features("image")
    np.save(tmp_path / "rows.npy", rows)
    program = (
        "import sys, numpy as np; from diptych.methods import load_model;"
        "codes = load_model(sys.argv[1]).embed('image', np.load(sys.argv[2])); np.save(sys.argv[3], codes)"
    )
    arguments = [str(folder), str(tmp_path / "rows.npy"), str(tmp_path / "codes.npy")]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, timeout=300)
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), model.embed("image", rows))
