"""The class space: how the trained towers' probabilities become codes, and how much the linear member counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from diptych._core.arrays import Features, Floats, Integers, Singles
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.linear_member import LEAST_JUDGES, fit_linear_member
from diptych.methods.deep.tower_inputs import Documents
from diptych.methods.deep.towers import (
    LEAST_PROBABILITY,
    BranchCode,
    ClassProbabilityCode,
    LinearMember,
    Tower,
    tempered,
)
from diptych.methods.deep.workshop import Workshop
from diptych.methods.posteriors import Posteriors
from diptych.methods.selection import Search, Validation

LINEAR_WEIGHTS = (0.25, 0.0, 0.5, 0.75, 1.0)
"""Shares of the linear member that validation chooses from; the first is taken where there is none."""

TEMPERATURES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 1.2, 1.5)
TOLERANCE = 0.05
"""Divided by the root of the number of validation items, a difference in MAP that is nothing but chance."""

ClassCode = ClassProbabilityCode | BranchCode


@dataclass(frozen=True)
class ClassSpace:
    """Each modality's code, and how it was chosen.

    Attributes:
        codes: from stored rows to rows of length one, by modality.
        heads: the softmax layers whose mean counts.
        linear_weight: the share of the linear member.
        search: what validation said.
        temperatures: of each modality's probabilities.
    """

    codes: dict[str, ClassCode]
    heads: tuple[str, ...]
    linear_weight: float
    search: Search
    temperatures: dict[str, float] = field(default_factory=dict)


def branch_space(source: Documents, towers: Mapping[str, Tower]) -> ClassSpace:
    """The branches' outputs as codes, less their mean over the training items."""
    codes: dict[str, ClassCode] = {
        name: BranchCode(tower, tower.codes(source.labelled.features(name)).mean(axis=0))
        for name, tower in towers.items()
    }
    return ClassSpace(codes, (), 0.0, Search())


def probability_space(
    shop: Workshop, source: Documents, towers: Mapping[str, Tower], *, linear_member: bool
) -> ClassSpace:
    """Class probabilities as codes.

    Validation chooses which softmax layers count, all or those of the branches, and the linear member's share; of
    choices that it can hardly tell apart the first is taken, and without validation too: all layers, and a quarter.

    Args:
        shop: the fit's workshop.
        source: what the network learned from.
        towers: the trained network.
        linear_member: whether there is one.
    """
    validation = Validation.of(shop.data)
    linear = _linear_members(shop, source, towers, validation) if linear_member else {}
    shares = LINEAR_WEIGHTS if linear else (0.0,)
    all_heads = next(iter(towers.values())).heads
    on_branches = tuple(head for head in all_heads if head not in ("net", "shared"))
    search, heads, share = Search(), all_heads, shares[0]
    if validation is not None:
        rows = validation.rows
        regressed = {name: _regressed(towers[name], each, rows[name]) for name, each in linear.items()}
        for trial in (all_heads, on_branches) if on_branches else (all_heads,):
            guessed = {name: replace(tower, heads=trial).posteriors(rows[name]) for name, tower in towers.items()}
            for weight in shares:
                mixed = {name: _mixed(guess, regressed.get(name), weight) for name, guess in guessed.items()}
                search.add({"heads": trial, "linear_weight": weight}, validation.score(mixed, "dot"))
        first = search.nearly_best(TOLERANCE / np.sqrt(min(len(labels) for labels in validation.labels.values())))[0]
        heads, share = first["heads"], first["linear_weight"]
    codes = {
        name: ClassProbabilityCode(
            replace(tower, heads=heads), LinearMember(linear[name], share) if share else None, place, len(towers)
        )
        for place, (name, tower) in enumerate(towers.items())
    }
    temperatures = {name: _temperature(shop, name, code) for name, code in codes.items()}
    codes = {name: replace(code, temperature=temperatures[name]) for name, code in codes.items()}
    return ClassSpace(dict(codes), heads, share, search, temperatures)


def _temperature(shop: Workshop, name: str, code: ClassProbabilityCode) -> float:
    """The temperature at which validation items' own classes are most probable; 1 where they are few."""
    part = shop.data.validation.having(name).labelled() if shop.data.validation is not None else None
    if part is None or len(part) < LEAST_JUDGES:
        return 1.0
    probabilities = code.probabilities(part.features(name))
    own = np.arange(len(part)), part.labels.codes

    def loss(temperature: float) -> float:
        return -float(np.log(np.maximum(tempered(probabilities, temperature)[own], LEAST_PROBABILITY)).mean())

    return min(TEMPERATURES, key=loss)


def _linear_members(
    shop: Workshop, source: Documents, towers: Mapping[str, Tower], validation: Validation | None
) -> dict[str, Posteriors]:
    members = {}
    for done, (name, tower) in enumerate(towers.items(), start=1):
        rows = _features(tower, source.labelled.features(name))
        judges = _judges(shop, tower, name) if validation is not None else None
        members[name], _ = fit_linear_member(rows, source.targets, judges, shop.seed)
        shop.progress("linear member", done, len(towers))
    return members


def _judges(shop: Workshop, tower: Tower, name: str) -> tuple[Singles, Integers] | None:
    """Scaled features and classes of labelled validation items."""
    if shop.data.validation is None:
        return None
    part = shop.data.validation.having(name).labelled()
    return (_features(tower, part.features(name)), part.labels.codes) if len(part) else None


def _features(tower: Tower, rows: Features) -> Singles:
    return run_chain(tower.prepare, rows)


def _regressed(tower: Tower, posteriors: Posteriors, rows: Features) -> Floats:
    return posteriors(_features(tower, rows).astype(np.float64))


def _mixed(guess: Floats, regressed: Floats | None, share: float) -> Floats:
    return guess if regressed is None or share == 0 else (1 - share) * guess + share * regressed
