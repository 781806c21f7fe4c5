"""The methods that suit a dataset by what its items have, and how validation compares them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from diptych._core.arrays import Features
from diptych._core.errors import FitError
from diptych._core.seeding import generator
from diptych.data import TrainingData
from diptych.evaluation import evaluate_instances
from diptych.methods.base import Method
from diptych.methods.purposes import Purpose
from diptych.methods.selection import FEWEST_PAIRS, Validation
from diptych.methods.training_inputs import classes_seen, without_labels

if TYPE_CHECKING:
    from diptych.methods.auto import Affordable

FEWEST_TRAINING_PAIRS = 20
"""Pairs from which on canonical projections are worth learning even where labels could do instead."""

FEWEST_LABELLED = 20
FEWEST_PER_CLASS = 2
"""Labelled items, and labelled items a class on average, below which labels name items rather than kinds of items."""


@dataclass(frozen=True)
class Situation:
    """What the training data hold, in numbers.

    Attributes:
        modalities: their names.
        items: training items.
        pairs: training items that have both modalities; of more, at least two of them.
        labelled: training items that were given a label.
        known: pairs with a label, given or propagated.
        known_by_modality: labelled items that have each modality.
        classes: the classes that training items carry.
        propagated: whether labels were propagated.
        widths: the columns of each modality.
    """

    modalities: tuple[str, ...]
    items: int
    pairs: int
    labelled: int
    known: int
    known_by_modality: Mapping[str, int]
    classes: tuple[str, ...]
    propagated: bool
    widths: Mapping[str, int]

    @classmethod
    def of(cls, data: TrainingData) -> "Situation":
        """Count what a protocol lets through."""
        labels, names = data.train.labels, data.modalities
        has = {name: data.train.has(name) for name in names}
        paired = np.sum(list(has.values()), axis=0) >= 2
        given = labels if data.given_labels is None else data.given_labels
        return cls(
            modalities=names,
            items=len(data.train),
            pairs=int(paired.sum()),
            labelled=int(given.is_labelled.sum()),
            known=int((labels.is_labelled & paired).sum()),
            known_by_modality={name: int((labels.is_labelled & present).sum()) for name, present in has.items()},
            classes=tuple(classes_seen(labels)),
            propagated=data.soft_labels is not None,
            widths={name: data.train.columns[name].values.shape[1] for name in names},
        )

    @property
    def equal_widths(self) -> bool:
        """Whether features could share a space already."""
        return len(set(self.widths.values())) == 1

    @property
    def label_problem(self) -> str | None:
        """Why labels are of no use beside pairs, in words that follow "because"; None where they are."""
        return self._problem_of(self.known, "pairs")

    @property
    def lone_label_problem(self) -> str | None:
        """Why labels are of no use without pairs; None where they are."""
        return self._problem_of(min(self.known_by_modality.values()), "items of each modality")

    def _problem_of(self, known: int, of: str) -> str | None:
        if not self.labelled:
            return "no training item has a label"
        if len(self.classes) < 2:
            return f"every label is '{self.classes[0]}', and one class cannot be told from another"
        if known < FEWEST_LABELLED:
            return f"only {known} {of} have a label"
        if known < FEWEST_PER_CLASS * len(self.classes):
            return f"{known:,} labelled {of} are of {len(self.classes):,} classes, so that labels name single items"
        return None

    def words(self) -> str:
        """A short description of the data."""
        pairs = f"{self.pairs:,} pair{'s' * (self.pairs != 1)}"
        if not self.labelled:
            return f"{pairs} and no labels"
        share = self.labelled / self.items
        shown = "all" if share == 1 else f"{share:.0%}" if share >= 0.01 else "less than 1%"
        spread = ", propagated to the others" if self.propagated else ""
        return f"{pairs}, {len(self.classes):,} class{'es' * (len(self.classes) != 1)} on {shown} of the items{spread}"


@dataclass(frozen=True)
class Candidate:
    """A method that could be used.

    Attributes:
        method: its name.
        words: what it learns here, in a few words.
        labels: whether it is given the labels.
        params: on top of its defaults.
    """

    method: str
    words: str
    labels: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


IDENTITY = Candidate("identity", "the features as they are")
CLASSES_AND_PARTNERS = Candidate("cdmlmr", "a class and a partner space", labels=True)
PARTNERS = Candidate("cdmlmr", "the partner space alone")
LINEAR_PARTNERS = Candidate("cca", "canonical projections of pairs", params={"weight_power": 1.0})
CLASSES = Candidate("sm", "class probabilities of each modality", labels=True)


def has_torch() -> bool:
    """Whether the methods that train networks can be used."""
    return find_spec("torch") is not None


def candidates(found: Situation) -> list[Candidate]:
    """The methods to fit and to compare on validation, the one to prefer among equals first.

    Pairs decide first, as they are what a search with typed words needs; labels are learned beside them.

    Raises:
        FitError: when there is nothing that connects the modalities.
    """
    identity = [IDENTITY] if found.equal_widths else []
    partners = PARTNERS if has_torch() else LINEAR_PARTNERS
    if found.pairs >= FEWEST_TRAINING_PAIRS:
        if found.label_problem is None and has_torch():
            return [CLASSES_AND_PARTNERS]  # whose partner space tries the features as they are by itself
        return [*identity, partners]
    if found.lone_label_problem is None:
        return [*identity, CLASSES]
    if found.pairs >= 2:
        return [*identity, partners]
    both = " and ".join(found.modalities)
    hint = f" Where the encoders of {both} were trained together, use --method identity." if found.equal_widths else ""
    raise FitError(
        f"nothing shows how {both} belong together: {found.pairs} of {found.items:,} training items have "
        f"{'both' if len(found.modalities) == 2 else 'two of them'}, and {found.lone_label_problem}. Give items both, "
        f"or a label each (at least {FEWEST_LABELLED} of each modality, two classes or more).{hint}"
    )


LEAST_GAIN = 0.03
"""The share of the way from chance to a perfect MAP below which the class space learned nothing of the labels."""

MOST_LOOKED_AT = 1_000
"""Training pairs by which features as they are are scored; nothing was learned from them."""


@dataclass(frozen=True)
class Figure:
    """A score on validation, and what random embeddings would have."""

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
        figures: "MRR" of validation items' own partners, "MAP" of their classes, where these can be scored.
    """

    candidate: Candidate
    method: Method
    figures: dict[str, Figure]

    @classmethod
    def of(cls, candidate: Candidate, method: Method, data: TrainingData) -> "Trial":
        """Score a fitted method on validation, its partner space by partners and its class space by classes."""
        scorers: list[tuple[Validation | None, Purpose]] = [(Validation.of(data), "class")]
        validation = data.validation
        if validation is not None and len(validation.having_two_of(*data.modalities)) >= FEWEST_PAIRS:
            scorers.insert(0, (Validation.of(without_labels(data)), "partner"))
        figures = {}
        for scorer, purpose in scorers:
            if scorer is None or scorer.measure in figures or (scorer.by == "partner") != (purpose == "partner"):
                continue
            wanted: Purpose = purpose if purpose in method.spaces else "auto"
            embedded = {name: method.embed(name, rows, wanted) for name, rows in scorer.rows.items()}
            figures[scorer.measure] = Figure(scorer.score(embedded, method.similarity), scorer.chance())
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
    """Whether features as they are find the partners of training pairs clearly better than chance does.

    Of more than two modalities, those of every two that occur together have to.
    """
    found = [_finds_partners(data, two, seed) for two in combinations(data.modalities, 2)]
    known = [each for each in found if each is not None]
    return bool(known) and all(known)


