import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from diptych._core.seeding import generator
from diptych.methods.linear.algebra import canonical_coordinates, cross_basis, spectrum
from diptych.methods.linear.kernels import Kernel, centre, full_view, landmark_view, median_distance, with_unit_diagonal

ROWS = generator(0, "kernel rows").normal(size=(20, 6))
OTHERS = generator(1, "kernel rows").normal(size=(9, 6))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Kernel("rbf", gamma=0.3), rbf_kernel(OTHERS, ROWS, gamma=0.3)),
        (Kernel("poly", gamma=0.2, degree=3), polynomial_kernel(OTHERS, ROWS, gamma=0.2, degree=3, coef0=1)),
        (Kernel("linear"), linear_kernel(OTHERS, ROWS)),
    ],
)
def test_equals_sklearn(kernel, expected):
    np.testing.assert_allclose(kernel(OTHERS, ROWS), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(ROWS), np.diagonal(kernel(ROWS, ROWS)), atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_the_diagonal_averages_to_one(name):
    kernel = with_unit_diagonal(Kernel(name, gamma=0.5, degree=2), ROWS)
    assert np.diagonal(kernel(ROWS, ROWS)).mean() == pytest.approx(1.0)


def test_median_distance_is_over_different_rows():
    assert median_distance(ROWS) == pytest.approx(np.median(pdist(ROWS)))


def test_coinciding_rows_do_not_make_the_kernel_infinitely_narrow():
    assert median_distance(np.full((8, 3), 1e5)) == 1.0
    assert median_distance(ROWS[:1]) == 1.0


COUNT, KAPPA = 60, 3.0


@pytest.fixture(scope="module")
def rows():
    random = generator(0, "kernel views")
    latent = random.normal(size=(COUNT + 10, 2))
    both = [latent @ random.normal(size=(2, d)) + 0.5 * random.normal(size=(COUNT + 10, d)) for d in (5, 4)]
    return [view[:COUNT] for view in both], [view[COUNT:] for view in both]


def kernels(name):
    return [Kernel(name, gamma=gamma, degree=3) for gamma in (0.1, 0.2)]


def solve(views, components=4):
    cross = views[0].row_basis.T @ views[1].row_basis
    values = views[0].values, views[1].values
    correlations, *parts = canonical_coordinates(cross, values, (KAPPA, KAPPA), components)
    return correlations, [view.dual(part) for view, part in zip(views, parts, strict=True)]


def centre_with_training_statistics(new, kernel):
    """The definition: column means of the training kernel, row means of the new one, the grand mean."""
    return new - kernel.mean(axis=0) - new.mean(axis=1, keepdims=True) + kernel.mean()


def test_centring_leaves_no_row_or_column_sum(rows):
    kernel = centre(Kernel("rbf", gamma=0.1)(rows[0][0], rows[0][0]))
    np.testing.assert_allclose(kernel.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(kernel.sum(axis=1), 0.0, atol=1e-10)
    ones = np.full((COUNT, COUNT), 1 / COUNT)
    raw = Kernel("rbf", gamma=0.1)(rows[0][0], rows[0][0])
    np.testing.assert_allclose(kernel, (np.eye(COUNT) - ones) @ raw @ (np.eye(COUNT) - ones), atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_the_constraint_holds_and_correlations_are_stationary(rows, name):
    training, _ = rows
    grams = [kernel(view, view) for kernel, view in zip(kernels(name), training, strict=True)]
    correlations, duals = solve([full_view(gram) for gram in grams])
    k1, k2 = (centre(gram) for gram in grams)
    for gram, (weights, _) in zip((k1, k2), duals, strict=True):
        metric = gram @ gram + KAPPA * gram
        np.testing.assert_allclose(weights.T @ metric @ weights, np.eye(4), atol=1e-7)
    identity = KAPPA * np.eye(COUNT)
    alpha = duals[0][0]
    turned = np.linalg.solve(k1 + identity, k2 @ np.linalg.solve(k2 + identity, k1 @ alpha))
    np.testing.assert_allclose(k1 @ turned, k1 @ alpha * correlations**2, atol=1e-7)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_equals_cca_zoo_on_training_and_new_rows(rows, name):
    zoo = pytest.importorskip("cca_zoo.nonparametric")
    # That library centres the features before its kernel, so they are given to both centred.
    means = [view.mean(axis=0) for view in rows[0]]
    training, new = ([view - mean for view, mean in zip(part, means, strict=True)] for part in rows)
    shrinkage = KAPPA / (COUNT - 1 + KAPPA)
    peer = zoo.KCCA(4, shrinkage=shrinkage, kernel=name, gamma=[0.1, 0.2], degree=3, coef0=1.0).fit(training)
    _, duals = solve([full_view(kernel(v, v)) for kernel, v in zip(kernels(name), training, strict=True)])
    for part in (training, new):
        theirs = peer.transform(part)
        for place, kernel in enumerate(kernels(name)):
            weights, offset = duals[place]
            ours = kernel(part[place], training[place]) @ weights - offset
            cosines = np.einsum("ij,ij->j", ours, theirs[place])
            cosines /= np.linalg.norm(ours, axis=0) * np.linalg.norm(theirs[place], axis=0)
            np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_projection_equals_the_doubly_centred_kernel_on_either_path(rows, name):
    kernel, training, new = kernels(name)[0], rows[0][0], rows[1][0]
    gram = kernel(training, training)
    view = full_view(gram)
    weights, offset = view.dual(np.eye(len(view.values))[:, :5])
    np.testing.assert_allclose(gram @ weights - offset, centre(gram) @ weights, atol=1e-9)
    new_gram = kernel(new, training)
    expected = centre_with_training_statistics(new_gram, gram) @ weights
    np.testing.assert_allclose(new_gram @ weights - offset, expected, atol=1e-9)


def test_linear_kernel_equals_ridge_cca(rows):
    training = [view - view.mean(axis=0) for view in rows[0]]
    correlations, duals = solve([full_view(Kernel("linear")(view, view)) for view in training])
    views = [spectrum(view) for view in training]
    ridge = KAPPA / (COUNT - 1)
    variances = views[0].variances, views[1].variances
    expected, *parts = canonical_coordinates(cross_basis(*views), variances, (ridge, ridge), 4)
    np.testing.assert_allclose(correlations, expected, atol=1e-10)
    for view, part, values, (weights, _) in zip(views, parts, training, duals, strict=True):
        primal = values.T @ weights * np.sqrt(COUNT - 1)  # the covariance's 1 / (n - 1) is not in the kernel
        np.testing.assert_allclose(np.abs(primal), np.abs(view.weights(part)), atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_every_row_a_landmark_is_the_exact_kernel(rows, name):
    training, new = rows
    grams = [kernel(view, view) for kernel, view in zip(kernels(name), training, strict=True)]
    exact, duals = solve([full_view(gram) for gram in grams])
    approximate, nystrom = solve([landmark_view(gram, gram) for gram in grams])
    np.testing.assert_allclose(approximate, exact, atol=1e-6)
    for kernel, old, fresh, left, right in zip(kernels(name), training, new, duals, nystrom, strict=True):
        ours, theirs = (kernel(fresh, old) @ weights - offset for weights, offset in (left, right))
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-5)


def test_landmarks_that_span_the_feature_space_lose_nothing(rows):
    training = rows[0]
    linear = Kernel("linear")
    exact, _ = solve([full_view(linear(view, view)) for view in training])
    some = [landmark_view(linear(view, view[:12]), linear(view[:12], view[:12])) for view in training]
    approximate, duals = solve(some)
    np.testing.assert_allclose(approximate, exact, atol=1e-6)
    codes = linear(training[0], training[0][:12]) @ duals[0][0] - duals[0][1]
    np.testing.assert_allclose(codes.mean(axis=0), 0.0, atol=1e-8)
