"""Choose a method by what the data have and by validation, and fit it within a given time.

How long a fit takes is estimated from the numbers of rows and columns. The rates were measured on two cores, on data of
1,300 to 7,400 training pairs and 140 to 3,000 columns, where the estimate came within a tenth of the time; `MARGIN` is
for machines that are slower or have other work. They are not measured anew, so that the same data always lead to the
same choice.
"""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.data import Dataset, Protocol, TrainingData
from diptych.evaluation import Similarity
from diptych.methods.auto_candidates import (
    CLASSES,
    CLASSES_AND_PARTNERS,
    PARTNERS,
    Candidate,
    Situation,
    Trial,
    candidates,
    reason,
    shares_a_space,
)
from diptych.methods.base import Method
from diptych.methods.semantic.posteriors import STRENGTH_GRID, STRENGTH_UNCHOSEN
from diptych.methods.training_inputs import lacks_labels, limited, without_labels

START_SECONDS = 4.0
"""Importing torch, opening the data and scoring."""

MARGIN = 1.1

_NETWORK_ENTRY = 1.0e-6
_MACHINE_COLUMN = 1.5e-3
_STEP_MEMBER = 9.0e-3
_STEP_COLUMN = 4.0e-6
_STEP_ENTRY = 8.0e-8
_PARTNER_ENTRY = 3.2e-7
_PARTNER_SQUARE = 4.4e-7
_POSTERIOR_ENTRY = 1.3e-6

FEWEST_LABELLED = 1_000
FEWEST_PAIRS = 5_000
_SHRINK = 0.8


def network_seconds(labelled: int, columns: Sequence[int]) -> float:
    """How long CDMLMR's class space takes to learn from so many labelled pairs."""
    from diptych.methods.deep.profile import sizes_for  # which imports torch, and is asked only where it is installed

    sizes, width = sizes_for(labelled, columns), sum(columns)
    step = _STEP_MEMBER * sizes.members + width * (_STEP_COLUMN + _STEP_ENTRY * sizes.batch_size)
    return _NETWORK_ENTRY * labelled * width + _MACHINE_COLUMN * width + sizes.steps * step


def partner_seconds(pairs: int, columns: Sequence[int]) -> float:
    """How long the partner space takes to learn from so many pairs."""
    return _PARTNER_ENTRY * pairs * sum(columns) + _PARTNER_SQUARE * sum(width**2 for width in columns)


def posterior_seconds(labelled: int, columns: Sequence[int]) -> float:
    """How long one logistic regression for each modality takes."""
    return _POSTERIOR_ENTRY * labelled * sum(columns)


@dataclass(frozen=True)
class Affordable:
    """How much of the data a fit can use within the budget.

    Attributes:
        pairs: training pairs.
        labelled: labelled pairs; 0 where not even the fewest that are worth it can be afforded.
        seconds: how long that will take; None where nobody reckoned.
    """

    pairs: int
    labelled: int
    seconds: float | None


def affordable(pairs: int, labelled: int, columns: Sequence[int], budget_s: float) -> Affordable:
    """The most pairs, and of them the most labelled ones, that are learned from within the budget.

    The partner space is seen to first: it needs pairs more than the class space needs labels.

    >>> affordable(5_000, 5_000, (1_280, 1_000), 60.0).labelled
    5000
    >>> affordable(80_000, 80_000, (1_280, 384), 60.0).labelled < 20_000
    True
    """
    left = (budget_s - START_SECONDS) / MARGIN
    while pairs > FEWEST_PAIRS and partner_seconds(pairs, columns) > left / 2:
        pairs = max(FEWEST_PAIRS, int(pairs * _SHRINK))
    left -= partner_seconds(pairs, columns)
    labelled = min(labelled, pairs)
    while labelled > FEWEST_LABELLED and network_seconds(labelled, columns) > left:
        labelled = max(FEWEST_LABELLED, int(labelled * _SHRINK))
    if labelled and network_seconds(labelled, columns) > left:
        labelled = 0
    seconds = partner_seconds(pairs, columns) + (network_seconds(labelled, columns) if labelled else 0.0)
    return Affordable(pairs, labelled, START_SECONDS + MARGIN * seconds)


