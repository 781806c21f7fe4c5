"""Frozen layers of the deep methods as graphs, mean field in a Boltzmann machine among them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from diptych._core.arrays import Singles
from diptych.export.graph import Traced, side_by_side, trace_steps, traces_step
from diptych.methods.binary_codes import BinaryCodes
from diptych.methods.deep.layers import Clip, Columns, CountLayer, DenseLayer, EqualLength, Parallel, Weighted
from diptych.methods.deep.towers import TwoTowerEmbedder

if TYPE_CHECKING:  # their modules import torch, which tracing them does not need
    from diptych.methods.deep.dbn import JointEmbedder
    from diptych.methods.deep.layers import BranchOutputs, Centred

_ACTIVATIONS: dict[str, Callable[[Traced], Traced]] = {
    "sigmoid": Traced.sigmoid,
    "relu": lambda rows: rows.apply("Relu"),
    "tanh": lambda rows: rows.precisely("Tanh"),
    "linear": lambda rows: rows,
}


@traces_step("methods.binary_codes:BinaryCodes")
def binary_codes(step: BinaryCodes, rows: Traced) -> Traced:
    """1 where a rotated coordinate of the centred unit embedding is positive, else 0."""
    return ((rows.unit_rows() - step.centre) @ step.rotation).positive()


@traces_step("methods.deep.layers:DenseLayer")
def dense(layer: DenseLayer, rows: Traced) -> Traced:
    """activation(xW + b), in single precision as the layer itself has it."""
    return _ACTIVATIONS[layer.activation](rows.astype("float32") @ layer.weight + layer.bias)


@traces_step("methods.deep.layers:CountLayer")
def counts(layer: CountLayer, rows: Traced) -> Traced:
    """σ(N·c + gain·vW), v rescaled to N counts if the length is fixed."""
    total, projected = rows.sum(), rows @ layer.weight
    if layer.document_length is not None:
        projected = projected * (total.like(layer.document_length) / total.maximum(1e-10))
        total = total.positive() * layer.document_length
    return (total * layer.bias + projected * layer.gain).sigmoid()


@traces_step("methods.deep.layers:Clip")
def clip(step: Clip, rows: Traced) -> Traced:
    """Values kept within ±limit."""
    return rows.clip(-step.limit, step.limit)


@traces_step("methods.deep.layers:EqualLength")
def equal_length(step: EqualLength, rows: Traced) -> Traced:
    """Rows at one length."""
    return rows.unit_rows() * step.length


@traces_step("methods.deep.layers:Parallel")
def parallel(step: Parallel, rows: Traced) -> Traced:
    """Several chains over the same rows, side by side."""
    return side_by_side([trace_steps(chain, rows).astype("float32") for chain in step.chains])


@traces_step("methods.deep.layers:Columns")
def columns(step: Columns, rows: Traced) -> Traced:
    """Some columns of every row."""
    return rows.columns(step.start, step.stop)


@traces_step("methods.deep.layers:Weighted")
def weighted(step: Weighted, rows: Traced) -> Traced:
    """Rows times one number."""
    return rows * step.factor


@traces_step("methods.deep.towers:TwoTowerEmbedder")
def two_tower_embedder(step: TwoTowerEmbedder, rows: Traced) -> Traced:
    """The members' embeddings side by side, their mean class probabilities, or both, each part at length one."""
    embeddings = [trace_steps(tower, rows) for tower in step.towers]
    parts = []
    if step.representation != "posteriors":
        parts.append(side_by_side([each.unit_rows() for each in embeddings]).unit_rows())
    if step.representation != "embedding":
        posteriors = [dense(layer, each).softmax() for layer, each in zip(step.classifiers, embeddings, strict=True)]
        total = posteriors[0]
        for each in posteriors[1:]:
            total = total + each
        parts.append(total.unit_rows())
    return side_by_side(parts)


@traces_step("methods.deep.layers:BranchOutputs")
def branch_outputs(step: "BranchOutputs", rows: Traced) -> Traced:
    """The branches' outputs put together, less their mean over the training items."""
    outputs = [dense(branch, rows) for branch in step.branches]
    if step.combine != "single":
        outputs = [each.unit_rows() for each in outputs]
    if step.combine == "mean":
        together = outputs[0]
        for each in outputs[1:]:
            together = together + each
        return together / len(outputs) - step.centre
    return side_by_side(outputs) - step.centre


@traces_step("methods.deep.layers:Centred")
def centred(step: "Centred", rows: Traced) -> Traced:
    """Rows less a fixed row."""
    return rows.astype("float32") - step.centre


@traces_step("methods.deep.dbn:JointEmbedder")
def joint_embedder(step: "JointEmbedder", rows: Traced) -> Traced:
    """The joint representation inferred from one modality alone, the others filled in by mean field."""
    machine = step.machine
    given = rows.astype("float32") @ machine.weights[step.modality] + machine.hidden_bias
    missing = [name for name in machine.weights if name != step.modality]
    hidden = given.sigmoid()
    for _ in range(machine.iterations if missing else 0):
        total = given
        for name in missing:
            weight = machine.weights[name]
            generated = (hidden @ weight.T + machine.visible_biases[name]).sigmoid()
            total = total + generated @ weight
        hidden = total.sigmoid()
    return hidden


ROUNDS = 30
_DOCUMENT_LENGTH = 100
"""Both as `diptych.methods.deep.multimodal_dbm` has them; the check of every export would notice a difference."""


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
        total = visible.sum()
        scaled = visible / total.maximum(1e-10) * _DOCUMENT_LENGTH
        return scaled @ self.bottom + total.positive() * _DOCUMENT_LENGTH * self.first_bias

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


def joint_mean_field(weights: Mapping[str, Singles], kinds: Mapping[str, str], known: str, visible: Traced) -> Traced:
    """The joint layer when one modality is known, as `DeepBoltzmannMachine.mean_field` infers it."""
    paths = {name: _Pathway.of(weights, kind, name) for name, kind in kinds.items()}
    # A missing modality starts from one constant row, which stretches over the batch when the joint layer meets it.
    nothing = {name: visible.like(np.zeros((1, path.bottom.shape[1]))) for name, path in paths.items()}
    seen = {name: visible if name == known else path.visible_mean(nothing[name]) for name, path in paths.items()}
    below = {name: path.from_below(seen[name]) for name, path in paths.items()}
    second = {name: path.second(below[name].sigmoid()) for name, path in paths.items()}
    joint = _joint(weights["joint_bias"], paths, second)
    for _ in range(ROUNDS):
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
