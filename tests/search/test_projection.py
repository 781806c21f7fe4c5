"""Two coordinates for every item."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index
from diptych.search.browse import projection as module
from diptych.search.browse.projection import living_projection, project, read_projection, write_projection


@pytest.fixture
def index(tmp_path):
    random = generator(0, "clusters")
    centres = np.array([[5, 0, 0, 0, 1], [0, 5, 0, 0, 1], [0, 0, 5, 0, 1]])
    rows = np.concatenate([centre + random.normal(0, 0.4, (20, 5)) for centre in centres])
    with create_index(tmp_path / "i", Identity(EmbedderId("m"), 5)) as made:
        metadata = [{"label": str(n // 20)} for n in range(60)]
        made.add([f"x{n:02d}" for n in range(60)], rows, modality=["a", "b"] * 30, metadata=metadata)
        yield made


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_clusters_stay_apart_and_the_picture_is_the_same_again(index, method, tmp_path) -> None:
    made = project(index, method)
    again = project(index, method)
    np.testing.assert_array_equal(made.positions, again.positions)
    assert made.positions.shape == (60, 2) and np.abs(made.positions).max() == pytest.approx(1)
    codes = np.array([int(label) for label in made.labels])
    centres = np.stack([made.positions[codes == code].mean(axis=0) for code in range(3)])
    nearest = np.linalg.norm(made.positions[:, None] - centres[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, codes)
    write_projection(made, tmp_path)
    kept = read_projection(tmp_path)
    assert list(kept.ids) == list(made.ids) and kept.method == method
    np.testing.assert_array_equal(kept.positions, made.positions)


def test_of_many_items_landmarks_are_laid_out_and_the_others_placed_among_them(index, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_FOR_TSNE", 50)
    monkeypatch.setattr(module, "LANDMARKS", 30)
    many = project(index)
    assert many.method == "tsne" and len(many.ids) == len(set(many.ids)) == 60
    codes = np.array([int(label) for label in many.labels])
    centres = np.stack([many.positions[codes == code].mean(axis=0) for code in range(3)])
    nearest = np.linalg.norm(many.positions[:, None] - centres[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, codes)
    assert project(index, "none") is None


def test_new_items_are_placed_among_their_kind_and_nothing_else_moves(index, tmp_path) -> None:
    made = project(index)
    write_projection(made, tmp_path)
    index.delete(["x00"])
    index.add(["new"], np.array([[0, 5, 0, 0, 1.0]]), modality="a", metadata=[{"label": "1"}])
    now = living_projection(tmp_path, index)
    assert "x00" not in now.ids and now.ids[-1] == "new" and now.labels[-1] == "1"
    np.testing.assert_array_equal(now.positions[:-1], made.positions[1:])
    mine = np.array([label == "1" for label in made.labels])
    low, high = made.positions[mine].min(axis=0), made.positions[mine].max(axis=0)
    assert (low <= now.positions[-1]).all() and (now.positions[-1] <= high).all()


def test_principal_components_are_those_of_sklearn(index) -> None:
    from sklearn.decomposition import PCA

    rows = np.stack([item.vector for item in index.get(index.list_ids(limit=60))])
    ours, theirs = module._principal(rows, 2), PCA(2).fit_transform(rows.astype(np.float64))
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6)


def test_two_items_are_no_picture(tmp_path) -> None:
    with create_index(tmp_path / "i", Identity(EmbedderId("m"), 2)) as made:
        made.add(["a", "b"], np.eye(2), modality="x")
        assert project(made) is None
    assert read_projection(tmp_path) is None
