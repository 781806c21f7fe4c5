"""CCA of three modalities against its definitions: the sum of projectors, another library, and items that lack some."""

import numpy as np
import pytest
import scipy.linalg

import synthetic
from diptych._core.errors import FitError
from diptych._core.seeding import generator
from diptych.data import Dataset, ModalityRows
from diptych.methods.linear.algebra import multiview_coordinates, spectrum
from diptych.methods.linear.cca import CCA, CCA3V, correlations_of

WIDTHS = (7, 5, 4)


def drawn(items=120, widths=WIDTHS, seed=0, noise=0.6):
    """Centred views of a hidden cause of three numbers."""
    random = generator(seed, "views")
    cause = random.normal(size=(items, 3))
    views = [cause @ random.normal(size=(3, width)) + noise * random.normal(size=(items, width)) for width in widths]
    return [view - view.mean(axis=0) for view in views]


def solved(views, ridge=0.0, components=3, present=None):
    """Correlations and the weights of each view."""
    axes = [spectrum(view, exact=True) for view in views]
    present = present or [np.ones(len(view), bool) for view in views]
    values, parts = correlations_of(axes, present)([ridge] * len(views), components)
    return values, [view.weights(part) for view, part in zip(axes, parts, strict=True)]


def test_the_directions_are_the_eigenvectors_of_the_sum_of_projectors():
    views = drawn()
    projectors = [view @ np.linalg.inv(view.T @ view) @ view.T for view in views]
    values, vectors = np.linalg.eigh(sum(projectors))
    correlations, weights = solved(views)
    np.testing.assert_allclose(correlations, (values[::-1][:3] - 1) / 2, rtol=1e-9)
    together = sum(view @ weight for view, weight in zip(views, weights, strict=True))
    together /= np.linalg.norm(together, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(together * vectors[:, ::-1][:, :3], axis=0)), 1.0, rtol=1e-9)
    for view, weight, projector in zip(views, weights, projectors, strict=True):
        expected = projector @ vectors[:, ::-1][:, :3]  # each view tells what it can of the common direction
        found = view @ weight
        cosines = np.sum(found * expected, axis=0) / np.linalg.norm(found, axis=0) / np.linalg.norm(expected, axis=0)
        np.testing.assert_allclose(np.abs(cosines), 1.0, rtol=1e-9)


@pytest.mark.parametrize(("name", "shrinkage"), [("GCCA", 0.0), ("MCCA", 0.0), ("MCCA", 0.3)])
def test_equals_cca_zoo(name, shrinkage):
    """With a ridge its GCCA is another problem, where the ridge is in the projectors and not in the covariances."""
    zoo = pytest.importorskip("cca_zoo.linear")
    views = drawn(seed=1)
    other = getattr(zoo, name)(n_components=3, shrinkage=shrinkage).fit(views)
    # (1 - c) S + c I is, but for a factor, S with a ridge of c / (1 - c)
    _, weights = solved(views, shrinkage / (1 - shrinkage))
    for mine, theirs in zip(weights, other.weights_, strict=True):
        ratio = mine / theirs
        np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-5)


def test_two_views_are_ordinary_cca():
    views = drawn(widths=(7, 5))
    axes = [spectrum(view) for view in views]
    full = [np.ones(len(view), bool) for view in views]
    correlations, parts = correlations_of(axes, full)([0.2, 0.1], 3)
    values, several = multiview_coordinates(axes, [0.2, 0.1], 3)
    np.testing.assert_allclose(correlations, values - 1, rtol=1e-10)
    for one, other in zip(parts, several, strict=True):
        np.testing.assert_allclose(np.abs(one), np.sqrt(2) * np.abs(other), atol=1e-9)


def with_holes(views, seed=0):
    """The rows that every view keeps, and which; each item has at least two views, and some items have all."""
    random = generator(seed, "holes")
    lacking = random.integers(-1, len(views), size=len(views[0]))
    present = [lacking != place for place in range(len(views))]
    kept = [view[has] for view, has in zip(views, present, strict=True)]
    return [view - view.mean(axis=0) for view in kept], present


