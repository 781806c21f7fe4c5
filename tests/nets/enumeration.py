"""Exact answers for machines small enough to visit every state."""

from itertools import product
from math import lgamma, log, pi

import torch
from torch import Tensor
from torch.nn import functional

from diptych.nets import GaussianRBM, ReplicatedSoftmax, RestrictedBoltzmannMachine


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def shaken(rbm: RestrictedBoltzmannMachine, seed: int = 0, scale: float = 0.5) -> RestrictedBoltzmannMachine:
    """The machine in double precision with every parameter, biases included, away from zero."""
    rbm.double()
    random = seeded(seed)
    with torch.no_grad():
        for parameter in rbm.parameters():
            parameter.normal_(0.0, scale, generator=random)
    return rbm


def binary_states(units: int) -> Tensor:
    return torch.tensor(list(product([0.0, 1.0], repeat=units)), dtype=torch.float64)


def count_vectors(words: int, length: int) -> Tensor:
    rows = [row for row in product(range(length + 1), repeat=words) if sum(row) == length]
    return torch.tensor(rows, dtype=torch.float64)


def log_multinomial(counts: Tensor) -> Tensor:
    terms = [lgamma(sum(row) + 1) - sum(lgamma(k + 1) for k in row) for row in counts.tolist()]
    return torch.tensor(terms, dtype=torch.float64)


def gaussian_hidden_log_weights(rbm: GaussianRBM, states: Tensor) -> Tensor:
    """log ∫ exp(−E(v, h)) dv for every h, the visible units integrated out by hand."""
    pushed = states @ rbm.weight.t()
    own = states @ rbm.hidden_bias + pushed @ rbm.visible_bias + 0.5 * pushed.square().sum(1)
    return own + 0.5 * rbm.weight.shape[0] * log(2 * pi)


def visible_energy(rbm: RestrictedBoltzmannMachine, v: Tensor) -> Tensor:
    """The part of the energy that no hidden unit takes part in; counts without the log multinomial coefficient."""
    if isinstance(rbm, GaussianRBM):
        return 0.5 * (v - rbm.visible_bias).square().sum(1)
    return -((rbm.scaled(v) if isinstance(rbm, ReplicatedSoftmax) else v) @ rbm.visible_bias)


def free_energy(rbm: RestrictedBoltzmannMachine, v: Tensor) -> Tensor:
    """F(v) = −log Σ_h exp(−E(v, h)) for every row, where both gains are 1."""
    # Beyond the threshold softplus(x) is taken as x; torch's default of 20 is visible in double precision.
    return visible_energy(rbm, v) - functional.softplus(rbm.hidden_input(v), threshold=50).sum(1)


def gradients_of(value: Tensor, rbm: RestrictedBoltzmannMachine) -> tuple[Tensor, Tensor, Tensor]:
    """Derivative by weight, visible bias and hidden bias."""
    return torch.autograd.grad(value, (rbm.weight, rbm.visible_bias, rbm.hidden_bias))


def left_gradients(rbm: RestrictedBoltzmannMachine) -> tuple[Tensor, Tensor, Tensor]:
    """What an objective left in `.grad`, as an ascent direction."""
    return -rbm.weight.grad, -rbm.visible_bias.grad, -rbm.hidden_bias.grad