def _finds_partners(data: TrainingData, modalities: tuple[str, str], seed: int) -> bool | None:
    """Whether features of two modalities find partners; None where no two items have both."""
    pairs = data.train.having(*modalities)
    part = pairs.take(np.sort(generator(seed, "auto", "looked at").permutation(len(pairs))[:MOST_LOOKED_AT]))
    if len(part) < 2:
        return None
    first, second = (_dense(part.features(name)) for name in modalities)
    found = evaluate_instances(first, second, part.documents.tolist(), part.documents.tolist())
    chance, ranks = found.chance["mean_reciprocal_rank"], 1.0 / found.ranks
    return bool(ranks.mean() > 2 * chance and ranks.mean() - chance > 3 * ranks.std() / np.sqrt(len(ranks)))


def reason(best: Trial, trials: Sequence[Trial], found: Situation, plan: "Affordable", note: str | None) -> str:
    """One sentence: what was chosen, what the data have, what validation says, and what was left out.

    Args:
        best: the chosen one.
        trials: all that were fitted.
        found: what there was to learn from.
        plan: how much of it could be afforded.
        note: what was said of the labels before.
    """
    parts = [f"{best.candidate.method} ({best.candidate.words})", found.words()]
    parts.append(f"on validation {best.words()}" if best.figures else "too few validation items to score by")
    parts += [
        f"{trial.candidate.method} ({trial.candidate.words}) has {trial.words()}"
        for trial in trials
        if trial is not best and trial.figures
    ]
    return "; ".join([*parts, *([note] if note else []), *_left_out(best, trials, found, plan)])


def _left_out(best: Trial, trials: Sequence[Trial], found: Situation, plan: "Affordable") -> list[str]:
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
