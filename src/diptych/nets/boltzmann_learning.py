"""Training a deep Boltzmann machine: mean field for the data, persistent chains for the model."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from diptych._core.errors import ConfigError
from diptych.nets.deep_boltzmann import DeepBoltzmannMachine, Layers
from diptych.nets.rbm import sample_binary
from diptych.nets.row_source import RowSource, same_length


class PersistentChains(nn.Module):
    """Gibbs chains that live on between steps (Tieleman 2008), their state in buffers so that a run can be resumed.

    Between steps only h⁽¹⁾ and h⁽³⁾ are kept: given them, v and h⁽²⁾ are drawn afresh.

    Args:
        model: the machine whose chains these are.
        count: number of chains.
        random: draws the first state, every unit on or off with even odds.
    """

    joint: Tensor

    def __init__(self, model: DeepBoltzmannMachine, count: int, random: torch.Generator) -> None:
        super().__init__()
        if count < 1:
            raise ConfigError(f"the number of chains is {count}; it must be at least 1.")
        for name, path in model.pathways.items():
            self.register_buffer(f"first_{name}", _even_odds(count, path.bottom.hidden_bias, random))
        self.register_buffer("joint", _even_odds(count, model.joint_bias, random))

    @torch.no_grad()
    def advance(self, model: DeepBoltzmannMachine, sweeps: int, random: torch.Generator) -> Layers:
        """Make Gibbs sweeps; return samples of v and h⁽²⁾ with the probabilities of h⁽¹⁾ and h⁽³⁾ given them.

        Probabilities in place of the last samples leave the expected statistics unchanged and lower their variance.
        """
        for _ in range(sweeps):
            kept = {name: self.get_buffer(f"first_{name}") for name in model.modalities}
            second = {
                name: sample_binary(probability, random)
                for name, probability in model.second_layers(kept, self.joint).items()
            }
            visible = {name: path.bottom.sample_visible(kept[name], random) for name, path in model.pathways.items()}
            first, joint = model.odd_layers(model.bottom_inputs(visible), second)
            for name, probability in first.items():
                kept[name].copy_(sample_binary(probability, random))
            self.joint.copy_(sample_binary(joint, random))
        return Layers(visible, first, second, joint)


class DeepBoltzmannObjective:
    """Stochastic ascent of the variational lower bound (Salakhutdinov and Hinton 2009).

    Gradient = statistics under the mean-field posterior of the batch − statistics under the model, the latter from
    persistent chains. Its negative is left in `.grad`. Start from machines trained layer by layer.

    Args:
        model: the machine to train.
        data: rows of each modality, paired by position.
        random: draws the first state of the chains.
        chains: number of chains.
        sweeps: Gibbs sweeps in each step.
        iterations: mean-field rounds in each step.
        damping: of the mean field.
    """

    module: nn.Module

    def __init__(
        self,
        model: DeepBoltzmannMachine,
        data: Mapping[str, RowSource],
        random: torch.Generator,
        *,
        chains: int = 100,
        sweeps: int = 5,
        iterations: int = 10,
        damping: float = 0.0,
    ) -> None:
        if sweeps < 1:
            raise ConfigError(f"the number of Gibbs sweeps is {sweeps}; it must be at least 1.")
        self.model = model
        self.chains = PersistentChains(model, chains, random)
        self.module = nn.ModuleDict({"model": model, "chains": self.chains})
        self.data = {name: data[name] for name in model.modalities}
        self.pairs = same_length(self.data.values())
        self.sweeps = sweeps
        self.iterations = iterations
        self.damping = damping

    def __len__(self) -> int:
        """Return the number of training pairs."""
        return self.pairs

    @torch.no_grad()
    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave the gradient in `.grad`; report the mean-field reconstruction error and the joint activity."""
        batch = {name: source[rows] for name, source in self.data.items()}
        positive = self.model.mean_field(batch, self.iterations, self.damping)
        negative = self.chains.advance(self.model, self.sweeps, random)
        pairs = zip(self.model.statistics(positive), self.model.statistics(negative), strict=True)
        for (parameter, observed), (_, imagined) in pairs:
            parameter.grad = imagined - observed
        return {"reconstruction_error": self._error(batch, positive), "mean_activity": positive.joint.mean()}

    def _error(self, batch: Mapping[str, Tensor], posterior: Layers) -> Tensor:
        errors = []
        for name, path in self.model.pathways.items():
            guess = path.bottom.visible_mean(posterior.first[name])
            errors.append(
                path.bottom.reconstruction_error(path.bottom.statistics(batch[name]), path.bottom.statistics(guess))
            )
        return torch.stack(errors).mean()


def _even_odds(count: int, units: Tensor, random: torch.Generator) -> Tensor:
    return sample_binary(torch.full((count, len(units)), 0.5), random).to(units)
