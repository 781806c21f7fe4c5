"""The linear solution inside CDMLMR: logistic regression on the features, as one more member."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from diptych._core.arrays import Integers, Singles
from diptych._core.seeding import generator
from diptych.methods.posteriors import Posteriors

STRENGTHS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
"""Penalties from strong to weak: each solution starts from the one before, so that all cost little more than one."""

LEAST_JUDGES = 100
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
    learning, judging = _split(rows, targets, held_out, seed)
    trials = _path(*learning, STRENGTHS)
    best = int(np.argmin([_loss(solution, *judging) for solution in trials]))
    if len(learning[0]) == len(rows):
        return _posteriors(trials[best]), STRENGTHS[best]
    everything = torch.from_numpy(rows), torch.from_numpy(targets)
    return _posteriors(_path(*everything, STRENGTHS[: best + 1])[-1]), STRENGTHS[best]


def held_out_loss(rows: Singles, targets: Singles, held_out: tuple[Singles, Integers] | None, seed: int) -> float:
    """The log-loss of held-out rows under a regression with a middle penalty: how well features tell the classes.

    At most `MOST_ROWS` training rows are looked at.
    """
    chosen = generator(seed, "features").permutation(len(rows))[:MOST_ROWS]
    learning, judging = _split(rows[chosen], targets[chosen], held_out, seed)
    return _loss(_path(*learning, (1e-2,))[0], *judging)


Rows = tuple[torch.Tensor, torch.Tensor]


def _split(rows: Singles, targets: Singles, held_out: tuple[Singles, Integers] | None, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from and to judge by: validation items where they are enough, else a fifth of the training rows."""
    if held_out is not None and len(held_out[1]) >= LEAST_JUDGES:
        known = np.eye(targets.shape[1], dtype=np.float32)[held_out[1]]
        return (torch.from_numpy(rows), torch.from_numpy(targets)), (
            torch.from_numpy(held_out[0]),
            torch.from_numpy(known),
        )
    order = generator(seed, "linear member").permutation(len(rows))
    judging, learning = np.split(order, [max(1, len(rows) // 5)])
    return (torch.from_numpy(rows[learning]), torch.from_numpy(targets[learning])), (
        torch.from_numpy(rows[judging]),
        torch.from_numpy(targets[judging]),
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
