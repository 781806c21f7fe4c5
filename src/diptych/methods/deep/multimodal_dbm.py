"""The multimodal deep Boltzmann machine, pretrained layer by layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from diptych._core.arrays import Features, Singles
from diptych._core.state import stateful
from diptych.features import fit_scaling
from diptych.methods.deep.dbn import CLIP, train_rbm
from diptych.methods.deep.deep_method import DeepMethod, StageContext
from diptych.methods.deep.layers import Chain, Clip, run_chain
from diptych.nets import (
    BernoulliRBM,
    DeepBoltzmannMachine,
    DeepBoltzmannObjective,
    GaussianRBM,
    ReplicatedSoftmax,
    RestrictedBoltzmannMachine,
    in_chunks,
)


@stateful
@dataclass(frozen=True)
class MachineLayout:
    """The shape of a deep Boltzmann machine: enough to build it again before its weights are loaded.

    Attributes:
        kinds: "counts" or "dense", by modality.
        widths: visible, first and second layer, by modality.
        joint: width of the joint layer.
    """

    kinds: dict[str, str]
    widths: dict[str, list[int]]
    joint: int

    def build(self) -> DeepBoltzmannMachine:
        """A machine of this shape, with weights yet to be loaded."""
        random = torch.Generator()
        pathways = {
            name: (
                bottom_machine(self.kinds[name], visible, first, random),
                BernoulliRBM(first, second, random=random),
            )
            for name, (visible, first, second) in self.widths.items()
        }
        groups = {name: widths[2] for name, widths in self.widths.items()}
        return DeepBoltzmannMachine.from_machines(pathways, BernoulliRBM(groups, self.joint, random=random))


@dataclass(frozen=True)
class Pretrained:
    """A machine ready to be trained as a whole."""

    machine: DeepBoltzmannMachine
    layout: MachineLayout
    chains: Mapping[str, Chain]
    keys: tuple[str, ...]


def bottom_machine(kind: str, visible: int, hidden: int, random: torch.Generator) -> RestrictedBoltzmannMachine:
    """The lowest machine of a pathway; its way up counts double, since the layer above will add as much again."""
    if kind == "counts":
        return ReplicatedSoftmax(visible, hidden, random=random, weight_std=0.01, up_gain=2.0)
    return GaussianRBM(visible, hidden, random=random, up_gain=2.0)


def pretrain(context: StageContext) -> Pretrained:
    """Train the machines of both pathways and the joint one, with gains that double the side that is alone.

    Rows with blocks of counts and of dense columns are taken as dense.
    """
    kinds = {name: "counts" if kind == "counts" else "dense" for name, kind in context.data.kinds.items()}
    pairs = context.data.train.having(*kinds)
    chains: dict[str, Chain] = {}
    pathways: dict[str, tuple[RestrictedBoltzmannMachine, RestrictedBoltzmannMachine]] = {}
    tops: dict[str, Singles] = {}
    keys: list[str] = []
    for name, kind in kinds.items():
        rows = pairs.features(name)
        chains[name] = () if kind == "counts" else (fit_scaling(rows, context.data.kinds[name]), Clip(CLIP))
        values = run_chain(chains[name], rows)
        widths = context.profile.dbn_widths(kind, values.shape[1])
        low = bottom_machine(kind, values.shape[1], widths[0], context.random("boltzmann", name, "1"))
        if isinstance(low, ReplicatedSoftmax):
            low.start_from_unigram(torch.from_numpy(values.sum(axis=0)))
        first_kind = "replicated-softmax" if kind == "counts" else "gaussian-rbm"
        key = train_rbm(context, f"{name} Boltzmann 1", first_kind, low, context.tensor(values), values)
        embeddings = _up(low, values)
        high = BernoulliRBM(*widths, random=context.random("boltzmann", name, "2"), up_gain=2.0, down_gain=2.0)
        above = "rbm-over-softmax" if kind == "counts" else "rbm-over-gaussian"
        keys.append(
            train_rbm(context, f"{name} Boltzmann 2", above, high, context.tensor(embeddings), embeddings, (key,))
        )
        tops[name] = _up(high, embeddings)
        pathways[name] = (low, high)
    joint = BernoulliRBM(
        {name: top.shape[1] for name, top in tops.items()},
        context.profile.joint_width,
        random=context.random("boltzmann", "joint"),
        down_gain=2.0,
    )
    rows_joint = np.concatenate(list(tops.values()), axis=1)
    keys.append(
        train_rbm(context, "Boltzmann joint", "joint-rbm", joint, context.tensor(rows_joint), rows_joint, tuple(keys))
    )
    layout = MachineLayout(
        kinds,
        {name: [low.weight.shape[0], *high.weight.shape] for name, (low, high) in pathways.items()},
        context.profile.joint_width,
    )
    return Pretrained(DeepBoltzmannMachine.from_machines(pathways, joint), layout, chains, tuple(keys))


def _up(rbm: RestrictedBoltzmannMachine, values: Singles) -> Singles:
    return np.asarray(in_chunks(rbm.hidden_probability, torch.from_numpy(values)).numpy())


_LEARNING = {"sweeps": 2, "iterations": 5}
_MEAN_FIELD_ROUNDS = 30


class MultimodalDBM(DeepMethod):
    """Two-layer pathways under a joint layer, as one undirected model; the embedding is the joint layer's mean field.

    The model starts from machines trained layer by layer; then the variational lower bound is maximised with mean field
    for the data and persistent Gibbs chains for the model. A modality alone is embedded by inferring the joint layer
    with the other modality unknown. No labels.

    Paper: Srivastava and Salakhutdinov, Multimodal Learning with Deep Boltzmann Machines, NIPS 2012.
    """

    citation: ClassVar[str] = (
        "N. Srivastava, R. Salakhutdinov. Multimodal Learning with Deep Boltzmann Machines. NIPS 2012."
    )

    def _train(self, context: StageContext) -> dict[str, Chain]:
        start = pretrain(context)
        pairs = context.data.train.having(*context.data.modalities)
        rows = {name: run_chain(chain, pairs.features(name)) for name, chain in start.chains.items()}
        sources = {name: context.tensor(values) for name, values in rows.items()}
        objective = DeepBoltzmannObjective(start.machine, sources, context.random("chains"), **_LEARNING)
        context.train(
            "deep Boltzmann machine",
            objective,
            context.settings("boltzmann-machine"),
            inputs=rows,
            options=_LEARNING,
            upstream=start.keys,
        )
        self._machine = start.machine
        self.weights_ = {name: value.numpy().copy() for name, value in start.machine.state_dict().items()}
        self.layout_ = start.layout
        return dict(start.chains)

    def _embed(self, modality: str, rows: Features) -> Singles:
        visible = torch.from_numpy(run_chain(self.chains_[modality], rows))
        return np.asarray(self._restored().mean_field({modality: visible}, _MEAN_FIELD_ROUNDS).joint.numpy())

    def _restored(self) -> DeepBoltzmannMachine:
        """The machine, built from the learned weights when the model was loaded."""
        if not hasattr(self, "_machine"):
            self._machine = self.layout_.build()
            self._machine.load_state_dict({name: torch.from_numpy(value) for name, value in self.weights_.items()})
        return self._machine
