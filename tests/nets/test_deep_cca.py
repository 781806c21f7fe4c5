import numpy as np
import pytest
import scipy.linalg
import torch
from cca_zoo.linear import CCA, RidgeCCA
from torch.testing import assert_close

from diptych._core.errors import FitError
from diptych.nets import DeepCCA, DeepCCAObjective, canonical_correlations
from diptych.nets.deep_cca import (
    batch_covariances,
    generalised_correlations,
    view_covariances,
    whitened_correlations,
)
from nets.enumeration import seeded


def views(rows=60, first=4, second=3, seed=0):
    random = seeded(seed)
    shared = torch.randn(rows, 3, generator=random, dtype=torch.float64)
    return tuple(
        shared @ torch.randn(3, width, generator=random, dtype=torch.float64)
        + torch.randn(rows, width, generator=random, dtype=torch.float64)
        for width in (first, second)
    )


def by_inverse_roots(first, second, ridge):
    """T as the paper writes it, with its singular vectors."""
    X, Y = (np.asarray(v - v.mean(0)) for v in (first, second))
    n = len(X) - 1
    roots = [np.real(scipy.linalg.inv(scipy.linalg.sqrtm(V.T @ V / n + ridge * np.eye(V.shape[1])))) for V in (X, Y)]
    U, D, Vt = np.linalg.svd(roots[0] @ (X.T @ Y / n) @ roots[1], full_matrices=False)
    return X, Y, n, roots, U, D, Vt


@pytest.mark.parametrize("ridge", [1e-4, 0.5])
def test_values_equal_the_formula_with_inverse_roots(ridge):
    first, second = views()
    expected = by_inverse_roots(first, second, ridge)[5]
    assert_close(canonical_correlations(first, second, ridge), torch.from_numpy(expected.copy()))


def test_linear_case_equals_an_independent_library():
    first, second = views()
    arrays = [first.numpy(), second.numpy()]
    plain = CCA(n_components=3).fit(arrays)
    left, right = plain.transform(arrays)
    pearson = [np.corrcoef(left[:, k], right[:, k])[0, 1] for k in range(3)]
    assert_close(canonical_correlations(first, second, 0.0), torch.tensor(pearson), atol=1e-8, rtol=0)


def test_linear_ridge_case_equals_an_independent_library():
    first, second = (v - v.mean(0) for v in views())
    shrinkage = 0.2
    ridge = shrinkage / (1 - shrinkage)
    peer = RidgeCCA(n_components=3, shrinkage=shrinkage).fit([first.numpy(), second.numpy()])
    a, b = (torch.from_numpy(np.asarray(w)) for w in peer.weights_)
    n = len(first) - 1
    cross = (a * (first.T @ second / n @ b)).sum(0)
    norms = [
        (w * ((v.T @ v / n + ridge * torch.eye(v.shape[1], dtype=torch.float64)) @ w)).sum(0).sqrt()
        for v, w in ((first, a), (second, b))
    ]
    assert_close(canonical_correlations(first, second, ridge), cross / norms[0] / norms[1], atol=1e-8, rtol=0)


def test_invertible_maps_leave_unregularised_values():
    first, second = views()
    mixed = first @ torch.randn(4, 4, generator=seeded(1), dtype=torch.float64) + 5.0
    assert_close(canonical_correlations(mixed, second, 0.0), canonical_correlations(first, second, 0.0))


@pytest.mark.parametrize("components", [1, 2, None])
def test_gradcheck(components):
    first, second = (v.requires_grad_() for v in views(12))
    assert torch.autograd.gradcheck(lambda a, b: canonical_correlations(a, b, 0.1)[:components].sum(), (first, second))


def test_gradient_equals_the_formula_of_the_paper():
    first, second = (v.requires_grad_() for v in views())
    canonical_correlations(first, second, 0.1).sum().backward()
    X, Y, n, roots, U, D, Vt = by_inverse_roots(first.detach(), second.detach(), 0.1)
    cross = roots[0] @ U @ Vt @ roots[1]
    own = -0.5 * roots[0] @ U @ np.diag(D) @ U.T @ roots[0]
    assert_close(first.grad, torch.from_numpy((2 * X @ own + Y @ cross.T) / n))


def test_equal_eigenvalues_do_not_break_the_gradient():
    base = torch.linalg.qr(torch.randn(20, 4, generator=seeded(), dtype=torch.float64))[0]
    base = torch.linalg.qr(base - base.mean(0))[0].requires_grad_()
    values = canonical_correlations(base, base, 1e-4)
    assert_close(values, values[0].detach().expand(4), atol=1e-9, rtol=0)
    values.sum().backward()
    assert torch.isfinite(base.grad).all()
    assert base.grad.abs().max() < 1.0


