"""Nothing a protocol withholds can be found in what a method has learned.

Weights are compared bit by bit, and no cache is used: it would find the same stage by its inputs and prove nothing.

Which labels `labels_per_class` keeps is drawn class by class, so changing a withheld label may change the draw. Two
ways round it: a dataset in which the withheld labels were deleted from disk must give the same weights as the protocol
that withholds them; and one in which they were replaced by wrong ones must too, when the draw itself is held fast.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych._core.state import pack
from diptych.data import Protocol, protocol, training_data
from diptych.methods import create
from diptych.methods.propagation import propagate

FEW = 4
CHEAP = ("sm", "jrl")
DEEP = ("cdmlmr", "cdmlmr-semi")
QUICK = {("cdmlmr", "train")}
CASES = [
    pytest.param(name, unlabelled, marks=[pytest.mark.slow] * (name in DEEP and (name, unlabelled) not in QUICK))
    for name in (*CHEAP, *DEEP)
    for unlabelled in ("none", "train", "test-features")
]
ONE_DEEP = ("cdmlmr", pytest.param("cdmlmr-semi", marks=pytest.mark.slow))


def learned(method) -> tuple[str, dict[str, bytes]]:
    """Everything learned but the record, in a form that equals only what is bit-identical."""
    state, arrays = pack({key: value for key, value in method.learned_state().items() if key != "record_"})
    return json.dumps(state), {key: value.tobytes() + str(value.dtype).encode() for key, value in arrays.items()}


def fit(name, dataset, seen):
    quick = {"profile": "fast", "device": "cpu", "cache": None} if name.startswith("cdmlmr") else {}
    return create(name, **quick).fit(dataset, seen)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """The easy dataset, with withheld and test labels deleted, with them wrong, and with one kept label wrong."""
    folder, base = tmp_path_factory.mktemp("honesty"), synthetic.draft()
    true = synthetic.write(folder / "true", base)
    train = training_data(true, Protocol(labels_per_class=FEW)).train
    kept = set(train.ids[train.labels.is_labelled].tolist())
    assert len(kept) == FEW * len(synthetic.CLASSES)
    hidden = [s == "test" or (s == "train" and i not in kept) for i, s in zip(base.ids, base.splits, strict=True)]
    following = dict(zip(synthetic.CLASSES, (*synthetic.CLASSES[1:], synthetic.CLASSES[0]), strict=True))
    one = base.ids.index(sorted(kept)[0])
    labels = {
        "deleted": [None if hide else label for hide, label in zip(hidden, base.labels, strict=True)],
        "wrong": [following[label] if hide else label for hide, label in zip(hidden, base.labels, strict=True)],
        "seen": [following[label] if place == one else label for place, label in enumerate(base.labels)],
    }
    changed = {name: synthetic.write(folder / name, replace(base, labels=each)) for name, each in labels.items()}
    return {"true": true, "mask": train.labels.is_labelled, **changed}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("name", "unlabelled"), CASES)
class TestWithheldLabels:
    def test_weights_are_those_of_a_dataset_without_them(self, name, unlabelled, datasets) -> None:
        seen = fit(name, datasets["true"], Protocol(unlabelled=unlabelled, labels_per_class=FEW))
        never = fit(name, datasets["deleted"], Protocol(unlabelled=unlabelled))
        assert learned(seen) == learned(never)

    def test_wrong_ones_change_nothing_and_a_wrong_seen_one_does(self, name, unlabelled, datasets, monkeypatch) -> None:
        monkeypatch.setattr(protocol, "_kept", lambda labels, _: datasets["mask"])
        few = Protocol(unlabelled=unlabelled, labels_per_class=FEW)
        seen, wrong, moved = (learned(fit(name, datasets[key], few)) for key in ("true", "wrong", "seen"))
        assert seen == wrong
        assert seen != moved


def propagated(dataset, seen=None) -> tuple[bytes, bytes]:
    """The propagated labels, hard and soft, bit by bit."""
    seen = seen or Protocol(labels_per_class=FEW, propagate=True)
    data, record = propagate(training_data(dataset, seen), seen)
    assert record["propagated"] == 96 - FEW * len(synthetic.CLASSES)
    return data.train.labels.codes.tobytes(), data.soft_labels.tobytes()


class TestPropagatedLabels:
    """They come from the features and pairs of training items and from the labels that are kept, and nothing else."""

    @pytest.mark.parametrize("change", ["validation labels", "test labels", "pairs", "test features"])
    def test_validation_and_test_items_leave_no_trace(self, change, counts_dataset, tmp_path) -> None:
        changed = synthetic.write(tmp_path / "d", corrupted(synthetic.draft(), change))
        assert changed.fingerprint != counts_dataset.fingerprint
        assert propagated(changed) == propagated(counts_dataset)

    def test_withheld_labels_leave_no_trace(self, datasets) -> None:
        assert propagated(datasets["true"]) == propagated(datasets["deleted"], Protocol(propagate=True))

    def test_wrong_withheld_ones_change_nothing_and_a_wrong_seen_one_does(self, datasets, monkeypatch) -> None:
        monkeypatch.setattr(protocol, "_kept", lambda labels, _: datasets["mask"])
        true, wrong, moved = (propagated(datasets[key]) for key in ("true", "wrong", "seen"))
        assert true == wrong
        assert true != moved

    @pytest.mark.parametrize("name", ["sm", "scm", "jrl", "cca3v"])
    def test_nor_in_what_a_method_learns_from_them(self, name, datasets) -> None:
        seen = fit(name, datasets["true"], Protocol(labels_per_class=FEW, propagate=True))
        assert learned(seen) == learned(fit(name, datasets["deleted"], Protocol(propagate=True)))


def corrupted(base, change):
    """Change what propagation must not see, of validation and test items."""
    following = dict(zip(synthetic.CLASSES, (*synthetic.CLASSES[1:], synthetic.CLASSES[0]), strict=True))
    splits = np.asarray(base.splits)
    if change.endswith("labels"):
        part = {"validation labels": "val", "test labels": "test"}[change]
        labels = [following[x] if s == part else x for x, s in zip(base.labels, base.splits, strict=True)]
        return replace(base, labels=labels)
    values = base.modalities["image"].values.copy()
    if change == "test features":
        values[splits == "test"] = 2 * values[splits == "test"] + 1
    for part in ("val", "test") if change == "pairs" else ():
        values[splits == part] = values[splits == part][::-1]
    image = synthetic.ModalityRows("dense", values)
    return replace(base, modalities={**base.modalities, "image": image})


@pytest.mark.parametrize("name", ["cca", "sm"])
def test_withheld_validation_labels_choose_nothing(name, datasets, tmp_path) -> None:
    few = Protocol(labels_per_class=FEW, withhold_validation=True)
    validation = training_data(datasets["true"], few).validation
    kept = set(validation.ids[validation.labels.is_labelled].tolist())
    base = synthetic.draft()
    labels = [
        None if split == "val" and item not in kept else label
        for item, split, label in zip(base.ids, base.splits, base.labels, strict=True)
    ]
    without = synthetic.write(tmp_path / "d", replace(base, labels=labels))
    seen, never = fit(name, datasets["true"], few), fit(name, without, Protocol(labels_per_class=FEW))
    assert learned(seen) == learned(never)
    assert seen.record_["selection"] == never.record_["selection"]
    assert seen.record_["selection"] != fit(name, datasets["true"], Protocol(labels_per_class=FEW)).record_["selection"]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", [*CHEAP, *ONE_DEEP])
def test_the_pairing_of_test_items_leaves_no_trace(name, counts_dataset, tmp_path) -> None:
    transductive = Protocol(unlabelled="test-features")
    other = synthetic.write(tmp_path / "d", synthetic.reverse_test_rows(synthetic.draft(), "text"))
    seen, turned = (fit(name, dataset, transductive) for dataset in (counts_dataset, other))
    assert learned(seen) == learned(turned)


def changed_test_features(base):
    values = base.modalities["text"].values.copy()
    values[np.asarray(base.splits) == "test"] += 3
    return replace(base, modalities={**base.modalities, "text": synthetic.ModalityRows("counts", values)})


@pytest.mark.usefixtures("hurried")
class TestBothSpaces:
    """The class space and the partner space of one model, inductively and with few labels."""

    @pytest.fixture
    def seen(self, counts_dataset):
        return learned(fit("cdmlmr", counts_dataset, Protocol(labels_per_class=FEW)))

    @pytest.mark.parametrize(
        "change",
        [
            synthetic.change_test_labels,
            lambda base: synthetic.reverse_test_rows(base, "text"),
            changed_test_features,
        ],
        ids=["labels", "pairs", "features"],
    )
    def test_test_items_leave_no_trace(self, seen, change, tmp_path) -> None:
        other = synthetic.write(tmp_path / "d", change(synthetic.draft()))
        assert seen == learned(fit("cdmlmr", other, Protocol(labels_per_class=FEW)))

    def test_a_training_pair_does_leave_one_in_both(self, seen, tmp_path) -> None:
        """The comparison above is of arrays of both spaces, and they can differ."""
        base = synthetic.draft()
        values = base.modalities["text"].values.copy()
        values[[0, 1]] = values[[1, 0]]
        text = synthetic.ModalityRows("counts", values)
        other = synthetic.write(tmp_path / "d", replace(base, modalities={**base.modalities, "text": text}))
        found = learned(fit("cdmlmr", other, Protocol(labels_per_class=FEW)))
        moved = {key for key, value in seen[1].items() if found[1][key] != value}
        assert any("partner_code.weights" in key for key in moved)
        assert any("class_code.tower.dbn" in key for key in moved)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ["jrl", *ONE_DEEP])
def test_the_features_of_test_items_do_leave_one_where_the_protocol_allows(name, counts_dataset) -> None:
    """The comparisons above could not fail for a method that ignores the pool."""
    assert learned(fit(name, counts_dataset, Protocol(unlabelled="test-features"))) != learned(
        fit(name, counts_dataset, Protocol())
    )


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ONE_DEEP)
def test_the_pairing_of_unlabelled_training_items_is_read_where_the_protocol_allows(name, datasets) -> None:
    few = Protocol(unlabelled="train", labels_per_class=FEW)
    apart, paired = (learned(fit(name, datasets["true"], each)) for each in (few, replace(few, use_pairs=True)))
    assert apart != paired


def blind_limit(dataset, spread: float = 4.0) -> float:
    """The MAP that random codes stay below, but for one time in ten thousand or less.

    The mean and the standard deviation are those of random codes of both modalities: chance and its sampling.
    """
    random, labels = np.random.default_rng(0), dataset.split("test").labels
    scores = []
    for _ in range(200):
        codes = [random.normal(size=(len(labels), 8)) for _ in range(2)]
        both = [synthetic.mean_average_precision(one, two, labels, labels) for one, two in (codes, codes[::-1])]
        scores.append(np.mean(both))
    return float(np.mean(scores) + spread * np.std(scores))


@pytest.mark.parametrize(
    "name", [*CHEAP, *(pytest.param(name, marks=pytest.mark.slow) for name in (*DEEP, "cdmlmr-quad"))]
)
def test_shuffled_labels_teach_nothing(name, counts_dataset, tmp_path) -> None:
    """Averaged over several shuffles the score on test is chance; with true labels it is far above."""
    limit = blind_limit(counts_dataset)
    assert limit < 1.5 * synthetic.chance_score(counts_dataset)
    blind = []
    for seed in range(5 if name in CHEAP else 1):
        noise = synthetic.write(tmp_path / str(seed), synthetic.shuffle_for_training(synthetic.draft(), seed))
        blind.append(synthetic.score_on_test(fit(name, noise, Protocol()), noise))
    informed = synthetic.score_on_test(fit(name, counts_dataset, Protocol()), counts_dataset)
    assert np.mean(blind) < limit
    assert informed > 1.5 * limit