class Auto(Method):
    """Fit a method that suits the data; the saved model is a model of that method.

    The training items determine the candidates (`diptych.methods.auto_candidates`): with pairs and labels `cdmlmr`,
    whose class and partner spaces serve both kinds of search; with pairs alone its partner space; with labels alone
    `sm`; and if all modalities have the same number of columns, `identity`. Without torch `cca` replaces `cdmlmr`.
    Among several candidates, validation chooses by how well items find their own partners. Labels that the features
    cannot predict on validation are ignored.

    Args:
        budget_s: how many seconds the fit may take on two cores. If the estimate from the numbers of rows and columns
            is longer, the fit uses a sample of the pairs and labels.
        propagate: propagate labels if only some training items have one, even if the protocol does not ask for it.
        profile: of `cdmlmr`.
        seed: of everything that is drawn.
        device: of `cdmlmr`.
        cache: of `cdmlmr`.

    Attributes:
        method_: the fitted method.
    """

    uses_labels: ClassVar[bool] = True
    works_without_labels: ClassVar[bool] = True
    uses_unlabelled: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    max_modalities: ClassVar[int | None] = None
    citation: ClassVar[str] = "That of the method it chooses."

    method_: Method

    def __init__(
        self,
        budget_s: float = 60.0,
        propagate: bool = True,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        self.budget_s = budget_s
        self.propagate = propagate
        self.profile = profile
        self.seed = seed
        self.device = device
        self.cache = cache

    @property
    def similarity(self) -> Similarity:  # type: ignore[override]
        """That of the chosen method."""
        return self.method_.similarity if self.is_fitted else "cosine"

    @property
    def saved_as(self) -> Method:
        """The chosen method."""
        return self.method_ if self.is_fitted else self

    def learned_state(self) -> dict[str, Any]:
        """What the chosen method learned."""
        self._check_fitted()
        return self.method_.learned_state()

    def _protocol(self, dataset: Dataset, protocol: Protocol) -> Protocol:
        """Missing labels are propagated first."""
        if self.propagate and lacks_labels(dataset, protocol):
            return replace(protocol, propagate=True)
        return protocol

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        if not self.budget_s > 0:
            raise ConfigError(f"budget_s is {self.budget_s}; it must be a positive number of seconds.")
        found = Situation.of(data)
        waiting = candidates(found)
        plan = self._affordable(found, waiting)
        data = limited(data, plan.pairs, plan.labelled, self.seed)
        if CLASSES_AND_PARTNERS in waiting and not plan.labelled:
            waiting = [PARTNERS]
        trials = [self._tried(each, data, found, progress) for each in waiting]
        best = self._best(trials, data)
        if best.candidate is CLASSES_AND_PARTNERS and best.learned_no_class:
            best = self._tried(PARTNERS, data, found, progress)
            trials.append(best)
        self._take(best, trials, reason(best, trials, found, plan, self.record_.get("label_note")), plan.seconds)

    def _affordable(self, found: Situation, waiting: Sequence[Candidate]) -> Affordable:
        """How much of the data to learn from; all of it under another profile than the default."""
        if self.profile != "standard" or CLASSES in waiting:
            return Affordable(found.pairs, found.known, None)
        wanted = found.known if CLASSES_AND_PARTNERS in waiting else 0
        return affordable(found.pairs, wanted, list(found.widths.values()), self.budget_s)

    def _tried(self, candidate: Candidate, data: TrainingData, found: Situation, progress: Progress) -> Trial:
        """Fit a candidate and score it on validation."""
        seen = data if candidate.labels else without_labels(data)
        method = _class_of(candidate)(**self._params(candidate, found))
        method.registry_name = candidate.method
        method.pipeline_folder = self.pipeline_folder
        method.record_ = copy.deepcopy(self.record_)
        method.record_["saw"] = method.saw(Protocol(**self.record_["protocol"]), seen)
        method._fit(seen, progress)
        method.record_["fit_seconds"] = 0.0  # it may embed now; `fit` says in the end how long all of this took
        return Trial.of(candidate, method, data)

    def _params(self, candidate: Candidate, found: Situation) -> dict[str, Any]:
        params = dict(candidate.params)
        if candidate.method == "cdmlmr":
            params |= {"profile": self.profile, "seed": self.seed, "device": self.device, "cache": self.cache}
        if candidate is CLASSES:
            once = posterior_seconds(max(found.known_by_modality.values()), list(found.widths.values()))
            params |= {"strength": STRENGTH_UNCHOSEN} if once * len(STRENGTH_GRID) > self.budget_s else {}
        return params

    def _best(self, trials: Sequence[Trial], data: TrainingData) -> Trial:
        """The trial whose partners are found best, or its classes where no item has a partner; the first of equals."""
        if len(trials) == 1:
            return trials[0]
        for measure in ("MRR", "MAP"):
            if all(measure in trial.figures for trial in trials):
                return max(trials, key=lambda trial: trial.figures[measure].score)
        identity, learned = trials
        return identity if shares_a_space(data, self.seed) else learned

    def _take(self, best: Trial, trials: Sequence[Trial], why: str, seconds: float | None) -> None:
        """Take over the state of the chosen method."""
        self.method_ = best.method
        self.record_ = best.method.record_
        self.spaces_ = best.method.spaces
        reused = sum(trial.method.record_.get("reused_seconds", 0.0) for trial in trials)
        self.record_ |= {"reused_seconds": reused} if reused else {}
        tried = [
            {
                "method": trial.candidate.method,
                "learned": trial.candidate.words,
                "figures": {name: asdict(figure) for name, figure in trial.figures.items()},
            }
            for trial in trials
        ]
        self.record_["auto"] = {
            "chosen": best.candidate.method,
            "why": why,
            "tried": tried,
            "budget_s": self.budget_s,
            "estimated_seconds": seconds,
        }

    def _embed(self, modality: str, rows: Features) -> Floats | Singles:
        return self.method_._embed(modality, rows)


def _class_of(candidate: Candidate) -> type[Method]:
    """The class of a candidate, imported by a statement: `code_version` reads from these what a fit depends on."""
    if candidate.method == "cdmlmr":
        from diptych.methods.deep.cdmlmr import CDMLMR

        return CDMLMR
    if candidate.method == "cca":
        from diptych.methods.linear.cca import CCA

        return CCA
    if candidate.method == "sm":
        from diptych.methods.semantic.matching import SemanticMatching

        return SemanticMatching
    from diptych.methods.baselines import Identity

    return Identity
