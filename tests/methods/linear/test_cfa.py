import numpy as np
import pytest
from sklearn.cross_decomposition import PLSSVD

import synthetic
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.data import Draft, ModalityRows
from diptych.methods.linear.cca import CFA, cross_factors


def centred(count, width, seed):
    rows = generator(seed, "cfa").normal(size=(count, width))
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize("shape", [(80, 9, 7), (15, 40, 60), (30, 10, 90)])
def test_equals_sklearns_plssvd(shape):
    count, first, second = shape
    x, y = centred(count, first, 0), centred(count, second, 1)
    a, values, b = cross_factors(x, y, 4)
    peer = PLSSVD(n_components=4, scale=False).fit(x, y)
    signs = np.sign(np.einsum("ij,ij->j", a, peer.x_weights_))
    np.testing.assert_allclose(a * signs, peer.x_weights_, atol=1e-9)
    np.testing.assert_allclose(b * signs, peer.y_weights_, atol=1e-9)  # one sign for both
    np.testing.assert_allclose(values, np.linalg.svd(x.T @ y, compute_uv=False)[:4])


@pytest.mark.parametrize("shape", [(80, 9, 7), (15, 40, 60)])
def test_directions_are_orthonormal_and_decorrelate(shape):
    count, first, second = shape
    x, y = centred(count, first, 2), centred(count, second, 3)
    a, values, b = cross_factors(x, y, 6)
    np.testing.assert_allclose(a.T @ a, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(b.T @ b, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(a.T @ x.T @ y @ b, np.diag(values), atol=1e-8)
    assert (np.diff(values) <= 0).all()


def test_a_rotated_copy_is_brought_back_exactly():
    x = centred(50, 6, 4)
    turn = np.linalg.qr(generator(5, "turn").normal(size=(6, 6)))[0]
    a, _, b = cross_factors(x, x @ turn, 6)
    np.testing.assert_allclose(x @ a, x @ turn @ b, atol=1e-9)


def test_it_chooses_components_and_brings_pairs_closer_than_chance(tmp_path):
    draft = synthetic.draft(counts_text=False)
    twin = ModalityRows("dense", draft.modalities["image"].values[:, ::-1].copy())
    draft = Draft(**{**vars(draft), "modalities": {"image": draft.modalities["image"], "mirror": twin}})
    dataset = synthetic.write(tmp_path / "mirror", draft)
    method = CFA().fit(dataset)
    assert {trial["params"]["components"] for trial in method.record_["selection"]} == {10, 12}
    assert method.record_["chosen"]["components"] in (10, 12)
    part = dataset.split("test")
    image, mirror = (method.embed(name, part.features(name)) for name in ("image", "mirror"))
    np.testing.assert_allclose(image, mirror, atol=1e-4)


def test_nothing_to_choose_without_validation(unjudged_dataset):
    method = CFA().fit(unjudged_dataset)
    assert method.record_["chosen"] == {"components": 10}
    assert "no validation split" in method.record_["selection_note"]


def test_senseless_components_are_refused(counts_dataset):
    with pytest.raises(ConfigError, match="components is 0"):
        CFA(components=0).fit(counts_dataset)
