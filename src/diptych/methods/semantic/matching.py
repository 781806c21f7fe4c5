"""Semantic matching: compare items by their class posteriors."""

from typing import Any

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.features import Scaling
from diptych.methods.base import Method
from diptych.methods.linear.cca import CCA
from diptych.methods.linear.kernels import SHARPNESS, GaussianFeatures
from diptych.methods.linear.linear_method import LinearProblem
from diptych.methods.selection import Search, Validation
from diptych.methods.semantic.posteriors import (
    KernelPosteriors,
    LabelledRows,
    PosteriorProblem,
    Posteriors,
    Strengths,
    choose_posteriors,
    fixed_strengths,
    given_strengths,
)
from diptych.methods.training_inputs import fit_scalings, training_pairs


class SemanticMatching(Method):
    """Semantic matching: the embedding of a row is its vector of class posteriors, in every modality.

    Each modality m has a multinomial logistic regression of its own,

        p_m(c | x) = exp(w_c · x + b_c) / Σ_k exp(w_k · x + b_k)
        minimise (1/n) Σ_i −log p_m(c_i | x_i) + (strength_m / 2) ‖W‖²,

    and posteriors are compared by cosine. It needs no pairs: items contribute the modalities they have. An item with
    several labels has an equal share in each.

    Paper: Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy and Vasconcelos, "A New Approach to
    Cross-Modal Multimedia Retrieval", ACM Multimedia 2010.

    What differs from the paper: rows are scaled first, the penalty's strength is chosen on validation for each
    modality, and the similarity is the plain cosine.

    Args:
        strength: the penalty's weight, one for all modalities or one for each by name; None to choose on validation.
        scaling: a scaling recipe, or one by modality.

    Example:
        >>> from diptych.methods import create
        >>> create("sm", strength={"image": 0.1, "text": 0.01})
        SemanticMatching(strength={'image': 0.1, 'text': 0.01})
    """

    uses_labels = True
    max_modalities = None
    citation = (
        "Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy, Vasconcelos: "
        "A New Approach to Cross-Modal Multimedia Retrieval. ACM Multimedia 2010."
    )

    def __init__(self, strength: Strengths = None, scaling: str | dict[str, str] = "auto") -> None:
        self.strength = strength
        self.scaling = scaling

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        given = given_strengths(self.strength, data.modalities)
        self.scalings_: dict[str, Scaling]
        self.scalings_, problem = _scaled_problem(data, self.scaling)
        self.posteriors_: dict[str, Posteriors]
        self.posteriors_, strengths, search = choose_posteriors(problem, given, progress)
        self.record_["selection"] = search.trials
        self.record_["chosen"] = {"strength": strengths}

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self.posteriors_[modality](self.scalings_[modality](rows))


def _scaled_problem(data: TrainingData, recipe: str | dict[str, str]) -> tuple[dict[str, Scaling], PosteriorProblem]:
    """Each modality's scaling, and what posteriors of scaled rows are learned from and scored by."""
    labelled = LabelledRows.by_modality(data)
    raw = {name: data.train.having(name).features(name) for name in data.modalities}
    scalings = fit_scalings(raw, data.kinds, recipe)
    validation = Validation.of(data)
    return scalings, PosteriorProblem(
        {name: scalings[name](part.rows) for name, part in labelled.items()},
        {name: part.targets for name, part in labelled.items()},
        len(data.classes),
        validation,
        {name: scalings[name](rows) for name, rows in validation.rows.items()} if validation else {},
    )


class KernelSemanticMatching(Method):
    """Semantic matching with a kernel: the logistic regressions of `SemanticMatching` on a Gaussian kernel of the rows.

    Each regression reads the principal coordinates of k(x, l) = exp(−γ‖x − l‖²) over up to 1,000 training rows l
    (Nyström's method). Scores are compared by cosine.

    Not in the paper of `SemanticMatching`; it shows the effect of the kernel alone, for comparison with CDMLMR.

    Args:
        strength: the penalty's weight, one for all modalities or one for each by name; None to choose on validation.
        sharpness: γ times the square of the median distance between rows; None to choose on validation.
        scaling: a scaling recipe, or one by modality.
        seed: which rows are landmarks if there are more than 1,000.
    """

    uses_labels = True
    max_modalities = None
    stochastic = True
    citation = SemanticMatching.citation

    def __init__(
        self,
        strength: Strengths = None,
        sharpness: float | None = None,
        scaling: str | dict[str, str] = "auto",
        seed: int = 0,
    ) -> None:
        self.strength = strength
        self.sharpness = sharpness
        self.scaling = scaling
        self.seed = seed

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        if self.sharpness is not None and not self.sharpness > 0:
            raise ConfigError(f"sharpness is {self.sharpness}; it must be positive.")
        given = given_strengths(self.strength, data.modalities)
        self.scalings_: dict[str, Scaling]
        self.scalings_, problem = _scaled_problem(data, self.scaling)
        tried = SHARPNESS if self.sharpness is None and problem.validation is not None else (self.sharpness or 1.0,)
        search, mapped = Search(), {}
        for done, sharpness in enumerate(tried, start=1):
            maps = {name: GaussianFeatures.of(rows, sharpness, self.seed) for name, rows in problem.rows.items()}
            mapped[sharpness] = maps, problem.mapped(maps)
            if len(tried) > 1:
                search.add({"sharpness": sharpness}, mapped[sharpness][1].score(fixed_strengths(given)))
            progress("choosing the kernel", done, len(tried))
        sharpness = search.best["sharpness"] if search.trials else tried[0]
        maps, problem = mapped[sharpness]
        posteriors, strengths, chosen = choose_posteriors(problem, given, progress)
        self.posteriors_: dict[str, KernelPosteriors] = {
            name: KernelPosteriors.on(maps[name], each.weights, each.intercepts) for name, each in posteriors.items()
        }
        later = [
            {"params": {"sharpness": sharpness, **each["params"]}, "score": each["score"]} for each in chosen.trials
        ]
        self.record_["selection"] = search.trials + later
        self.record_["chosen"] = {"sharpness": sharpness, "strength": strengths}

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self.posteriors_[modality](self.scalings_[modality](rows))


