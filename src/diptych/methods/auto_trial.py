"""What validation says of a fitted candidate, and the sentence that tells a person why one was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Features
from diptych._core.seeding import generator
from diptych.data import TrainingData
from diptych.evaluation import evaluate_instances
from diptych.methods.auto_budget import Affordable
from diptych.methods.auto_choice import Candidate, Situation
from diptych.methods.base import Method
from diptych.methods.label_use import without_labels
from diptych.methods.purposes import Purpose
from diptych.methods.selection import FEWEST_PAIRS, Validation

LEAST_GAIN = 0.03
"""The share of the way from chance to a perfect MAP below which the class space learned nothing of the labels."""

MOST_LOOKED_AT = 1_000
"""Training pairs by which features as they are are judged; nothing was learned from them."""


@dataclass(frozen=True)
class Figure:
    """A score on validation, and what codes that know nothing would have."""

    score: float
    chance: float

    def __str__(self) -> str:
        return f"{self.score:.2f} (chance {self.chance:.2f})"


@dataclass(frozen=True)
class Trial:
    """A fitted candidate.

    Attributes:
        candidate: what was fitted.
        method: the fitted method.
        figures: "MRR" of validation items' own partners, "MAP" of their classes, where these can be judged.
    """

    candidate: Candidate
    method: Method
    figures: dict[str, Figure]

    @classmethod
    def of(cls, candidate: Candidate, method: Method, data: TrainingData) -> "Trial":
        """Judge a fitted method on validation, its partner space by partners and its class space by classes."""
        judges: list[tuple[Validation | None, Purpose]] = [(Validation.of(data), "class")]
        validation = data.validation
        if validation is not None and len(validation.having(*data.modalities)) >= FEWEST_PAIRS:
            judges.insert(0, (Validation.of(without_labels(data)), "partner"))
        figures = {}
        for judge, purpose in judges:
            if judge is None or judge.measure in figures or (judge.by == "partner") != (purpose == "partner"):
                continue
            wanted: Purpose = purpose if purpose in method.spaces else "auto"
            embedded = {name: method.embed(name, rows, wanted) for name, rows in judge.rows.items()}
            figures[judge.measure] = Figure(judge.score(embedded, method.similarity), judge.chance())
        return cls(candidate, method, figures)

    @property
    def learned_no_class(self) -> bool:
        """Whether it was given labels, and validation says that it cannot tell classes apart."""
        found = self.figures.get("MAP")
        if found is None or not self.candidate.labels:
            return False
        return found.score - found.chance < LEAST_GAIN * (1.0 - found.chance)

    def words(self) -> str:
        """The figures in a few words."""
        return " and ".join(f"{measure} {figure}" for measure, figure in self.figures.items())


def shares_a_space(data: TrainingData, seed: int = 0) -> bool:
    """Whether features as they are find the partners of training pairs clearly better than chance does."""
    pairs = data.train.having(*data.modalities)
    part = pairs.take(np.sort(generator(seed, "auto", "looked at").permutation(len(pairs))[:MOST_LOOKED_AT]))
    if len(part) < 2:
        return False
    first, second, *_ = (_dense(part.features(name)) for name in data.modalities)
    found = evaluate_instances(first, second, part.documents.tolist(), part.documents.tolist())
    chance, ranks = found.chance["mean_reciprocal_rank"], 1.0 / found.ranks
    return bool(ranks.mean() > 2 * chance and ranks.mean() - chance > 3 * ranks.std() / np.sqrt(len(ranks)))


def reason(best: Trial, trials: Sequence[Trial], found: Situation, plan: Affordable, note: str | None) -> str:
    """One sentence: what was chosen, what the data have, what validation says, and what was left out.

    Args:
        best: the chosen one.
        trials: all that were fitted.
        found: what there was to learn from.
        plan: how much of it could be afforded.
        note: what was said of the labels before.
    """
    parts = [f"{best.candidate.method} ({best.candidate.words})", found.words()]
    parts.append(f"on validation {best.words()}" if best.figures else "too few validation items to judge by")
    parts += [
        f"{trial.candidate.method} ({trial.candidate.words}) has {trial.words()}"
        for trial in trials
        if trial is not best and trial.figures
    ]
    return "; ".join([*parts, *([note] if note else []), *_left_out(best, trials, found, plan)])


def _left_out(best: Trial, trials: Sequence[Trial], found: Situation, plan: Affordable) -> list[str]:
    """What was not used, and why."""
    said = []
    if found.labelled and not best.candidate.labels:
        why = {
            "cca": "learning them needs torch (pip install 'diptych[deep]')",
            "cdmlmr": "learning them takes longer than the budget (raise budget_s)",
        }.get(best.candidate.method)
        if any(trial.learned_no_class for trial in trials):
            why = "features tell nothing of them"
        why = found.label_problem or why
        said += [f"labels were left out, as {why}"] if why else []
    if plan.pairs < found.pairs:
        said.append(f"{plan.pairs:,} pairs were learned from, to stay within the budget")
    if best.candidate.labels and plan.labelled < found.known:
        said.append(f"classes were learned from {plan.labelled:,} labelled pairs, to stay within the budget")
    return said


def _dense(rows: Features) -> np.ndarray:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()