def test_singular_covariance_without_ridge_is_explained():
    first, second = views()
    with pytest.raises(FitError, match="raise the regularisation"):
        canonical_correlations(first * torch.tensor([1.0, 1.0, 1.0, 0.0]), second, 0.0)


def test_objective_sums_the_leading_values_and_training_raises_them():
    first, second = views(200, 6, 5)
    net = DeepCCA({"a": (6, 16, 2), "b": (5, 16, 2)}, seeded()).double()
    objective = DeepCCAObjective(net, {"a": first, "b": second}, components=1)
    with torch.no_grad():
        expected = canonical_correlations(net.embed("a", first), net.embed("b", second))[0]
    figures = objective.gradients(torch.arange(200), 0, seeded())
    assert_close(figures["loss"], -expected)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(60):
        optimizer.zero_grad()
        figures = objective.gradients(torch.arange(200), step, seeded())
        optimizer.step()
    assert figures["mean_correlation"] > expected + 0.05


def test_single_precision_nets_get_finite_gradients():
    net = DeepCCA({"a": (6, 8, 2), "b": (5, 8, 2)}, seeded())
    first, second = (v.float() for v in views(50, 6, 5))
    DeepCCAObjective(net, {"a": first, "b": second}).gradients(torch.arange(50), 0, seeded())
    assert all(p.grad.dtype == torch.float32 and torch.isfinite(p.grad).all() for p in net.parameters())


def running_objective(first, second, momentum, **options):
    net = DeepCCA({"a": (4, 3), "b": (3, 3)}, seeded(1), running=True).double()
    return net, DeepCCAObjective(net, {"a": first, "b": second}, momentum=momentum, **options)


def test_without_momentum_running_covariances_are_the_batchs_own():
    first, second = views()
    net, objective = running_objective(first, second, momentum=0.0, regularisation=0.1)
    for step in range(3):
        rows = torch.arange(20) + 20 * step
        found = objective.gradients(rows, step, seeded(0))
        outputs = [net.embed(name, view[rows]) for name, view in (("a", first), ("b", second))]
        assert_close(-found["loss"], canonical_correlations(*outputs, 0.1).sum().detach())


def test_running_covariances_become_those_of_all_rows():
    """With the net held still, averages over many small batches come near what one large batch has."""
    first, second = views(rows=400)
    net, objective = running_objective(first, second, momentum=0.995, regularisation=0.1)
    random = seeded(3)
    for step in range(2_000):
        objective.gradients(torch.randperm(400, generator=random)[:8], step, random)
    outputs = [net.embed(name, view).detach() for name, view in (("a", first), ("b", second))]
    expected = torch.cov(torch.cat(outputs, 1).T)
    assert_close(net.covariances[0], expected[:3, :3], atol=0.15, rtol=0.1)
    assert_close(net.covariances[2], expected[:3, 3:], atol=0.15, rtol=0.1)


def test_only_the_batchs_share_of_running_covariances_has_a_gradient():
    first, second = views()
    net, objective = running_objective(first, second, momentum=0.5, regularisation=0.1)
    objective.gradients(torch.arange(30), 0, seeded(0))
    kept = net.covariances.clone()
    net.zero_grad()
    objective.gradients(torch.arange(30, 60), 5, seeded(0))
    weight = net.nets["a"].layers[0].weight
    found = weight.grad.clone()

    def loss():
        outputs = [net.embed(name, view[30:]) for name, view in (("a", first), ("b", second))]
        averaged = 0.5 * kept + 0.5 * torch.stack(batch_covariances(*outputs))
        return -whitened_correlations(list(averaged), 0.1).sum()

    with torch.no_grad():
        for place in ((0, 0), (2, 1)):
            weight[place] += 1e-6
            above = loss()
            weight[place] -= 2e-6
            slope = (above - loss()) / 2e-6
            weight[place] += 1e-6
            assert float(found[place]) == pytest.approx(float(slope), rel=1e-4)


def test_running_covariances_are_part_of_what_is_resumed():
    first, second = views()
    net, objective = running_objective(first, second, momentum=0.5, regularisation=0.1)
    objective.gradients(torch.arange(30), 0, seeded(0))
    other, _ = running_objective(first, second, momentum=0.5)
    other.load_state_dict(net.state_dict())
    assert_close(other.covariances, net.covariances)
    assert net.covariances.any()


