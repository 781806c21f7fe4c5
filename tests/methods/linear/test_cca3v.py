import numpy as np
import pytest
import scipy.linalg

import synthetic
from diptych._core.errors import FitError
from diptych.data import Draft, Labels, Protocol
from diptych.evaluation import mean_average_precision
from diptych.methods.linear.cca import CCA3V, label_view

CHANCE = 1 / len(synthetic.CLASSES)


def dense_solution(method, dataset, ridge):
    """The generalised eigenproblem written out, in the order image, text, labels."""
    part = dataset.split("train")
    rows = [method.scalings_[name](part.features(name)) for name in ("image", "text")]
    views = [values - values.mean(axis=0) for values in [*rows, part.labels.matrix.toarray().astype(float)]]
    covariance = np.cov(np.concatenate(views, axis=1), rowvar=False)
    sizes = [view.shape[1] for view in views]
    ends = np.cumsum(sizes)
    blocks = []
    for end, size in zip(ends, sizes, strict=True):
        block = covariance[end - size : end, end - size : end]
        block += ridge * np.trace(block) / size * np.eye(size)
        blocks.append(block)
    values, vectors = scipy.linalg.eigh(covariance, scipy.linalg.block_diag(*blocks))
    return values[::-1], vectors[:, ::-1], sizes


def test_equals_the_dense_generalised_eigenproblem(dense_dataset):
    method = CCA3V(components=6, ridge=0.2, power=4.0).fit(dense_dataset)
    values, vectors, sizes = dense_solution(method, dense_dataset, 0.2)
    np.testing.assert_allclose(method.strengths_, values[:6], rtol=1e-8)
    expected = vectors[:, :6] * values[:6] ** 4
    parts = {"image": expected[: sizes[0]], "text": expected[sizes[0] : sizes[0] + sizes[1]]}
    signs = np.sign(np.einsum("ij,ij->j", method.weights_["image"], parts["image"]))
    for name, part in parts.items():
        np.testing.assert_allclose(method.weights_[name] * signs, part, atol=1e-6)


def test_all_settings_are_tried_with_an_open_power(counts_dataset):
    method = CCA3V(power=None).fit(counts_dataset)
    trials = [trial["params"] for trial in method.record_["selection"]]
    assert len({(trial["ridge"], trial["power"]) for trial in trials}) == 25
    assert set(method.record_["chosen"]) == {"ridge", "power", "components"}


def test_labels_help_and_the_fit_retrieves(counts_dataset):
    part = counts_dataset.split("test")
    method = CCA3V().fit(counts_dataset)
    assert method.record_["chosen"]["power"] == 4.0
    image, text = (method.embed(name, part.features(name)) for name in ("image", "text"))
    for query, gallery in ((image, text), (text, image)):
        assert mean_average_precision(query, gallery, part.labels, part.labels) > 2 * CHANCE


def test_unlabelled_pairs_stand_at_the_mean_of_the_labels():
    view = label_view(Labels.from_sets([[0], [0, 1], [], [2]], ["a", "b", "c"]))
    np.testing.assert_allclose(view[[0, 1, 3]].sum(axis=0), 0.0, atol=1e-12)
    assert view[2].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(view[1], [1 / 3, 2 / 3, -1 / 3])


def test_withheld_labels_are_not_seen(dense_dataset):
    few = CCA3V(components=4, ridge=0.1).fit(dense_dataset, Protocol(labels_per_class=3))
    all_of_them = CCA3V(components=4, ridge=0.1).fit(dense_dataset)
    assert few.strengths_[0] < all_of_them.strengths_[0]


def test_three_modalities_and_their_labels_share_a_space(three_dataset):
    method = CCA3V().fit(three_dataset)
    part = three_dataset.split("test")
    codes = {name: method.embed(name, part.features(name)) for name in three_dataset.modalities}
    assert mean_average_precision(codes["audio"], codes["text"], part.labels, part.labels) > 2 * CHANCE


def test_several_labels_per_item_are_taken(tmp_path):
    draft = synthetic.draft()
    labels = [[label, "extra"] if place % 3 else label for place, label in enumerate(draft.labels)]
    draft = Draft(**{**vars(draft), "labels": labels, "classes": (*synthetic.CLASSES, "extra")})
    assert CCA3V().fit(synthetic.write(tmp_path / "several", draft)).is_fitted


def test_one_class_is_refused(tmp_path):
    draft = synthetic.draft()
    draft = Draft(**{**vars(draft), "labels": ["art"] * len(draft.ids), "classes": ("art",)})
    with pytest.raises(FitError, match="at least two classes"):
        CCA3V().fit(synthetic.write(tmp_path / "one", draft))
