"""The class space: how the trained towers' probabilities become embeddings, and how much the regression counts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Floats, Singles
from diptych.methods.deep.deep_method import StageContext
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.regression_member import FEWEST_HELD_OUT, RegressionChoice, fit_regression_member
from diptych.methods.deep.towers import (
    LEAST_PROBABILITY,
    BranchEmbedder,
    ClassProbabilityEmbedder,
    Regression,
    RegressionMember,
    Tower,
    tempered,
)
from diptych.methods.selection import Search, Validation
from diptych.methods.training_inputs import Documents

REGRESSION_WEIGHTS = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Shares of the regression that validation chooses from; the first is taken where there is none."""

TEMPERATURES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 1.2, 1.5)
TOLERANCE = 0.05
"""Divided by the root of the number of validation items, a difference in MAP that is nothing but chance."""

ClassEmbedder = ClassProbabilityEmbedder | BranchEmbedder


@dataclass(frozen=True)
class ClassSpace:
    """What embeds each modality, and how it was chosen.

    Attributes:
        embedders: from stored rows to rows of length one, by modality.
        heads: the softmax layers whose mean counts.
        regression_weight: the share of the regression.
        search: what validation said.
        temperatures: of each modality's probabilities.
        regressions: penalty and kernel of each modality's regression.
    """

    embedders: dict[str, ClassEmbedder]
    heads: tuple[str, ...]
    regression_weight: float
    search: Search
    temperatures: dict[str, float] = field(default_factory=dict)
    regressions: dict[str, dict[str, Any]] = field(default_factory=dict)


def branch_space(source: Documents, towers: Mapping[str, Tower]) -> ClassSpace:
    """The branches' outputs as embeddings, less their mean over the training items."""
    embedders: dict[str, ClassEmbedder] = {
        name: BranchEmbedder(tower, tower.embeddings(source.of(name)[0]).mean(axis=0)) for name, tower in towers.items()
    }
    return ClassSpace(embedders, (), 0.0, Search())


def probability_space(
    context: StageContext, source: Documents, towers: Mapping[str, Tower], *, with_regression: bool, with_kernel: bool
) -> ClassSpace:
    """Class probabilities as embeddings.

    Validation chooses which softmax layers count, all or those of the branches, and the regression's share; of choices
    that it can hardly tell apart the first is taken, and without validation too: all layers, and one half.

    Args:
        context: what the stages of the fit share.
        source: what the network learned from.
        towers: the trained network.
        with_regression: whether there is one.
        with_kernel: whether it may read a kernel of the features.
    """
    validation = Validation.of(context.data)
    fitted = _regressions(context, source, towers, validation, with_kernel=with_kernel) if with_regression else {}
    regressions = {name: regression for name, (regression, _) in fitted.items()}
    shares = REGRESSION_WEIGHTS if regressions else (0.0,)
    all_heads = next(iter(towers.values())).heads
    on_branches = tuple(head for head in all_heads if head not in ("net", "shared"))
    search, heads, share = Search(), all_heads, shares[0]
    if validation is not None:
        rows = validation.rows
        regressed = {name: _regressed(towers[name], each, rows[name]) for name, each in regressions.items()}
        for trial in (all_heads, on_branches) if on_branches else (all_heads,):
            guessed = {name: replace(tower, heads=trial).posteriors(rows[name]) for name, tower in towers.items()}
            for weight in shares:
                mixed = {name: _mixed(guess, regressed.get(name), weight) for name, guess in guessed.items()}
                search.add({"heads": trial, "regression_weight": weight}, validation.score(mixed, "dot"))
        fewest = min(len(validation.labels[name]) for name, _ in validation.directions)
        first = search.nearly_best(TOLERANCE / np.sqrt(fewest))[0]
        heads, share = first["heads"], first["regression_weight"]
    embedders = {
        name: ClassProbabilityEmbedder(
            replace(tower, heads=heads),
            RegressionMember(regressions[name], share) if share else None,
            place,
            len(towers),
        )
        for place, (name, tower) in enumerate(towers.items())
    }
    temperatures = {name: _temperature(context, name, each) for name, each in embedders.items()}
    embedders = {name: replace(each, temperature=temperatures[name]) for name, each in embedders.items()}
    chosen = {name: asdict(choice) for name, (_, choice) in fitted.items()}
    return ClassSpace(dict(embedders), heads, share, search, temperatures, chosen)


def _temperature(context: StageContext, name: str, embedder: ClassProbabilityEmbedder) -> float:
    """The temperature at which validation items' own classes are most probable; 1 where they are few."""
    part = context.data.validation.having(name).labelled() if context.data.validation is not None else None
    if part is None or len(part) < FEWEST_HELD_OUT:
        return 1.0
    probabilities = embedder.probabilities(part.features(name))
    shares = part.labels.shares

    def loss(temperature: float) -> float:
        logs = np.log(np.maximum(tempered(probabilities, temperature), LEAST_PROBABILITY))
        return -float((shares * logs).sum(axis=1).mean())

    return min(TEMPERATURES, key=loss)


def _regressions(
    context: StageContext,
    source: Documents,
    towers: Mapping[str, Tower],
    validation: Validation | None,
    *,
    with_kernel: bool,
) -> dict[str, tuple[Regression, RegressionChoice]]:
    members = {}
    for done, (name, tower) in enumerate(towers.items(), start=1):
        known, targets = source.of(name)
        held_out = _held_out(context, tower, name) if validation is not None else None
        rows = _features(tower, known)
        members[name] = fit_regression_member(rows, targets, held_out, context.seed, with_kernel=with_kernel)
        context.progress("regression", done, len(towers))
    return members


def _held_out(context: StageContext, tower: Tower, name: str) -> tuple[Singles, Singles] | None:
    """Scaled features and class probabilities of labelled validation items."""
    if context.data.validation is None:
        return None
    part = context.data.validation.having(name).labelled()
    return (_features(tower, part.features(name)), part.labels.shares.astype(np.float32)) if len(part) else None


def _features(tower: Tower, rows: Features) -> Singles:
    return run_chain(tower.prepare, rows)


def _regressed(tower: Tower, posteriors: Regression, rows: Features) -> Floats:
    return posteriors(_features(tower, rows).astype(np.float64))


def _mixed(guess: Floats, regressed: Floats | None, share: float) -> Floats:
    return guess if regressed is None or share == 0 else (1 - share) * guess + share * regressed
