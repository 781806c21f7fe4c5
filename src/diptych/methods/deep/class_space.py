"""The class space: how the trained towers' probabilities become embeddings, and how much the linear member counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch.nn import functional

from diptych._core.arrays import Features, Floats, Integers, Singles
from diptych._core.seeding import generator
from diptych.methods.deep.deep_method import Documents, StageContext
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.towers import (
    LEAST_PROBABILITY,
    BranchEmbedder,
    ClassProbabilityEmbedder,
    LinearMember,
    Tower,
    tempered,
)
from diptych.methods.selection import Search, Validation
from diptych.methods.semantic.posteriors import Posteriors

LINEAR_WEIGHTS = (0.25, 0.0, 0.5, 0.75, 1.0)
"""Shares of the linear member that validation chooses from; the first is taken where there is none."""

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
        linear_weight: the share of the linear member.
        search: what validation said.
        temperatures: of each modality's probabilities.
    """

    embedders: dict[str, ClassEmbedder]
    heads: tuple[str, ...]
    linear_weight: float
    search: Search
    temperatures: dict[str, float] = field(default_factory=dict)


def branch_space(source: Documents, towers: Mapping[str, Tower]) -> ClassSpace:
    """The branches' outputs as embeddings, less their mean over the training items."""
    embedders: dict[str, ClassEmbedder] = {
        name: BranchEmbedder(tower, tower.embeddings(source.labelled.features(name)).mean(axis=0))
        for name, tower in towers.items()
    }
    return ClassSpace(embedders, (), 0.0, Search())


def probability_space(
    context: StageContext, source: Documents, towers: Mapping[str, Tower], *, linear_member: bool
) -> ClassSpace:
    """Class probabilities as embeddings.

    Validation chooses which softmax layers count, all or those of the branches, and the linear member's share; of
    choices that it can hardly tell apart the first is taken, and without validation too: all layers, and a quarter.

    Args:
        context: what the stages of the fit share.
        source: what the network learned from.
        towers: the trained network.
        linear_member: whether there is one.
    """
    validation = Validation.of(context.data)
    linear = _linear_members(context, source, towers, validation) if linear_member else {}
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
    embedders = {
        name: ClassProbabilityEmbedder(
            replace(tower, heads=heads), LinearMember(linear[name], share) if share else None, place, len(towers)
        )
        for place, (name, tower) in enumerate(towers.items())
    }
    temperatures = {name: _temperature(context, name, each) for name, each in embedders.items()}
    embedders = {name: replace(each, temperature=temperatures[name]) for name, each in embedders.items()}
    return ClassSpace(dict(embedders), heads, share, search, temperatures)


def _temperature(context: StageContext, name: str, embedder: ClassProbabilityEmbedder) -> float:
    """The temperature at which validation items' own classes are most probable; 1 where they are few."""
    part = context.data.validation.having(name).labelled() if context.data.validation is not None else None
    if part is None or len(part) < FEWEST_HELD_OUT:
        return 1.0
    probabilities = embedder.probabilities(part.features(name))
    own = np.arange(len(part)), part.labels.codes

    def loss(temperature: float) -> float:
        return -float(np.log(np.maximum(tempered(probabilities, temperature)[own], LEAST_PROBABILITY)).mean())

    return min(TEMPERATURES, key=loss)


def _linear_members(
    context: StageContext, source: Documents, towers: Mapping[str, Tower], validation: Validation | None
) -> dict[str, Posteriors]:
    members = {}
    for done, (name, tower) in enumerate(towers.items(), start=1):
        rows = _features(tower, source.labelled.features(name))
        held_out = _held_out(context, tower, name) if validation is not None else None
        members[name], _ = fit_linear_member(rows, source.targets, held_out, context.seed)
        context.progress("linear member", done, len(towers))
    return members


def _held_out(context: StageContext, tower: Tower, name: str) -> tuple[Singles, Integers] | None:
    """Scaled features and classes of labelled validation items."""
    if context.data.validation is None:
        return None
    part = context.data.validation.having(name).labelled()
    return (_features(tower, part.features(name)), part.labels.codes) if len(part) else None


def _features(tower: Tower, rows: Features) -> Singles:
    return run_chain(tower.prepare, rows)


def _regressed(tower: Tower, posteriors: Posteriors, rows: Features) -> Floats:
    return posteriors(_features(tower, rows).astype(np.float64))


