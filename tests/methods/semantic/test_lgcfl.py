"""LGCFL: its solver against least squares, an independent row-sparse solver and the optimality conditions."""

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

from diptych._core.errors import ConfigError
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create
from diptych.methods.semantic.lgcfl import GroupLasso
from ingest.conftest import write_pairs


@pytest.fixture(params=[0, 1])
def rows_and_targets(request):
    draw = np.random.default_rng(request.param)
    rows = draw.standard_normal((60, 12))
    targets = rows[:, :4] @ draw.standard_normal((4, 3)) + 0.3 * draw.standard_normal((60, 3))
    return rows - rows.mean(0), targets - targets.mean(0)


def objective(rows, targets, starts, penalty, weights):
    """The objective written out, group by group."""
    stops = [*starts[1:], rows.shape[1]]
    norms = sum(np.sqrt(b - a) * np.linalg.norm(weights[a:b]) for a, b in zip(starts, stops, strict=True))
    return np.sum((rows @ weights - targets) ** 2) / (2 * len(rows)) + penalty * norms


def test_without_a_penalty_it_is_least_squares(rows_and_targets) -> None:
    rows, targets = rows_and_targets
    expected, *_ = np.linalg.lstsq(rows, targets)
    np.testing.assert_allclose(GroupLasso.of(rows, targets, [0, 5]).solve(0.0), expected, atol=1e-8)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_groups_of_one_column_are_the_row_sparse_problem(rows_and_targets, share, monkeypatch) -> None:
    """scikit-learn's MultiTaskLasso minimises (1/2n) ‖Y − XW‖² + α Σ_rows ‖w‖."""
    rows, targets = rows_and_targets
    monkeypatch.setattr("diptych.methods.semantic.lgcfl.TOLERANCE", 1e-12)
    problem = GroupLasso.of(rows, targets, range(12))
    penalty = share * problem.largest
    expected = MultiTaskLasso(alpha=penalty, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(rows, targets)
    ours = problem.solve(penalty)
    np.testing.assert_allclose(ours, expected.coef_.T, atol=1e-5)
    assert problem.kept(ours) == np.count_nonzero(np.abs(expected.coef_).sum(0) > 0)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_the_optimality_conditions_hold_for_groups(rows_and_targets, share, monkeypatch) -> None:
    """For a kept group the gradient balances the penalty's; for a dropped one it is too weak to raise it."""
    rows, targets = rows_and_targets
    starts = [0, 3, 4, 9]
    monkeypatch.setattr("diptych.methods.semantic.lgcfl.TOLERANCE", 1e-13)
    problem = GroupLasso.of(rows, targets, starts)
    penalty = share * problem.largest
    weights = problem.solve(penalty)
    gradient = rows.T @ (targets - rows @ weights) / len(rows)
    for a, b in zip(starts, [3, 4, 9, 12], strict=True):
        limit, norm = penalty * np.sqrt(b - a), np.linalg.norm(weights[a:b])
        if norm:
            np.testing.assert_allclose(gradient[a:b], limit * weights[a:b] / norm, atol=1e-5)
        else:
            assert np.linalg.norm(gradient[a:b]) <= limit * (1 + 1e-6)


def test_the_gap_bounds_how_far_a_point_is_from_the_best(rows_and_targets, monkeypatch) -> None:
    rows, targets = rows_and_targets
    starts = [0, 3, 4, 9]
    problem = GroupLasso.of(rows, targets, starts)
    penalty = 0.2 * problem.largest
    found = problem.solve(penalty)
    assert problem.gap(found, penalty) <= 1e-4 * problem.energy / 2
    monkeypatch.setattr("diptych.methods.semantic.lgcfl.TOLERANCE", 1e-13)
    best = objective(rows, targets, starts, penalty, problem.solve(penalty))
    draw = np.random.default_rng(5)
    for scale in (0.0, 0.01, 1.0):
        point = found + scale * draw.standard_normal(found.shape)
        excess = objective(rows, targets, starts, penalty, point) - best
        assert excess <= problem.gap(point, penalty) + 1e-9


def test_from_the_largest_penalty_on_nothing_is_kept(rows_and_targets) -> None:
    rows, targets = rows_and_targets
    problem = GroupLasso.of(rows, targets, [0, 6])
    assert not problem.solve(1.001 * problem.largest).any()
    assert problem.solve(0.95 * problem.largest).any()


def test_columns_that_say_nothing_are_dropped_together(dense_dataset) -> None:
    model = create("lgcfl", strength=0.3, group_columns=4).fit(dense_dataset)
    for weights in model.weights_.values():
        norms = np.linalg.norm(weights, axis=1)
        for start in range(0, len(norms), 4):
            assert (norms[start : start + 4] > 0).all() or not norms[start : start + 4].any()


def test_groups_are_the_blocks_of_the_pipeline(tmp_path) -> None:
    """Thirty-six columns of a correlogram distance and the words of a bag are kept or dropped as wholes."""
    pairs = write_pairs(tmp_path / "raw")
    features = {"image": "colour-correlogram+edge-direction", "text": "bow:12"}
    dataset = ingest(IngestOptions(pairs, tmp_path / "made", features=features)).dataset
    model = create("lgcfl", strength=0.3, group_columns=5).fit(dataset)
    blocks = model.pipeline.of("image").extractor.blocks
    assert [(block.start, block.stop) for block in blocks] == [
        (0, 36),
        (36, 72),
        (72, 108),
        (108, 144),
        (144, 216),
        (216, 217),
    ]
    norms = np.linalg.norm(model.weights_["image"], axis=1)
    kept = [norms[block.start : block.stop].any() for block in blocks]
    assert model.record_["chosen"]["groups_kept"] == {
        "image": f"{sum(kept)} of 6",
        "text": model.record_["chosen"]["groups_kept"]["text"],
    }
    assert model.record_["chosen"]["groups_kept"]["text"].endswith(" of 3")  # one block: runs of five of its columns
    assert 0 < sum(kept) < 6


def test_a_strength_below_zero_is_refused(dense_dataset) -> None:
    with pytest.raises(ConfigError, match="strength is -1 for 'image'; it must be zero or positive"):
        create("lgcfl", strength=-1).fit(dense_dataset)


def test_a_strength_that_leaves_nothing_is_refused(dense_dataset) -> None:
    with pytest.raises(ConfigError, match="which leaves no weight at all"):
        create("lgcfl", strength=1.0).fit(dense_dataset)
