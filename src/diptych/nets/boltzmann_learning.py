"""How Boltzmann machines learn: contrastive divergence for one layer, persistent chains for deep machines."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from diptych.nets.deep_boltzmann import DeepBoltzmannMachine, Layers
from diptych.nets.rbm import RestrictedBoltzmannMachine, sample_binary
from diptych.nets.rows import RowSource, same_length


class SparsityPenalty(nn.Module):
    """Pulls the mean activity q of every hidden unit towards a target ρ (Lee et al. 2007; rule of CMDN's toolkit).

    q ← decay·q + (1 − decay)·mean over the batch of p(h = 1 | v), starting at ρ;  s = cost·(q − ρ)/(q(1 − q)).

    Args:
        hidden: number of hidden units.
        target: ρ, between 0 and 1.
        cost: strength of the pull.
        decay: memory of the running mean.
    """

    activity: Tensor

    def __init__(self, hidden: int, target: float, cost: float, decay: float = 0.9) -> None:
        super().__init__()
        self.target = target
        self.cost = cost
        self.decay = decay
        self.register_buffer("activity", torch.full((hidden,), target))

    def update(self, batch_activity: Tensor) -> Tensor:
        """Move the running mean and return s for every hidden unit."""
        self.activity.mul_(self.decay).add_(batch_activity, alpha=1.0 - self.decay)
        q = self.activity.clamp(1e-6, 1.0 - 1e-6)
        return self.cost * (q - self.target) / (q * (1.0 - q))


Order = Callable[[int], int]
"""How many reconstructions a step makes."""


def constant_order(count: int = 1) -> Order:
    """Always make `count` reconstructions."""
    return lambda step: count


def step_up_order(start: int, every: int) -> Order:
    """Make one reconstruction before step `start`, then 2 + ⌊(step − start)/every⌋ (CMDN configuration)."""
    return lambda step: 1 if step < start else 2 + (step - start) // every


class ContrastiveDivergence:
    """CD-k (Hinton 2002) with probabilities in the statistics and samples only to drive the reconstruction.

        h⁺ = p(h | v⁺);  ĥ ~ h⁺;  k times: v⁻ = E[v | ĥ], h⁻ = p(h | v⁻), ĥ ~ h⁻
        G_W = (v⁺ᵀ(h⁺ − s) − v⁻ᵀh⁻)/B,  G_c = mean(h⁺) − mean(h⁻) − s,  G_b = mean(v⁺) − mean(v⁻)

    −G is left in `.grad`; rate, momentum and weight decay belong to the optimizer. s is the sparsity penalty.

    Args:
        rbm: the machine to train.
        data: its training rows.
        order: k as a function of the step.
        sparsity: the penalty, or None for none.
        sample_visible_from: the step from which v⁻ is a sample instead of the mean; None means never.
    """

    module: nn.Module

    def __init__(
        self,
        rbm: RestrictedBoltzmannMachine,
        data: RowSource,
        *,
        order: Order | None = None,
        sparsity: SparsityPenalty | None = None,
        sample_visible_from: int | None = None,
    ) -> None:
        self.rbm = rbm
        self.data = data
        self.order = constant_order() if order is None else order
        self.sparsity = sparsity
        self.sample_visible_from = sample_visible_from
        self.module = nn.ModuleDict({"rbm": rbm} if sparsity is None else {"rbm": rbm, "sparsity": sparsity})

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self.data)

    @torch.no_grad()
    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave −G in `.grad` and return the reconstruction error, the mean activity and the share of idle units.

        The error is that of the first reconstruction, so it stays comparable when the order steps up. A unit is idle
        when its mean activity over the batch is below 0.01 or above 0.99.
        """
        rbm = self.rbm
        observed = self.data[rows]
        positive = rbm.hidden_probability(observed)
        size = rbm.size(observed)
        observed = rbm.statistics(observed)
        activity = positive.mean(0)
        hidden, error = positive, activity
        for repeat in range(self.order(step)):
            fantasy = self._reconstruct(sample_binary(hidden, random), size, step, random)
            hidden = rbm.hidden_probability(fantasy)
            if repeat == 0:
                error = rbm.reconstruction_error(observed, rbm.statistics(fantasy))
        self._leave(observed, positive, activity, rbm.statistics(fantasy), hidden)
        idle = ((activity < 0.01) | (activity > 0.99)).to(activity.dtype).mean()
        return {"reconstruction_error": error, "mean_activity": activity.mean(), "idle_units": idle}

    def _reconstruct(self, sample: Tensor, size: Tensor | None, step: int, random: torch.Generator) -> Tensor:
        if self.sample_visible_from is not None and step >= self.sample_visible_from:
            return self.rbm.sample_visible(sample, random, size)
        return self.rbm.visible_mean(sample, size)

    def _leave(self, observed: Tensor, positive: Tensor, activity: Tensor, fantasy: Tensor, hidden: Tensor) -> None:
        """Write −G over `.grad`, reusing its memory where the loop has kept it."""
        rbm, share = self.rbm, 1.0 / len(observed)
        hidden_bias = hidden.mean(0) - activity
        if self.sparsity is not None:
            penalty = self.sparsity.update(activity)
            positive = positive - penalty
            hidden_bias += penalty
        weight = torch.empty_like(rbm.weight) if rbm.weight.grad is None else rbm.weight.grad
        torch.mm(fantasy.t(), hidden, out=weight)
        rbm.weight.grad = weight.addmm_(observed.t(), positive, beta=share, alpha=-share)
        rbm.hidden_bias.grad = hidden_bias
        rbm.visible_bias.grad = fantasy.mean(0) - observed.mean(0)


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
    ) -> None:
        self.model = model
        self.chains = PersistentChains(model, chains, random)
        self.module = nn.ModuleDict({"model": model, "chains": self.chains})
        self.data = {name: data[name] for name in model.modalities}
        self.pairs = same_length(self.data.values())
        self.sweeps = sweeps
        self.iterations = iterations

    def __len__(self) -> int:
        """Return the number of training pairs."""
        return self.pairs

    @torch.no_grad()
    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave the gradient in `.grad`; report the mean-field reconstruction error and the joint activity."""
        batch = {name: source[rows] for name, source in self.data.items()}
        positive = self.model.mean_field(batch, self.iterations)
        negative = self.chains.advance(self.model, self.sweeps, random)
        pairs = zip(self.model.statistics(positive), self.model.statistics(negative), strict=True)
        for (parameter, observed), (_, imagined) in pairs:
            parameter.grad = imagined - observed
        errors = []
        for name, path in self.model.pathways.items():
            seen, guess = batch[name], path.bottom.visible_mean(positive.first[name])
            errors.append(path.bottom.reconstruction_error(path.bottom.statistics(seen), path.bottom.statistics(guess)))
        return {"reconstruction_error": torch.stack(errors).mean(), "mean_activity": positive.joint.mean()}


def _even_odds(count: int, units: Tensor, random: torch.Generator) -> Tensor:
    return sample_binary(torch.full((count, len(units)), 0.5), random).to(units)
