"""Class posteriors by multinomial logistic regression, and the choice of their penalties on validation."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from diptych._core.arrays import Features, Floats, Integers
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych._core.state import stateful
from diptych.data import TrainingData
from diptych.methods.linear.kernels import GaussianFeatures, Kernel
from diptych.methods.selection import Search, Validation

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


@stateful
@dataclass(frozen=True)
class KernelPosteriors:
    """p(c | x) = softmax(k(x) A + b), with k(x) the kernel of x with every landmark.

    Attributes:
        kernel: k.
        landmarks: rows of training items.
        weights: A, landmarks × classes.
        intercepts: b, one per class.
    """

    kernel: Kernel
    landmarks: Floats
    weights: Floats
    intercepts: Floats

    @classmethod
    def on(cls, features: GaussianFeatures, weights: Floats, intercepts: Floats) -> "KernelPosteriors":
        """A regression on a kernel's features, with the map folded into it."""
        whole = features.projection @ weights
        return cls(features.kernel, features.landmarks, whole, intercepts - features.offset @ weights)

    def __call__(self, rows: Floats) -> Floats:
        """The posterior of every class for every row; each row adds up to one."""
        return np.asarray(softmax(self.kernel(rows, self.landmarks) @ self.weights + self.intercepts, axis=1))


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
        solve = _fit_shares if soft else _fit_numbers
        weights[:, fitted], intercepts[fitted] = solve(rows, targets[:, present] if soft else targets, strength)
    return Posteriors(weights, intercepts)


def _fit_numbers(rows: Floats, numbers: Integers | Floats, strength: float) -> tuple[Floats, Floats]:
    model = LogisticRegression(C=1.0 / (len(rows) * strength), max_iter=_MAX_STEPS)
    with warnings.catch_warnings():
        # A weak penalty on separable classes never settles; retrieval on validation decides anyway.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # one label per class is meant
        model.fit(rows, numbers)
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


STRENGTH_GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
STRENGTH_UNCHOSEN = 1e-2

Strengths = float | Mapping[str, float] | None


@dataclass(frozen=True)
class LabelledRows:
    """Training rows of one modality, whether or not their items have the others.

    Attributes:
        rows: the features, or what has been made of them.
        targets: the class number of each row, or its share in every class where it has several labels or labels were
            propagated.
    """

    rows: Features
    targets: Integers | Floats

    @classmethod
    def by_modality(cls, data: TrainingData) -> "dict[str, LabelledRows]":
        """Take the labelled training rows of each modality.

        Raises:
            FitError: when a modality has no labelled row.
        """
        found = {}
        for name in data.modalities:
            chosen = data.train.labels.is_labelled & data.train.has(name)
            if not chosen.any():
                raise FitError(f"posteriors are learned from labels and no labelled training item has '{name}'.")
            part = data.train.take(chosen)
            given = part.labels.codes if part.labels.is_single else part.labels.shares
            targets = given if data.soft_labels is None else data.soft_labels[chosen]
            found[name] = cls(part.features(name), targets)
        return found


@dataclass(frozen=True)
class PosteriorProblem:
    """What posteriors are learned from and scored by, in the space they are taken in.

    Attributes:
        rows: training rows of each modality.
        targets: their class numbers or shares.
        classes: how many classes there are.
        validation: the validation split; None when there is none.
        held_out: its rows of each modality; empty without one.
    """

    rows: Mapping[str, Floats]
    targets: Mapping[str, Integers | Floats]
    classes: int
    validation: Validation | None
    held_out: Mapping[str, Floats]

    @property
    def measure(self) -> str:
        """What validation measures, for a person."""
        return "" if self.validation is None else self.validation.measure

    def fit(self, name: str, strength: float) -> Posteriors:
        """Fit one modality's posteriors."""
        return fit_posteriors(self.rows[name], self.targets[name], self.classes, strength)

    def mapped(self, maps: Mapping[str, Callable[[Floats], Floats]]) -> "PosteriorProblem":
        """The same problem for all rows put through a map."""
        rows = {name: maps[name](rows) for name, rows in self.rows.items()}
        return replace(self, rows=rows, held_out={name: maps[name](rows) for name, rows in self.held_out.items()})

    def projected(self, weights: Mapping[str, Floats]) -> "PosteriorProblem":
        """The same problem for linear projections of all rows."""
        rows = {name: rows @ weights[name] for name, rows in self.rows.items()}
        return replace(self, rows=rows, held_out={name: rows @ weights[name] for name, rows in self.held_out.items()})

    def score(self, strengths: Mapping[str, float]) -> float:
        """The validation score of posteriors fitted with these strengths."""
        assert self.validation is not None
        return self.validation.score({name: self.fit(name, s)(self.held_out[name]) for name, s in strengths.items()})


def given_strengths(strength: Strengths, modalities: tuple[str, ...], *, zero: bool = False) -> dict[str, float | None]:
    """The strength given for each modality, None where validation is to choose; `zero` allows 0.

    Raises:
        ConfigError: for a strength that is not positive or a modality that is not fitted.
    """
    if not isinstance(strength, Mapping):
        strength = {} if strength is None else dict.fromkeys(modalities, strength)
    for name, value in strength.items():
        if name not in modalities:
            raise ConfigError(f"strength names the modality '{name}'; there are {', '.join(modalities)}.")
        if not (value > 0 or (zero and value == 0)):
            raise ConfigError(f"strength is {value} for '{name}'; it must be {'zero or ' * zero}positive.")
    return {name: strength.get(name) for name in modalities}


def fixed_strengths(given: Mapping[str, float | None]) -> dict[str, float]:
    """The given strengths, and a middle value for those left open."""
    return {name: STRENGTH_UNCHOSEN if strength is None else strength for name, strength in given.items()}


def choose_posteriors(
    problem: PosteriorProblem, given: Mapping[str, float | None], progress: Progress
) -> tuple[dict[str, Posteriors], dict[str, float], Search]:
    """Fit every modality's posteriors, with open strengths chosen on validation.

    First one strength for all open modalities is chosen, then each modality's own in turn, so that the
    number of trials grows with the number of modalities and not with its power.

    Args:
        problem: what to learn from and to score by.
        given: the strength of each modality; None where it is open.
        progress: told of each trial.

    Returns:
        The posteriors, the strengths they were fitted with, and the trials.
    """
    fitted = cache(problem.fit)

    @cache
    def predicted(name: str, strength: float) -> Floats:
        return fitted(name, strength)(problem.held_out[name])

    search, best = Search(), fixed_strengths(given)
    if problem.validation is not None:
        vacant = [name for name, strength in given.items() if strength is None]
        rounds = [vacant, *([name] for name in vacant)] if len(vacant) > 1 else [[name] for name in vacant]
        for names in rounds:
            for strength in STRENGTH_GRID:
                trial = best | dict.fromkeys(names, strength)
                score = problem.validation.score({name: predicted(name, value) for name, value in trial.items()})
                search.add({"strength": trial}, score)
                done, total = len(search.trials), len(rounds) * len(STRENGTH_GRID)
                progress("choosing strengths", done, total, {f"validation {problem.measure}": search.best_score})
            best = search.best["strength"]
    return {name: fitted(name, strength) for name, strength in best.items()}, best, search
