"""Class posteriors by multinomial logistic regression, fitted by scikit-learn and kept as plain arrays."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from diptych.arrays import Floats, Integers
from diptych.state import stateful

_MAX_STEPS = 500


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


def fit_posteriors(rows: Floats, codes: Integers, classes: int, strength: float) -> Posteriors:
    """Minimise (1/n) Σ −log p(c_i | x_i) + (strength / 2) ‖W‖² over labelled rows.

    The loss is a mean, so that a strength means the same on few and on many items; in scikit-learn's
    terms C = 1 / (n · strength).

    >>> model = fit_posteriors(np.array([[-1.0], [1.0]]), np.array([0, 2]), classes=3, strength=0.1)
    >>> model(np.array([[0.0]])).round(3)
    array([[0.5, 0. , 0.5]])
    """
    present = np.unique(codes)
    weights = np.zeros((rows.shape[1], classes))
    intercepts = np.full(classes, -np.inf)
    intercepts[present] = 0.0
    if len(present) > 1:
        model = LogisticRegression(C=1.0 / (len(rows) * strength), max_iter=_MAX_STEPS)
        with warnings.catch_warnings():
            # A weak penalty on separable classes never settles; retrieval on validation judges the result anyway.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows, codes)
        # Of two classes scikit-learn keeps the second one's weights only; the first one's are then zero.
        fitted = present if len(present) > 2 else present[1:]
        weights[:, fitted] = model.coef_.T
        intercepts[fitted] = model.intercept_
    return Posteriors(weights, intercepts)
