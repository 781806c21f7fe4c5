"""Class posteriors by multinomial logistic regression on labels or on shares of labels, kept as plain arrays."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from diptych._core.arrays import Floats, Integers
from diptych._core.state import stateful

_MAX_STEPS = 500
_GRADIENT_TOLERANCE = 1e-4
_LOSS_TOLERANCE = 64 * np.finfo(np.float64).eps


@stateful
@dataclass(frozen=True)
class Posteriors:
    """p(c | x) = softmax(x W + b); a class that no training item had keeps b = -inf and so posterior 0.

    Attributes:
        weights: W, features × classes.
        intercepts: b, one per class.
    """

    weights: Floats
    intercepts: Floats

    def __call__(self, rows: Floats) -> Floats:
        """The posterior of every class for every row; each row adds up to one."""
        return np.asarray(softmax(rows @ self.weights + self.intercepts, axis=1))


def fit_posteriors(rows: Floats, targets: Integers | Floats, classes: int, strength: float) -> Posteriors:
    """Minimise (1/n) Σ_i Σ_c −t_ic log p(c | x_i) + (strength / 2) ‖W‖² over labelled rows.

    The loss is a mean, so that a strength means the same on few and on many items; in scikit-learn's
    terms C = 1 / (n · strength).

    Args:
        rows: x, one row an item.
        targets: the class number of each row, for which t_ic is 1; or t itself, rows × classes, each row adding up
            to one.
        classes: how many classes there are.
        strength: of the penalty.

    >>> model = fit_posteriors(np.array([[-1.0], [1.0]]), np.array([0, 2]), classes=3, strength=0.1)
    >>> model(np.array([[0.0]])).round(3)
    array([[0.5, 0. , 0.5]])
    """
    soft = targets.ndim == 2
    present = np.flatnonzero(targets.sum(axis=0) > 0) if soft else np.unique(targets)
    weights = np.zeros((rows.shape[1], classes))
    intercepts = np.full(classes, -np.inf)
    intercepts[present] = 0.0
    if len(present) > 1:
        # Of two classes scikit-learn keeps the second one's weights only; the first one's are then zero.
        fitted = present if len(present) > 2 else present[1:]
        solve = _fit_shares if soft else _fit_codes
        weights[:, fitted], intercepts[fitted] = solve(rows, targets[:, present] if soft else targets, strength)
    return Posteriors(weights, intercepts)


def _fit_codes(rows: Floats, codes: Integers | Floats, strength: float) -> tuple[Floats, Floats]:
    model = LogisticRegression(C=1.0 / (len(rows) * strength), max_iter=_MAX_STEPS)
    with warnings.catch_warnings():
        # A weak penalty on separable classes never settles; retrieval on validation judges the result anyway.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # one label per class is meant
        model.fit(rows, codes)
    return model.coef_.T, model.intercept_


def _fit_shares(rows: Floats, shares: Integers | Floats, strength: float) -> tuple[Floats, Floats]:
    """Minimise by L-BFGS with scikit-learn's tolerances, for scikit-learn itself takes one class per row."""
    count, dimension = rows.shape
    free = shares.shape[1] if shares.shape[1] > 2 else 1

    def loss(flat: Floats) -> tuple[float, Floats]:
        """The objective and its gradient; weights come first, intercepts last."""
        table = flat.reshape(dimension + 1, free)
        scores = rows @ table[:-1] + table[-1]
        logs = log_softmax(scores if free > 1 else np.hstack([np.zeros_like(scores), scores]), axis=1)
        excess = ((np.exp(logs) - shares) / count)[:, -free:]
        gradient = np.vstack([rows.T @ excess + strength * table[:-1], excess.sum(axis=0)])
        value = strength / 2 * np.vdot(table[:-1], table[:-1]) - np.vdot(shares, logs) / count
        return float(value), gradient.ravel()

    found = minimize(
        loss,
        np.zeros((dimension + 1) * free),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "gtol": _GRADIENT_TOLERANCE, "ftol": _LOSS_TOLERANCE},
    )
    table = found.x.reshape(dimension + 1, free)
    return table[:-1], table[-1]
