"""Frozen layers of the deep methods."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from diptych.export.traced import Traced, side_by_side
from diptych.export.tracing import trace_steps, traces_step
from diptych.methods.deep.layers import Clip, CountLayer, DenseLayer, EqualLength, Parallel
from diptych.methods.two_tower_code import TwoTowerCode

if TYPE_CHECKING:  # their modules import torch, which tracing them does not need
    from diptych.methods.deep.joint_machine import JointCode
    from diptych.methods.deep.metric_stage import BranchOutputs, Centred

_ACTIVATIONS: dict[str, Callable[[Traced], Traced]] = {
    "sigmoid": Traced.sigmoid,
    "relu": lambda rows: rows.apply("Relu"),
    "tanh": lambda rows: rows.precisely("Tanh"),
    "linear": lambda rows: rows,
}


@traces_step("methods.deep.layers:DenseLayer")
def dense(layer: DenseLayer, rows: Traced) -> Traced:
    """activation(xW + b), in single precision as the layer itself has it."""
    return _ACTIVATIONS[layer.activation](rows.astype("float32") @ layer.weight + layer.bias)


@traces_step("methods.deep.layers:CountLayer")
def counts(layer: CountLayer, rows: Traced) -> Traced:
    """σ(N·c + gain·vW), v rescaled to N words if the length is fixed."""
    words, projected = rows.sum(), rows @ layer.weight
    if layer.document_length is not None:
        projected = projected * (words.like(layer.document_length) / words.maximum(1e-10))
        words = words.positive() * layer.document_length
    return (words * layer.bias + projected * layer.gain).sigmoid()


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


@traces_step("methods.two_tower_code:TwoTowerCode")
def two_tower_code(step: TwoTowerCode, rows: Traced) -> Traced:
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


@traces_step("methods.deep.metric_stage:BranchOutputs")
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


@traces_step("methods.deep.metric_stage:Centred")
def centred(step: "Centred", rows: Traced) -> Traced:
    """Rows less a fixed row."""
    return rows.astype("float32") - step.centre


@traces_step("methods.deep.joint_machine:JointCode")
def joint_code(step: "JointCode", rows: Traced) -> Traced:
    """The joint code inferred from one modality alone, the others filled in by mean field."""
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