class SemanticCorrelationMatching(Method):
    """Semantic correlation matching: class posteriors of the canonical projections of each modality.

    Ridge CCA of the training pairs gives the projections z = Aᵀ x of each modality (see `CCA`), each scaled to unit
    variance over the pairs, followed by one multinomial logistic regression per modality, as in `SemanticMatching`.
    Labelled items that lack the other modality contribute to the regression of their own.

    Paper: Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy and Vasconcelos, "A New Approach to
    Cross-Modal Multimedia Retrieval", ACM Multimedia 2010.

    What differs from the paper: rows are scaled first, CCA has a ridge, and the ridge, the number of projections
    and the penalties are chosen on validation by the score of the posteriors.

    Args:
        components: how many projections; None to choose on validation.
        ridge: CCA's ridge as a multiple of the modality's mean variance; None to choose on validation.
        strength: the penalty's weight, one for all modalities or one for each by name; None to choose on validation.
        scaling: a scaling recipe, or one by modality.

    Example:
        >>> from diptych.methods import create
        >>> create("scm", components=10)
        SemanticCorrelationMatching(components=10)
    """

    uses_labels = True
    citation = SemanticMatching.citation

    def __init__(
        self,
        components: int | None = None,
        ridge: float | None = None,
        strength: Strengths = None,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.components = components
        self.ridge = ridge
        self.strength = strength
        self.scaling = scaling

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        given = given_strengths(self.strength, data.modalities)
        labelled = LabelledRows.by_modality(data)
        pairs = training_pairs(data)
        raw = {name: pairs.features(name) for name in data.modalities}
        self.scalings_: dict[str, Scaling] = fit_scalings(raw, data.kinds, self.scaling)
        scaled = {name: self.scalings_[name](values) for name, values in raw.items()}
        self.centres_: dict[str, Floats] = {name: values.mean(axis=0) for name, values in scaled.items()}
        paired = {name: values - self.centres_[name] for name, values in scaled.items()}
        validation = Validation.of(data)
        problem = PosteriorProblem(
            {name: self._centred(name, part.rows) for name, part in labelled.items()},
            {name: part.targets for name, part in labelled.items()},
            len(data.classes),
            validation,
            {name: self._centred(name, rows) for name, rows in validation.rows.items()} if validation else {},
        )
        correlation = CCA(components=self.components, ridge=self.ridge)
        maps = correlation._problem(paired, data, validation is not None, progress)
        self.weights_, chosen, trials = _choose_maps(maps, paired, problem, fixed_strengths(given), progress)
        self.posteriors_: dict[str, Posteriors]
        self.posteriors_, strengths, search = choose_posteriors(problem.projected(self.weights_), given, progress)
        later = [{"params": {**chosen, **trial["params"]}, "score": trial["score"]} for trial in search.trials]
        self.record_["selection"] = trials + later
        self.record_["chosen"] = {**chosen, "strength": strengths}

    def _centred(self, modality: str, rows: Features) -> Floats:
        return self.scalings_[modality](rows) - self.centres_[modality]

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self.posteriors_[modality](self._centred(modality, rows) @ self.weights_[modality])


def _choose_maps(
    maps: LinearProblem,
    paired: dict[str, Floats],
    problem: PosteriorProblem,
    strengths: dict[str, float],
    progress: Progress,
) -> tuple[dict[str, Floats], dict[str, Any], list[dict[str, Any]]]:
    """Choose CCA's ridge and number of components by how well posteriors on its projections retrieve.

    Returns:
        The weights of each modality, whose projections of the pairs have unit variance; the choice; the trials.
    """
    search, best = Search(), None
    for done, setting in enumerate(maps.settings, start=1):
        solution = maps.solve(setting)
        weights = {name: _unit_variance(solution.weights[name], rows) for name, rows in paired.items()}
        for size in sorted({min(size, solution.components) for size in maps.sizes}):
            leading = {name: full[:, :size].copy() for name, full in weights.items()}
            chosen = {**setting, "components": size}
            if problem.validation is None or (len(maps.settings) == 1 and len(maps.sizes) == 1):
                return leading, chosen, []
            score = problem.projected(leading).score(strengths)
            if search.add({**chosen, "strength": strengths}, score):
                best = leading, chosen
        figures = {f"validation {problem.measure}": search.best_score}
        progress("choosing projections", done, len(maps.settings), figures)
    assert best is not None
    return *best, search.trials


def _unit_variance(weights: Floats, rows: Floats) -> Floats:
    """Scale each column of weights so that the projections of centred rows have unit variance."""
    spread = np.sqrt(np.mean((rows @ weights) ** 2, axis=0))
    return np.asarray(weights / np.where(spread > 0, spread, 1.0))
