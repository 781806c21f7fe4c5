"""The regression that CDMLMR carries as a member: logistic, on the features or on a Gaussian kernel of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from diptych._core.arrays import Singles
from diptych._core.seeding import generator
from diptych.methods.deep.towers import Regression
from diptych.methods.linear.kernels import SHARPNESS, GaussianFeatures
from diptych.methods.semantic.posteriors import KernelPosteriors, Posteriors

STRENGTHS = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
"""Penalties from strong to weak: each solution starts from the one before, so that all cost little more than one.

They reach as far as the data may ask for, because weaker ones are tried only until held-out rows lose (`_best_on`).
Of `MANY_ROWS` every second one will do: the more rows, the less a penalty matters, and the longer a solution takes.
"""

TRIED_STRENGTHS = (3e-2, 3e-3, 3e-4, 3e-5)
"""The penalties by which kernels are compared."""

WORSE = 1.01
"""By this factor a held-out loss is clearly above the best so far; weaker penalties would then only be worse."""

FEWEST_HELD_OUT = 100
"""Held-out rows below which the penalty is chosen on a fifth of the training rows instead."""

MOST_ROWS = 5_000
MANY_ROWS = 4_000
"""From so many training rows on a kernel seldom pays: it is tried on fewer rows, and has to be clearly better."""

_STEPS = 30

HeldOut = tuple[Singles, Singles] | None
Rows = tuple[torch.Tensor, torch.Tensor]
Solution = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class RegressionChoice:
    """What was chosen on held-out rows.

    Attributes:
        strength: the penalty.
        sharpness: of the kernel, see `SHARPNESS`; None where the regression reads the features themselves.
    """

    strength: float
    sharpness: float | None = None


def fit_regression_member(
    rows: Singles, targets: Singles, held_out: HeldOut, seed: int, *, with_kernel: bool = True
) -> tuple[Regression, RegressionChoice]:
    """Fit one modality's regression, its penalty and its kernel chosen by the log-loss of held-out rows.

    The log-loss and not retrieval decides, because what is wanted are probabilities that can be believed. Whether a
    kernel is worth it is decided on a part of the training rows, and the winner fitted on all.

    Args:
        rows: scaled features of the labelled training items.
        targets: their class probabilities.
        held_out: scaled features and class probabilities of validation items; None for none.
        seed: of the fifth that is held out where validation items are few, and of the kernel's landmarks.
        with_kernel: whether kernels are tried.

    Returns:
        The regression on all rows, and what was chosen.
    """
    learning, scoring = _split(rows, targets, held_out, seed)
    sharpness = _best_sharpness(learning, scoring, seed) if with_kernel else None
    kernel = None if sharpness is None else GaussianFeatures.of(learning[0].numpy(), sharpness, seed)
    heard = _mapped(scoring[0], kernel), scoring[1]
    strengths = STRENGTHS[::2] if len(rows) >= MANY_ROWS else STRENGTHS
    best, solution, _ = _best_on(heard, _path(_mapped(learning[0], kernel), learning[1], strengths))
    if len(learning[0]) < len(rows):
        kernel = None if sharpness is None else GaussianFeatures.of(rows, sharpness, seed)
        everything = _mapped(torch.from_numpy(rows), kernel)
        *_, solution = _path(everything, torch.from_numpy(targets), strengths[: best + 1])
    weight, bias = (part.double().numpy() for part in solution)
    fitted = Posteriors(weight, bias) if kernel is None else KernelPosteriors.on(kernel, weight, bias)
    return fitted, RegressionChoice(strengths[best], sharpness)


def held_out_loss(rows: Singles, targets: Singles, held_out: HeldOut, seed: int) -> float:
    """The log-loss of held-out rows under a regression with a middle penalty: how well features tell the classes.

    At most `MOST_ROWS` training rows are looked at.
    """
    chosen = generator(seed, "features").permutation(len(rows))[:MOST_ROWS]
    learning, scoring = _split(rows[chosen], targets[chosen], held_out, seed)
    return _loss(next(_path(*learning, (1e-2,))), *scoring)


def _best_sharpness(learning: Rows, scoring: Rows, seed: int) -> float | None:
    """The kernel under which held-out rows' classes are most probable; None where no kernel beats the features."""
    many = len(learning[0]) >= MANY_ROWS
    most, landmarks, margin = (1_200, 400, 0.02) if many else (2_000, None, 0.0)
    order = generator(seed, "kernel trials").permutation(len(learning[0]))[:most]
    rows, targets = learning[0][order], learning[1][order]
    few = scoring[0][:most], scoring[1][:most]
    losses: dict[float | None, float] = {}
    for sharpness in (None, *SHARPNESS):
        kernel = None if sharpness is None else GaussianFeatures.of(rows.numpy(), sharpness, seed, landmarks)
        heard = _mapped(few[0], kernel), few[1]
        _, _, losses[sharpness] = _best_on(heard, _path(_mapped(rows, kernel), targets, TRIED_STRENGTHS))
    losses[None] *= 1.0 - margin
    return min(losses, key=lambda sharpness: losses[sharpness])


def _mapped(rows: torch.Tensor, kernel: GaussianFeatures | None) -> torch.Tensor:
    return rows if kernel is None else torch.from_numpy(kernel(rows.numpy()))


def _split(rows: Singles, targets: Singles, held_out: HeldOut, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from and to score by: validation items where they are enough, else a fifth of the training rows."""
    if held_out is not None and len(held_out[1]) >= FEWEST_HELD_OUT:
        heard, known = (torch.from_numpy(part) for part in held_out)
        return (torch.from_numpy(rows), torch.from_numpy(targets)), (heard, known)
    order = generator(seed, "linear member").permutation(len(rows))
    scoring, learning = np.split(order, [max(1, len(rows) // 5)])
    return (torch.from_numpy(rows[learning]), torch.from_numpy(targets[learning])), (
        torch.from_numpy(rows[scoring]),
        torch.from_numpy(targets[scoring]),
    )


def _best_on(held_out: Rows, path: Iterator[Solution]) -> tuple[int, Solution, float]:
    """The solution under which held-out rows' classes are most probable: its place on the path, itself, the loss."""
    best: tuple[int, Solution, float] | None = None
    for place, solution in enumerate(path):
        loss = _loss(solution, *held_out)
        if best is not None and loss > WORSE * best[2]:
            break
        if best is None or loss < best[2]:
            best = place, solution, loss
    assert best is not None
    return best


def _path(rows: torch.Tensor, targets: torch.Tensor, strengths: Sequence[float]) -> Iterator[Solution]:
    """Minimise (1/n) Σ −t log p + (strength / 2) ‖W‖² for each strength, by L-BFGS from the solution before."""
    weight = torch.zeros(rows.shape[1], targets.shape[1], requires_grad=True)
    bias = torch.zeros(targets.shape[1], requires_grad=True)
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
        yield weight.detach().clone(), bias.detach().clone()


def _loss(solution: Solution, rows: torch.Tensor, targets: torch.Tensor) -> float:
    weight, bias = solution
    return float(functional.cross_entropy(torch.addmm(bias, rows, weight), targets))
