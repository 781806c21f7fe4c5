import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from diptych._core.errors import ConfigError
from diptych.data import SPLITS
from diptych.data.synthetic import make_synthetic


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_synthetic(tmp_path_factory.mktemp("synthetic") / "d")


def test_defaults(dataset):
    assert (len(dataset), len(dataset.classes)) == (1200, 8)
    assert {name: (m.kind, m.dimension) for name, m in dataset.modalities.items()} == {
        "image": ("dense", 64),
        "text": ("counts", 200),
    }
    assert [len(dataset.split(name)) for name in SPLITS] == [720, 180, 300]
    counts = dataset.labels.class_counts()
    assert counts.max() > 2.5 * counts.min()
    assert dataset.labels.is_labelled.all()


def test_the_seed_decides_everything(tmp_path, dataset):
    assert make_synthetic(tmp_path / "same").fingerprint == dataset.fingerprint
    assert make_synthetic(tmp_path / "other", seed=1).fingerprint != dataset.fingerprint


def dense_features(partition, modality):
    rows = partition.features(modality)
    return rows if isinstance(rows, np.ndarray) else np.log1p(rows.toarray())


def mean_average_precision(left, right, relevant):
    scores = (left / np.linalg.norm(left, axis=1, keepdims=True)) @ (
        right / np.maximum(np.linalg.norm(right, axis=1, keepdims=True), 1e-12)
    ).T
    return np.mean([average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)])


def test_unsupervised_pairs_help_and_labels_help_more(dataset):
    """Difficulty: ridge CCA lies well above chance and far from perfect, and labels are worth having."""
    train, test = dataset.split("train"), dataset.split("test")
    relevant = test.labels.shared_with(test.labels)
    seen, unseen, posterior = {}, {}, {}
    for modality in ("image", "text"):
        scaler = StandardScaler().fit(dense_features(train, modality))
        seen[modality], unseen[modality] = (scaler.transform(dense_features(p, modality)) for p in (train, test))
        classifier = LogisticRegression(C=0.01, max_iter=500).fit(seen[modality], train.labels.codes)
        posterior[modality] = classifier.predict_proba(unseen[modality])
    whiten = {}
    for modality, rows in seen.items():
        values, vectors = np.linalg.eigh(rows.T @ rows / len(rows) + 0.1 * np.eye(rows.shape[1]))
        whiten[modality] = vectors / np.sqrt(values) @ vectors.T
    left, _, right = np.linalg.svd(whiten["image"] @ seen["image"].T @ seen["text"] @ whiten["text"])
    projected = mean_average_precision(
        unseen["image"] @ whiten["image"] @ left[:, :10], unseen["text"] @ whiten["text"] @ right[:10].T, relevant
    )
    chance = relevant.mean()
    assert 2 * chance < projected < 0.6
    assert projected + 0.1 < mean_average_precision(posterior["image"], posterior["text"], relevant) < 0.95


def test_unlabelled_items_are_training_items(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=200, classes=3, unlabelled_share=0.5)
    train = dataset.split("train")
    assert int((~train.labels.is_labelled).sum()) == round(0.5 * len(train))
    for split in ("val", "test"):
        assert dataset.split(split).labels.is_labelled.all()


def test_items_lack_at_most_one_modality(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=400, classes=3, missing_share=0.3)
    lacking = np.stack([~dataset.has(name) for name in dataset.modalities])
    assert lacking.sum(axis=0).max() == 1
    assert 0.2 < lacking.any(axis=0).mean() < 0.4
    assert lacking.any(axis=1).all()


def test_several_labels(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=200, classes=5, multi_label=True)
    assert set(dataset.labels.per_item.tolist()) == {1, 2, 3}


def test_modalities_are_free(tmp_path):
    kinds = {"sound": "dense", "words": "counts", "sketch": "dense"}
    dataset = make_synthetic(tmp_path / "d", items=60, classes=2, kinds=kinds, dimensions={"sketch": 5})
    assert {name: (m.kind, m.dimension) for name, m in dataset.modalities.items()} == {
        "sound": ("dense", 64),
        "words": ("counts", 200),
        "sketch": ("dense", 5),
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes": 1}, "classes is 1"),
        ({"items": 20}, "items is 20; 8 classes need at least 80"),
        ({"unlabelled_share": 1.0}, "unlabelled_share is 1.0"),
        ({"missing_share": -0.1}, "missing_share is -0.1"),
        ({"kinds": {"image": "dense"}, "missing_share": 0.1}, "at least two modalities"),
        ({"kinds": {"image": "pixels"}}, "the kind of 'image' is 'pixels'"),
    ],
)
def test_impossible_options_are_refused(tmp_path, options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make_synthetic(tmp_path / "d", **options)
    assert list(tmp_path.iterdir()) == []
