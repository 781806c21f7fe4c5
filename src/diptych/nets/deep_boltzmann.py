"""Multimodal deep Boltzmann machine: two-layer pathways under a joint layer, as one undirected model."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from math import sqrt
from typing import cast

import torch
from torch import Tensor, nn

from diptych.nets.rbm import BernoulliRBM, RestrictedBoltzmannMachine


@dataclass(frozen=True)
class Layers:
    """The value of every unit, one row an item: samples, or mean-field probabilities.

    Attributes:
        visible: v of each modality.
        first: h⁽¹⁾ of each modality.
        second: h⁽²⁾ of each modality.
        joint: h⁽³⁾, shared by all.
    """

    visible: dict[str, Tensor]
    first: dict[str, Tensor]
    second: dict[str, Tensor]
    joint: Tensor


class Pathway(nn.Module):
    """The two hidden layers of one modality.

    Args:
        bottom: visible layer, first hidden layer and what joins them; copied, with both gains set to 1, because an
            undirected model has one weight for both ways.
        second: number of units of the second hidden layer.
        random: the source of the weights between the hidden layers.
    """

    def __init__(self, bottom: RestrictedBoltzmannMachine, second: int, random: torch.Generator) -> None:
        super().__init__()
        self.bottom = deepcopy(bottom)
        self.bottom.up_gain = self.bottom.down_gain = 1.0
        self.weight = nn.Parameter(_normal(bottom.weight.shape[1], second, random).to(bottom.weight))
        self.bias = nn.Parameter(torch.zeros(second).to(bottom.weight))


class DeepBoltzmannMachine(nn.Module):
    """Modality pathways v – h⁽¹⁾ – h⁽²⁾ that meet in a joint layer h⁽³⁾ (Srivastava and Salakhutdinov 2012).

    E = Σ_m [E_m(v_m, h⁽¹⁾_m) − h⁽¹⁾_mᵀ U_m h⁽²⁾_m − d_mᵀ h⁽²⁾_m − h⁽²⁾_mᵀ J_m h⁽³⁾] − eᵀ h⁽³⁾,
    where E_m is the energy of a Gaussian machine or of a Replicated Softmax. The layers v, h⁽²⁾ are independent given
    h⁽¹⁾, h⁽³⁾ and the other way round, so both mean field and Gibbs sampling update the two halves in turn.

    Args:
        pathways: the modalities by name.
        joint: number of units of the joint layer.
        random: the source of the weights below the joint layer.
    """

    def __init__(self, pathways: Mapping[str, Pathway], joint: int, random: torch.Generator) -> None:
        super().__init__()
        self.modalities = tuple(pathways)
        self.pathways = cast("Mapping[str, Pathway]", nn.ModuleDict(pathways))
        self.joint_weights = nn.ParameterDict(
            {name: _normal(path.weight.shape[1], joint, random).to(path.weight) for name, path in pathways.items()}
        )
        self.joint_bias = nn.Parameter(torch.zeros(joint).to(next(iter(pathways.values())).weight))

    @classmethod
    def from_machines(
        cls,
        pathways: Mapping[str, tuple[RestrictedBoltzmannMachine, RestrictedBoltzmannMachine]],
        joint: BernoulliRBM,
    ) -> "DeepBoltzmannMachine":
        """Copy the weights of machines trained layer by layer.

        Each middle layer now has input from both sides. Machines trained with gains that double the side that was
        alone fit together without that input becoming twice too large (Salakhutdinov and Hinton 2009): (up, down)
        gains (2, 1) for the first machines, (2, 2) for the second, (1, 2) for the joint one.
        """
        random = torch.Generator()  # Every weight drawn from it is overwritten below.
        paths = {name: Pathway(low, high.weight.shape[1], random) for name, (low, high) in pathways.items()}
        model = cls(paths, joint.weight.shape[1], random)
        with torch.no_grad():
            for name, (_, high) in pathways.items():
                paths[name].weight.copy_(high.weight)
                paths[name].bias.copy_(high.hidden_bias)
                model.joint_weights[name].copy_(joint.weight[joint.columns(name)])
            model.joint_bias.copy_(joint.hidden_bias)
        return model

    def bottom_inputs(self, visible: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what each v given sends up to its h⁽¹⁾; mean field computes it once for the rows it knows."""
        return {name: self.pathways[name].bottom.hidden_input(v) for name, v in visible.items()}

    def odd_layers(
        self, bottom_inputs: Mapping[str, Tensor], second: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return p(h⁽¹⁾ = 1) of each modality and p(h⁽³⁾ = 1), given the inputs from v, and h⁽²⁾."""
        first = {
            name: torch.sigmoid(torch.addmm(bottom_inputs[name], second[name], path.weight.t()))
            for name, path in self.pathways.items()
        }
        joint = self.joint_bias + sum(second[name] @ weight for name, weight in self.joint_weights.items())
        return first, torch.sigmoid(joint)

    def second_layers(self, first: Mapping[str, Tensor], joint: Tensor) -> dict[str, Tensor]:
        """Return p(h⁽²⁾ = 1) of each modality, given h⁽¹⁾ and h⁽³⁾."""
        return {
            name: torch.sigmoid(first[name] @ path.weight + path.bias + joint @ self.joint_weights[name].t())
            for name, path in self.pathways.items()
        }

    @torch.no_grad()
    def mean_field(self, known: Mapping[str, Tensor], iterations: int = 30) -> Layers:
        """Return the factorised posterior over all that is not known: hidden layers and missing modalities.

        Every update is a step of coordinate ascent on the variational lower bound. Missing modalities start from what
        their biases alone say.

        Args:
            known: rows of one modality or more.
            iterations: how many rounds.
        """
        state, inputs = self._upward(known)
        for _ in range(iterations):
            first, joint = self.odd_layers(inputs, state.second)
            second = self.second_layers(first, joint)
            guess = {n: p.bottom.visible_mean(first[n]) for n, p in self.pathways.items() if n not in known}
            inputs |= self.bottom_inputs(guess)
            state = Layers({**state.visible, **guess}, first, second, joint)
        return state

    def statistics(self, layers: Layers) -> list[tuple[nn.Parameter, Tensor]]:
        """Return, for every parameter, the mean over rows of minus the derivative of the energy.

        For counts it is divided by the document length, as in the training of the Replicated Softmax. The own terms of
        a Gaussian visible bias are left out, since they cancel between the two phases.
        """
        share = 1.0 / len(layers.joint)
        found = [(self.joint_bias, layers.joint.mean(0))]
        for name, path in self.pathways.items():
            v = path.bottom.statistics(layers.visible[name])
            first, second = layers.first[name], layers.second[name]
            found += [
                (path.bottom.weight, share * v.t() @ first),
                (path.bottom.visible_bias, v.mean(0)),
                (path.bottom.hidden_bias, first.mean(0)),
                (path.weight, share * first.t() @ second),
                (path.bias, second.mean(0)),
                (self.joint_weights[name], share * second.t() @ layers.joint),
            ]
        return found

    def _upward(self, known: Mapping[str, Tensor]) -> tuple[Layers, dict[str, Tensor]]:
        """Start mean field with one pass from the visible layers to the top; also return the inputs from below."""
        rows = len(next(iter(known.values())))
        zero = {n: p.weight.new_zeros(rows, p.weight.shape[0]) for n, p in self.pathways.items()}
        visible = {n: known[n] if n in known else p.bottom.visible_mean(zero[n]) for n, p in self.pathways.items()}
        inputs = self.bottom_inputs(visible)
        first = {n: torch.sigmoid(x) for n, x in inputs.items()}
        second = {n: torch.sigmoid(first[n] @ p.weight + p.bias) for n, p in self.pathways.items()}
        _, joint = self.odd_layers(inputs, second)
        return Layers(visible, first, second, joint), inputs


def _normal(rows: int, columns: int, random: torch.Generator) -> Tensor:
    return torch.empty(rows, columns).normal_(0.0, 1.0 / sqrt(columns), generator=random)
