"""Features are probed as an independent logistic regression would tell their classes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import synthetic
from diptych._core.errors import DataError
from diptych.cli.main import app
from diptych.experiments import probe_features
from diptych.experiments.probe import ALL
from diptych.ingest import IngestOptions, ingest
from search.gallery import png


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Coloured pictures described by two features side by side, one of which tells colours and one only edges."""
    folder = tmp_path_factory.mktemp("probed")
    pictures = folder / "pictures"
    for split, count in (("train", 8), ("val", 4), ("test", 4)):
        for colour in ("red", "green", "blue"):
            for number in range(count):
                path = pictures / split / colour / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(colour, f"{split} {number}"))
    features = {"image": "colour-moments+edge-direction"}
    return ingest(IngestOptions(pictures, folder / "data", features=features)).dataset


def test_each_modality_is_probed_as_scikit_learn_would(tmp_path):
    dataset = synthetic.write(tmp_path / "data", synthetic.draft(counts_text=False))
    probed = probe_features(dataset)
    assert [(probe.modality, probe.name) for probe in probed.probes] == [("image", ALL), ("text", ALL)]
    for probe in probed.probes:
        train, test = (dataset.split(name).having(probe.modality).labelled() for name in ("train", "test"))
        scaler = StandardScaler().fit(train.features(probe.modality))
        model = LogisticRegression(C=1 / (len(train) * probe.strength), max_iter=5000)
        model.fit(scaler.transform(train.features(probe.modality)), train.labels.codes)
        told = model.predict(scaler.transform(test.features(probe.modality)))
        assert probe.accuracy == pytest.approx(accuracy_score(test.labels.codes, told))
        assert probe.balanced == pytest.approx(balanced_accuracy_score(test.labels.codes, told))
        assert probe.interval[0] < probe.accuracy < probe.interval[1] or probe.accuracy == 1
        assert probe.items == len(test)
    frequent = np.bincount(dataset.split("train").labelled().labels.codes).argmax()
    assert probed.chance == pytest.approx(np.mean(dataset.split("test").labelled().labels.codes == frequent))


def test_every_descriptor_is_probed_alone(gallery):
    probed = probe_features(gallery)
    found = {probe.name: probe for probe in probed.probes if probe.modality == "image"}
    assert next(iter(found)) == ALL
    assert sum(probe.columns for name, probe in found.items() if name != ALL) == found[ALL].columns
    colour = next(probe for name, probe in found.items() if "moment" in name)
    assert colour.accuracy == 1.0
    assert probed.features["image"] == "colour-moments+edge-direction"


def test_the_penalty_is_chosen_on_validation_whatever_is_measured(gallery):
    on_validation, on_test = probe_features(gallery, split="val"), probe_features(gallery)
    assert [probe.strength for probe in on_validation.probes] == [probe.strength for probe in on_test.probes]
    assert all(probe.accuracy == probe.validation for probe in on_validation.probes)


def test_the_command_prints_a_table_and_json(gallery):
    shown = CliRunner().invoke(app, ["probe", str(gallery.path)])
    assert shown.exit_code == 0
    assert "most frequent class" in shown.stdout
    found = CliRunner().invoke(app, ["probe", str(gallery.path), "--json"])
    assert json.loads(found.stdout) == [probe_features(gallery).to_json()]
    page = CliRunner().invoke(app, ["probe", str(gallery.path), str(gallery.path), "--markdown"]).stdout
    probe = probe_features(gallery).probes[0]
    assert page.count(f"| image | {ALL} | {probe.columns} | {probe.accuracy:.3f} (") == 2


def test_what_cannot_be_probed_is_told(tmp_path):
    draft = synthetic.draft()
    bare = [None if split == "test" else label for split, label in zip(draft.splits, draft.labels, strict=True)]
    unlabelled = synthetic.write(tmp_path / "unlabelled", replace(draft, labels=bare))
    with pytest.raises(DataError, match="no labelled item of the split 'test' has 'image'"):
        probe_features(unlabelled)
    several = [[label, draft.classes[0]] for label in draft.labels]
    with pytest.raises(DataError, match="carries 2 labels"):
        probe_features(synthetic.write(tmp_path / "several", replace(draft, labels=several)))
