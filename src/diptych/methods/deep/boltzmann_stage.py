"""Layer-wise pretraining of a deep Boltzmann machine."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from diptych._core.arrays import Singles
from diptych._core.state import stateful
from diptych.features import fit_scaling
from diptych.methods.deep.dbn_stage import CLIP, train_rbm
from diptych.methods.deep.layers import Chain, Clip, run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.nets import (
    BernoulliRBM,
    DeepBoltzmannMachine,
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


def pretrain(shop: Workshop) -> Pretrained:
    """Train the machines of both pathways and the joint one, with gains that double the side that is alone.

    Rows with blocks of counts and of dense columns are taken as dense.
    """
    kinds = {name: "counts" if kind == "counts" else "dense" for name, kind in shop.data.kinds.items()}
    pairs = shop.data.train.having(*kinds)
    chains: dict[str, Chain] = {}
    pathways: dict[str, tuple[RestrictedBoltzmannMachine, RestrictedBoltzmannMachine]] = {}
    tops: dict[str, Singles] = {}
    keys: list[str] = []
    for name, kind in kinds.items():
        rows = pairs.features(name)
        chains[name] = () if kind == "counts" else (fit_scaling(rows, shop.data.kinds[name]), Clip(CLIP))
        values = run_chain(chains[name], rows)
        widths = shop.profile.dbn_widths(kind, values.shape[1])
        low = bottom_machine(kind, values.shape[1], widths[0], shop.random("boltzmann", name, "1"))
        if isinstance(low, ReplicatedSoftmax):
            low.start_from_unigram(torch.from_numpy(values.sum(axis=0)))
        first_kind = "replicated-softmax" if kind == "counts" else "gaussian-rbm"
        key = train_rbm(shop, f"{name} Boltzmann 1", first_kind, low, shop.tensor(values), values)
        codes = _up(low, values)
        high = BernoulliRBM(*widths, random=shop.random("boltzmann", name, "2"), up_gain=2.0, down_gain=2.0)
        above = "rbm-over-softmax" if kind == "counts" else "rbm-over-gaussian"
        keys.append(train_rbm(shop, f"{name} Boltzmann 2", above, high, shop.tensor(codes), codes, (key,)))
        tops[name] = _up(high, codes)
        pathways[name] = (low, high)
    joint = BernoulliRBM(
        {name: top.shape[1] for name, top in tops.items()},
        shop.profile.joint_width,
        random=shop.random("boltzmann", "joint"),
        down_gain=2.0,
    )
    rows_joint = np.concatenate(list(tops.values()), axis=1)
    keys.append(
        train_rbm(shop, "Boltzmann joint", "joint-rbm", joint, shop.tensor(rows_joint), rows_joint, tuple(keys))
    )
    layout = MachineLayout(
        kinds,
        {name: [low.weight.shape[0], *high.weight.shape] for name, (low, high) in pathways.items()},
        shop.profile.joint_width,
    )
    return Pretrained(DeepBoltzmannMachine.from_machines(pathways, joint), layout, chains, tuple(keys))


def _up(rbm: RestrictedBoltzmannMachine, values: Singles) -> Singles:
    return np.asarray(in_chunks(rbm.hidden_probability, torch.from_numpy(values)).numpy())