def _mixed(guess: Floats, regressed: Floats | None, share: float) -> Floats:
    return guess if regressed is None or share == 0 else (1 - share) * guess + share * regressed


STRENGTHS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
"""Penalties from strong to weak: each solution starts from the one before, so that all cost little more than one."""

FEWEST_HELD_OUT = 100
"""Held-out rows below which the penalty is chosen on a fifth of the training rows instead."""

MOST_ROWS = 5_000
_STEPS = 30


def fit_linear_member(
    rows: Singles, targets: Singles, held_out: tuple[Singles, Integers] | None, seed: int
) -> tuple[Posteriors, float]:
    """Fit one modality's regression, its penalty chosen by the log-loss of held-out rows.

    The log-loss and not retrieval decides, because what is wanted are probabilities that can be believed.

    Args:
        rows: scaled features of the labelled training items.
        targets: their class probabilities.
        held_out: scaled features and class numbers of validation items; None for none.
        seed: of the fifth that is held out where validation items are few.

    Returns:
        The regression on all rows, and its penalty.
    """
    learning, scoring = _split(rows, targets, held_out, seed)
    trials = _path(*learning, STRENGTHS)
    best = int(np.argmin([_loss(solution, *scoring) for solution in trials]))
    if len(learning[0]) == len(rows):
        return _posteriors(trials[best]), STRENGTHS[best]
    everything = torch.from_numpy(rows), torch.from_numpy(targets)
    return _posteriors(_path(*everything, STRENGTHS[: best + 1])[-1]), STRENGTHS[best]


def held_out_loss(rows: Singles, targets: Singles, held_out: tuple[Singles, Integers] | None, seed: int) -> float:
    """The log-loss of held-out rows under a regression with a middle penalty: how well features tell the classes.

    At most `MOST_ROWS` training rows are looked at.
    """
    chosen = generator(seed, "features").permutation(len(rows))[:MOST_ROWS]
    learning, scoring = _split(rows[chosen], targets[chosen], held_out, seed)
    return _loss(_path(*learning, (1e-2,))[0], *scoring)


Rows = tuple[torch.Tensor, torch.Tensor]


def _split(rows: Singles, targets: Singles, held_out: tuple[Singles, Integers] | None, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from and to score by: validation items where they are enough, else a fifth of the training rows."""
    if held_out is not None and len(held_out[1]) >= FEWEST_HELD_OUT:
        known = np.eye(targets.shape[1], dtype=np.float32)[held_out[1]]
        return (torch.from_numpy(rows), torch.from_numpy(targets)), (
            torch.from_numpy(held_out[0]),
            torch.from_numpy(known),
        )
    order = generator(seed, "linear member").permutation(len(rows))
    scoring, learning = np.split(order, [max(1, len(rows) // 5)])
    return (torch.from_numpy(rows[learning]), torch.from_numpy(targets[learning])), (
        torch.from_numpy(rows[scoring]),
        torch.from_numpy(targets[scoring]),
    )


Solution = tuple[torch.Tensor, torch.Tensor]


def _path(rows: torch.Tensor, targets: torch.Tensor, strengths: Sequence[float]) -> list[Solution]:
    """Minimise (1/n) Σ −t log p + (strength / 2) ‖W‖² for each strength, by L-BFGS from the solution before."""
    weight = torch.zeros(rows.shape[1], targets.shape[1], requires_grad=True)
    bias = torch.zeros(targets.shape[1], requires_grad=True)
    solutions = []
    for strength in strengths:
        optimizer = torch.optim.LBFGS(
            [weight, bias], max_iter=_STEPS, history_size=10, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
        )

        def loss(optimizer: torch.optim.LBFGS = optimizer, strength: float = strength) -> float:
            optimizer.zero_grad()
            value = functional.cross_entropy(torch.addmm(bias, rows, weight), targets)
            value = value + 0.5 * strength * weight.square().sum()
            value.backward()  # type: ignore[no-untyped-call]
            return float(value.detach())

        optimizer.step(loss)  # type: ignore[no-untyped-call]
        solutions.append((weight.detach().clone(), bias.detach().clone()))
    return solutions


def _loss(solution: Solution, rows: torch.Tensor, targets: torch.Tensor) -> float:
    weight, bias = solution
    return float(functional.cross_entropy(torch.addmm(bias, rows, weight), targets))


def _posteriors(solution: Solution) -> Posteriors:
    weight, bias = (part.double().numpy() for part in solution)
    return Posteriors(weight, bias)