def three_views(rows=60, width=3, seed=0):
    random = seeded(seed)
    shared = torch.randn(rows, 3, generator=random, dtype=torch.float64)
    return [
        shared @ torch.randn(3, width, generator=random, dtype=torch.float64)
        + torch.randn(rows, width, generator=random, dtype=torch.float64)
        for _ in range(3)
    ]


def everywhere(views):
    return [torch.ones(len(view), dtype=torch.bool) for view in views]


class TestSeveralViews:
    def test_the_loss_is_the_leading_eigenvalues_of_the_sum_of_projectors(self):
        views = three_views()
        total = np.zeros((60, 60))
        for view in views:
            X = np.asarray(view - view.mean(0))
            total += X @ np.linalg.inv(X.T @ X) @ X.T
        expected = (np.linalg.eigvalsh(total)[::-1][:3] - 1) / 2
        found = generalised_correlations(view_covariances(views, everywhere(views)), 3, 0.0)
        assert_close(found, torch.from_numpy(expected.copy()), rtol=1e-9, atol=1e-9)

    def test_it_is_that_of_an_independent_library(self):
        objectives = pytest.importorskip("cca_zoo.deep.objectives")
        views = three_views()
        theirs = -float(objectives.GCCALoss(reg_covar=0.0)([view.clone() for view in views]))
        found = generalised_correlations(view_covariances(views, everywhere(views)), 3, 0.0)
        assert float((1 + 2 * found).sum()) == pytest.approx(theirs, rel=1e-5)

    def test_two_views_have_their_canonical_correlations(self):
        first, second, _ = three_views()
        pair = [first, second]
        found = generalised_correlations(view_covariances(pair, everywhere(pair)), 2, 0.1)
        assert_close(found, canonical_correlations(first, second, 0.1))

    def test_gradients(self):
        views = [view.requires_grad_() for view in three_views(12)]
        present = everywhere(views)
        present[2] = torch.arange(12) % 3 > 0
        present[0] = torch.arange(12) != 5

        def loss(*rows):
            kept = [row[has] for row, has in zip(rows, present, strict=True)]
            return generalised_correlations(view_covariances(kept, present), 3, 0.1).sum()

        assert torch.autograd.gradcheck(loss, views)

    def test_items_that_lack_views_against_a_loop(self):
        views, present = three_views(20), everywhere(three_views(20))
        present[2] = torch.arange(20) % 2 > 0
        present[0] = torch.arange(20) != 4
        kept = [view[has] for view, has in zip(views, present, strict=True)]
        found = view_covariances(kept, present)
        means = [view.mean(0) for view in kept]
        for number, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]):
            total = torch.zeros(3, 3, dtype=torch.float64)
            for item in range(20):
                has = [bool(each[item]) for each in present]
                if has[a] and has[b]:
                    share = 1.0 if a == b else 2 / (sum(has) - 1)
                    total += share * torch.outer(views[a][item] - means[a], views[b][item] - means[b])
            scale = ((len(kept[a]) - 1) * (len(kept[b]) - 1)) ** 0.5
            assert_close(found[number], total / scale)

    @pytest.mark.parametrize("running", [False, True])
    def test_training_raises_the_correlations_of_views_that_some_items_lack(self, running):
        views = three_views(200, 5)
        rows_of = {"c": torch.where(torch.arange(200) % 2 == 0, torch.arange(200) // 2, -1)}
        data = {"a": views[0], "b": views[1], "c": views[2][::2]}
        net = DeepCCA(dict.fromkeys("abc", (5, 16, 2)), seeded(), running=running).double()
        objective = DeepCCAObjective(net, data, regularisation=0.01, rows_of=rows_of)
        assert len(objective) == 200
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        figures = []
        for step in range(60):
            optimizer.zero_grad()
            figures.append(float(objective.gradients(torch.arange(200), step, seeded())["mean_correlation"]))
            optimizer.step()
        assert figures[-1] > figures[0] + 0.05 and figures[-1] <= 1.0

    def test_a_batch_without_a_view_leaves_its_averages(self):
        views = three_views(40, 4)
        rows_of = {"c": torch.where(torch.arange(40) < 20, torch.arange(40), -1)}
        net = DeepCCA(dict.fromkeys("abc", (4, 3)), seeded(), running=True).double()
        objective = DeepCCAObjective(
            net, {"a": views[0], "b": views[1], "c": views[2][:20]}, regularisation=0.1, rows_of=rows_of
        )
        objective.gradients(torch.arange(20), 0, seeded())
        before = net.covariances.clone()
        objective.gradients(torch.arange(20, 40), 1, seeded())
        changed = [float((one - other).abs().max()) > 0 for one, other in zip(before, net.covariances, strict=True)]
        assert changed == [True, True, False, True, False, False]
