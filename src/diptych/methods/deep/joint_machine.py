"""A frozen joint machine: fill in the modality that is missing, in NumPy and without torch."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from diptych._core.arrays import Features, Singles
from diptych._core.state import stateful
from diptych.nets import BernoulliRBM


@stateful
@dataclass(frozen=True)
class JointMachine:
    """The top of a multimodal DBN: one hidden layer over the codes of several modalities.

    Attributes:
        weights: visible × hidden, by modality.
        visible_biases: by modality.
        hidden_bias: shared.
        iterations: rounds of mean field when a modality is missing.
    """

    weights: dict[str, Singles]
    visible_biases: dict[str, Singles]
    hidden_bias: Singles
    iterations: int

    @classmethod
    def of(cls, rbm: BernoulliRBM, iterations: int = 10) -> "JointMachine":
        """Freeze a trained machine with named groups."""
        weight, bias = (part.detach().cpu().numpy().copy() for part in (rbm.weight, rbm.visible_bias))
        return cls(
            {name: weight[rbm.columns(name)].copy() for name in rbm.groups},
            {name: bias[rbm.columns(name)].copy() for name in rbm.groups},
            rbm.hidden_bias.detach().cpu().numpy().copy(),
            iterations,
        )

    def complete(self, known: Mapping[str, Singles]) -> tuple[dict[str, Singles], Singles]:
        """The codes of all modalities, given or generated, and the joint code.

        Missing codes start at zero; then h ← σ(Σ v_m W_m + c) and each missing v_m ← σ(W_m h + b_m), in turn.
        """
        given = self.hidden_bias + sum(values @ self.weights[name] for name, values in known.items())
        missing = [name for name in self.weights if name not in known]
        generated: dict[str, Singles] = {}
        hidden = _sigmoid(given)
        for _ in range(self.iterations if missing else 0):
            generated = {name: _sigmoid(hidden @ self.weights[name].T + self.visible_biases[name]) for name in missing}
            hidden = _sigmoid(given + sum(values @ self.weights[name] for name, values in generated.items()))
        return {**known, **generated}, hidden


def _sigmoid(inputs: Singles) -> Singles:
    return np.asarray(expit(inputs), dtype=np.float32)


@stateful
@dataclass(frozen=True)
class JointCode:
    """The joint code inferred from one modality alone, as a step of a chain."""

    machine: JointMachine
    modality: str

    def __call__(self, codes: Features) -> Singles:
        """Infer the joint layer from this modality's codes."""
        return self.machine.complete({self.modality: np.asarray(codes, dtype=np.float32)})[1]