def test_items_that_lack_views_against_the_problem_written_out():
    """Maximise Σ_i Σ_m z_im · (mean of the item's other z_il), for Σ_im z_im² + ridge = 1: one loop over items."""
    views, present = with_holes(drawn(seed=3))
    ridges = [0.3, 0.2, 0.1]
    axes = [spectrum(view, exact=True) for view in views]
    correlations, parts = correlations_of(axes, present)(ridges, 3)
    ends = np.cumsum(WIDTHS)
    blocks = [slice(end - width, end) for end, width in zip(ends, WIDTHS, strict=True)]
    agreement, total = np.zeros((sum(WIDTHS), sum(WIDTHS))), np.zeros((sum(WIDTHS), sum(WIDTHS)))
    row_of = [np.cumsum(has) - 1 for has in present]
    for item in range(len(present[0])):
        have = [place for place in range(3) if present[place][item]]
        for a in have:
            x = views[a][row_of[a][item]] / np.sqrt(len(views[a]) - 1)
            total[blocks[a], blocks[a]] += np.outer(x, x)
            for b in have:
                if a != b:
                    y = views[b][row_of[b][item]] / np.sqrt(len(views[b]) - 1)
                    agreement[blocks[a], blocks[b]] += np.outer(x, y) / (len(have) - 1)
    for block, width, ridge in zip(blocks, WIDTHS, ridges, strict=True):
        total[block, block] += ridge * np.eye(width)
    values, vectors = scipy.linalg.eigh(agreement, total)
    np.testing.assert_allclose(correlations, values[::-1][:3], rtol=1e-9)
    for axis, part, block in zip(axes, parts, blocks, strict=True):
        weights = axis.weights(part)
        expected = vectors[block][:, ::-1][:, :3]
        np.testing.assert_allclose(np.abs(weights), np.abs(expected), rtol=1e-6, atol=1e-9)
    assert (correlations <= 1).all()


def test_where_nothing_lacks_masks_change_nothing():
    views = drawn(seed=4)
    axes = [spectrum(view) for view in views]
    every = [np.ones(len(view), bool) for view in views]
    plain, masked = multiview_coordinates(axes, [0.1] * 3, 3), multiview_coordinates(axes, [0.1] * 3, 3, every)
    np.testing.assert_array_equal(plain[0], masked[0])
    hole = [each.copy() for each in every]
    views[2], hole[2][0] = views[2][1:], False
    values, _ = multiview_coordinates([*axes[:2], spectrum(views[2] - views[2].mean(axis=0))], [0.1] * 3, 3, hole)
    np.testing.assert_allclose(values, plain[0], rtol=0.05)  # one item among many


@pytest.fixture(scope="module")
def sparse_audio(tmp_path_factory):
    """Three modalities, the third for every fourth item only."""
    base = synthetic.draft(("image", "text", "audio"), seed=2, counts={"train": 160, "val": 60, "test": 80})
    present = np.arange(len(base.ids)) % 4 == 0
    audio = base.modalities["audio"]
    rows = {**base.modalities, "audio": ModalityRows(audio.kind, audio.values[present], present)}
    return synthetic.write(tmp_path_factory.mktemp("data") / "sparse", synthetic.replace(base, modalities=rows))


@pytest.mark.parametrize("method", [CCA(), CCA3V()], ids=["cca", "cca3v"])
def test_a_rare_modality_is_joined_through_the_items_that_have_it(method, sparse_audio):
    method.fit(sparse_audio)
    for pair in (("image", "text"), ("image", "audio"), ("audio", "text")):
        assert synthetic.score_on_test(method, sparse_audio, pair) > 1.5 * synthetic.chance_score(sparse_audio)


def test_two_of_three_modalities_teach_what_they_can(sparse_audio):
    """Image and text correspond as well as without the third modality: three quarters of the items lack it."""
    alone = CCA(ridge=0.1, components=5).fit(sparse_audio, modalities=("image", "text"))
    among = CCA(ridge=0.1, components=5).fit(sparse_audio)
    score = synthetic.score_on_test(among, sparse_audio)
    assert score > 0.95 * synthetic.score_on_test(alone, sparse_audio)
    everything = sparse_audio.split("train").having("image", "text", "audio")
    few = np.isin(sparse_audio.split("train").index, everything.index).mean()
    assert few == pytest.approx(0.25)


def arrays(items=40):
    random = generator(7, "arrays")
    cause = random.normal(size=(items, 3))
    return {name: cause @ random.normal(size=(3, width)) for name, width in zip("abc", WIDTHS, strict=True)}


def test_a_modality_that_never_occurs_beside_another_is_refused():
    table = [(row, row, -1) for row in range(30)] + [(-1, -1, row) for row in range(40)]
    data = Dataset.from_arrays(arrays(), pairs=table, splits="train")
    with pytest.raises(FitError, match=r"fewer than two training items have 'c' beside 'a' or 'b'.*--modalities a,b"):
        CCA().fit(data)
    CCA().fit(data, modalities=("a", "b"))


def test_items_with_one_modality_each_are_refused():
    table = [(row, -1, -1) for row in range(9)] + [(-1, row, -1) for row in range(9)] + [(-1, -1, 0)]
    data = Dataset.from_arrays(arrays(), pairs=table, splits="train")
    with pytest.raises(FitError, match="only 0 training items have at least two of a, b, c"):
        CCA().fit(data)
