"""Mean field in a deep Boltzmann machine as a graph: its rounds are unrolled, its weights kept once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diptych.arrays import Singles
from diptych.export.traced import Traced

ROUNDS = 30
_DOCUMENT_LENGTH = 100
"""Both as `diptych.methods.multimodal_dbm` has them; the check of every export would notice a difference."""


@dataclass(frozen=True)
class _Pathway:
    """The two hidden layers of one modality, see `diptych.nets.deep_boltzmann`."""

    counts: bool
    bottom: Singles
    visible_bias: Singles
    first_bias: Singles
    upper: Singles
    second_bias: Singles
    joint: Singles

    @classmethod
    def of(cls, weights: Mapping[str, Singles], kind: str, name: str) -> "_Pathway":
        head = f"pathways.{name}."
        return cls(
            kind == "counts",
            weights[f"{head}bottom.weight"],
            weights[f"{head}bottom.visible_bias"],
            weights[f"{head}bottom.hidden_bias"],
            weights[f"{head}weight"],
            weights[f"{head}bias"],
            weights[f"joint_weights.{name}"],
        )

    def from_below(self, visible: Traced) -> Traced:
        """What v sends up to the first layer."""
        if not self.counts:
            return visible @ self.bottom + self.first_bias
        words = visible.sum()
        scaled = visible / words.maximum(1e-10) * _DOCUMENT_LENGTH
        return scaled @ self.bottom + words.positive() * _DOCUMENT_LENGTH * self.first_bias

    def visible_mean(self, first: Traced) -> Traced:
        """What v is expected to be, given the first layer."""
        mean = first @ self.bottom.T + self.visible_bias
        return mean.softmax() * _DOCUMENT_LENGTH if self.counts else mean

    def first(self, below: Traced, second: Traced) -> Traced:
        """The first layer, between v and the second."""
        return (second @ self.upper.T + below).sigmoid()

    def second(self, first: Traced, joint: Traced | None = None) -> Traced:
        """The second layer, between the first and the joint one."""
        total = first @ self.upper + self.second_bias
        return (total if joint is None else total + joint @ self.joint.T).sigmoid()


def joint_mean_field(
    weights: Mapping[str, Singles], kinds: Mapping[str, str], known: str, visible: Traced, rounds: int = ROUNDS
) -> Traced:
    """The joint layer when one modality is known, as `DeepBoltzmannMachine.mean_field` infers it."""
    paths = {name: _Pathway.of(weights, kind, name) for name, kind in kinds.items()}
    # A missing modality starts from one constant row, which stretches over the batch when the joint layer meets it.
    nothing = {name: visible.like(np.zeros((1, path.bottom.shape[1]))) for name, path in paths.items()}
    seen = {name: visible if name == known else path.visible_mean(nothing[name]) for name, path in paths.items()}
    below = {name: path.from_below(seen[name]) for name, path in paths.items()}
    second = {name: path.second(below[name].sigmoid()) for name, path in paths.items()}
    joint = _joint(weights["joint_bias"], paths, second)
    for _ in range(rounds):
        first = {name: path.first(below[name], second[name]) for name, path in paths.items()}
        joint = _joint(weights["joint_bias"], paths, second)
        second = {name: path.second(first[name], joint) for name, path in paths.items()}
        missing = {name: path.visible_mean(first[name]) for name, path in paths.items() if name != known}
        below |= {name: paths[name].from_below(values) for name, values in missing.items()}
    return joint


def _joint(bias: Singles, paths: Mapping[str, _Pathway], second: Mapping[str, Traced]) -> Traced:
    parts = [second[name] @ path.joint for name, path in paths.items()]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return (total + bias).sigmoid()
