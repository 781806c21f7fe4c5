"""Freeze CDMLMR's trained network into towers that need no torch."""

from collections.abc import Mapping

import numpy as np
import torch

from diptych._core.arrays import Singles
from diptych.methods.deep.blocks import Columns
from diptych.methods.deep.layers import Chain, CountLayer, DenseLayer
from diptych.methods.deep.towers import BranchLayer, MemberTower, Tower
from diptych.methods.deep.workshop import frozen
from diptych.nets.cdmlmr import BRANCH_GAIN, CODE_GAIN, CdmlmrNetwork
from diptych.nets.members import MemberLinear


def frozen_towers(net: CdmlmrNetwork, prepare: Mapping[str, Chain]) -> dict[str, Tower]:
    """Each modality's tower, which gives what the network gives, to rounding."""
    return {name: _frozen_tower(net, name, chain) for name, chain in prepare.items()}


def _frozen_tower(net: CdmlmrNetwork, name: str, prepare: Chain) -> Tower:
    tower = net.tower(name)
    dbn: Chain = ()
    counts = False
    if tower.dbn is not None:
        upper = DenseLayer(frozen(tower.dbn.second_weight), frozen(tower.dbn.second_bias), "sigmoid")
        weight, bias = frozen(tower.dbn.first_weight), frozen(tower.dbn.first_bias)
        words = tower.dbn.words
        counts = words is not None
        lower = (
            DenseLayer(weight, bias, "sigmoid")
            if words is None
            else CountLayer(weight, np.asarray(bias / words, np.float32), 1.0, words)
        )
        dbn = (lower, upper)
        if counts and len(weight) < net.shape.columns[name]:
            dbn = (Columns(tower.dbn.first_column, tower.dbn.first_column + len(weight)), *dbn)
    members = tuple(_frozen_member(net, name, member) for member in range(net.shape.members))
    return Tower(prepare, dbn, counts, net.shape.read_features, members, net.heads)


def _frozen_member(net: CdmlmrNetwork, name: str, member: int) -> MemberTower:
    tower = net.tower(name)
    reading = [layer for layer in (tower.reads_code, tower.reads_features) if layer is not None]
    first = DenseLayer(
        np.concatenate([_weight(layer, member) for layer in reading]),
        np.sum([_bias(layer, member) for layer in reading], axis=0, dtype=np.float32),
        "relu",
    )
    skip = np.zeros((net.shape.columns[name], net.shape.width), dtype=np.float32)
    skip = _weight(tower.skip, member) if tower.skip is not None else skip
    entering = np.concatenate([_weight(tower.into_shared, member), skip])
    pathway = [_frozen_layer(layer, member, "relu") for layer in tower.pathway]
    if pathway:
        pathway[0] = _on_spread(pathway[0], 2.0)
    branches = {
        key: BranchLayer(
            _frozen_layer(layer, member, "sigmoid"),
            _scaled(_frozen_layer(net.branch_classes[key], member, "linear"), BRANCH_GAIN)
            if key in net.branch_classes
            else None,
        )
        for key, layer in tower.branches.items()
    }
    return MemberTower(
        net=(first, *(_frozen_layer(layer, member, "relu") for layer in tower.net)),
        net_classes=_frozen_layer(tower.net_classes, member, "linear"),
        shared=DenseLayer(entering, frozen(net.shared_bias[member]), "sigmoid"),
        shared_classes=_on_spread(_frozen_layer(net.shared_classes, member, "linear"), CODE_GAIN),
        pathway=tuple(pathway),
        branches=branches,
    )


def _on_spread(layer: DenseLayer, gain: float) -> DenseLayer:
    """The layer that does to x what the given one does to gain · (x − ½)."""
    weight = np.float32(gain) * layer.weight
    return DenseLayer(weight, layer.bias - np.float32(0.5) * weight.sum(axis=0), layer.activation)


def _scaled(layer: DenseLayer, gain: float) -> DenseLayer:
    return DenseLayer(np.float32(gain) * layer.weight, layer.bias, layer.activation)


def _frozen_layer(layer: torch.nn.Module, member: int, activation: str) -> DenseLayer:
    return DenseLayer(_weight(layer, member), _bias(layer, member), activation)


def _weight(layer: torch.nn.Module, member: int) -> Singles:
    assert isinstance(layer, MemberLinear)
    return frozen(layer.weight_of(member))


def _bias(layer: torch.nn.Module, member: int) -> Singles:
    assert isinstance(layer, MemberLinear)
    if layer.bias is None:
        return np.zeros(layer.weight.shape[-1], dtype=np.float32)
    return frozen(layer.bias[member])
