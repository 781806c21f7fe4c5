"""Train CDMLMR's network, machines first and then everything together, and freeze it into towers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import torch

from diptych._core.arrays import Integers, Singles
from diptych.methods.deep.dbn import EmbeddedModality, train_dbn
from diptych.methods.deep.deep_method import StageContext, frozen, validation_inputs
from diptych.methods.deep.layers import Chain, Columns, CountLayer, DenseLayer
from diptych.methods.deep.profile import Sizes
from diptych.methods.deep.tower_inputs import ModalityInputs
from diptych.methods.deep.towers import BranchLayer, MemberTower, Tower
from diptych.methods.selection import Validation
from diptych.methods.training_inputs import Documents, row_numbers
from diptych.nets.cdmlmr import BRANCH_GAIN, SHARED_GAIN, CdmlmrNetwork, CdmlmrOptions, DeepBelief, NetworkShape
from diptych.nets.cdmlmr_objective import CdmlmrObjective
from diptych.nets.dense import MemberLinear
from diptych.nets.rows import MixedBatches
from diptych.training import Cosine, History

RATE = 3e-3
WARM_UP = 20
DBN_RATE = 0.1
"""The rate of the machines' layers relative to the others': they are fine-tuned, not learned anew."""

VALIDATIONS = 4
LEAST_LABELLED_SHARE = 0.3


@dataclass(frozen=True)
class TrainedNetwork:
    """The trained network with what its inputs need, ready to be frozen.

    Attributes:
        net: the network, on the CPU.
        prepare: from each modality's stored rows to its features.
        history: how training went.
        key: of the stage, for what is built on it.
    """

    net: CdmlmrNetwork
    prepare: Mapping[str, Chain]
    history: History
    key: str


def train_network(
    context: StageContext,
    source: Documents,
    sizes: Sizes,
    switches: Mapping[str, Any],
    options: CdmlmrOptions,
    *,
    with_dbn: bool = True,
    rate: float = RATE,
) -> TrainedNetwork:
    """Train the machines, then everything together.

    Args:
        context: what the stages of the fit share.
        source: what to learn from.
        sizes: widths and steps.
        switches: the fields of `NetworkShape` that the method decides.
        options: of the losses.
        with_dbn: whether there are machines at all.
        rate: learning rate.
    """
    names = context.data.modalities
    dbns = (
        {name: train_dbn(_dbn_context(context, sizes), name, counts_alone=True) for name in names} if with_dbn else {}
    )
    inputs = {name: ModalityInputs.of(context, source, name) for name in names}
    shape = NetworkShape(
        columns={name: inputs[name].columns for name in names},
        classes=len(context.data.classes),
        members=sizes.members,
        width=sizes.width,
        **switches,
    )
    net = CdmlmrNetwork(shape, {name: _deep_belief(dbn) for name, dbn in dbns.items()}, context.random("network"))
    rows = {name: inputs[name].tower_rows(context, source, name) for name in names}
    train = context.data.train
    together = [(a, b) for a, b in combinations(names, 2) if (train.has(a) & train.has(b)).any()]
    objective = CdmlmrObjective(
        net, rows, context.tensor(source.targets), options, paired=source.paired, pairs=together
    )
    scorer = _Scorer.of(context, net, inputs)
    batches = MixedBatches(
        len(source.targets),
        source.pool_sizes,
        sizes.batch_size,
        context.seed,
        labelled_share=_labelled_share(source),
        paired=source.paired,
    )
    schedule, every = Cosine(rate, sizes.steps, WARM_UP), max(1, sizes.steps // VALIDATIONS)
    settings = context.network_settings(sizes.steps, sizes.batch_size, schedule, sizes.weight_decay, every)
    trained = context.train(
        "network",
        objective,
        replace(settings, rate_multipliers={f"towers.{name}.dbn": DBN_RATE for name in names}),
        inputs={
            **{f"labelled {name}": source.of(name)[0] for name in names},
            **{f"scaled {name}": inputs[name].features(source.of(name)[0]) for name in names},
            **_missing(source, names),
            **{f"pool {name}": rows for name, rows in source.pool.items()},
            "targets": source.targets,
            **(scorer.inputs if scorer is not None else {}),
        },
        options={
            **asdict(options),
            **asdict(sizes),
            "shape": {**asdict(shape), "columns": list(shape.columns)},
            "paired": source.paired,
        },
        upstream=tuple(dbn.key for dbn in dbns.values()),
        batches=batches,
        validate=scorer,
    )
    prepare = {name: each.prepare for name, each in inputs.items()}
    return TrainedNetwork(net, prepare, trained.history, trained.key)


class _Scorer:
    """The mean MAP of both directions on validation, by the probability of sharing a class."""

    def __init__(
        self, context: StageContext, net: CdmlmrNetwork, validation: Validation, inputs: Mapping[str, ModalityInputs]
    ) -> None:
        self.net = net
        self.validation = validation
        self.inputs = validation_inputs(validation, validation.rows)
        self._rows = {}
        for name, rows in validation.rows.items():
            features = context.tensor(inputs[name].features(rows))
            visible = inputs[name].visible(rows)
            whole = features if visible is None else visible[torch.arange(len(features))].to(features)
            self._rows[name] = features, whole

    @classmethod
    def of(cls, context: StageContext, net: CdmlmrNetwork, inputs: Mapping[str, ModalityInputs]) -> "_Scorer | None":
        validation = Validation.of(context.data)
        return None if validation is None else cls(context, net, validation, inputs)

    def __call__(self) -> float:
        heads = [f"{name} classes" for name in self.net.heads]
        embeddings = {name: self.net.posteriors(name, *rows, heads).cpu().numpy() for name, rows in self._rows.items()}
        return self.validation.score(embeddings, similarity="dot")


def _dbn_context(context: StageContext, sizes: Sizes) -> StageContext:
    """The same context with the machines' sizes from the sizing rule instead of the profile."""
    steps = dict.fromkeys(("gaussian-rbm", "rbm-over-gaussian", "rbm-over-softmax"), sizes.dense_steps)
    steps["replicated-softmax"] = sizes.count_steps
    profile = replace(
        context.profile,
        steps={**context.profile.steps, **steps},
        dense_widths=sizes.dbn_widths,
        count_widths=sizes.dbn_widths,
        width_per_column=None,
    )
    return replace(context, profile=profile)


def _missing(source: Documents, names: Sequence[str]) -> dict[str, Integers]:
    """Which items have which modality, for the stage's key; nothing where all have all."""
    parts = {"labelled": source.labelled} | ({} if source.pool_items is None else {"pool": source.pool_items})
    found = {f"{which} rows {m}": row_numbers(part, m) for which, part in parts.items() for m in names}
    return {name: numbers for name, numbers in found.items() if numbers is not None}


def _labelled_share(source: Documents) -> float | None:
    pool = max(source.pool_sizes.values(), default=0)
    return max(LEAST_LABELLED_SHARE, len(source.targets) / (len(source.targets) + pool)) if pool else None


def _deep_belief(embedded: EmbeddedModality) -> DeepBelief:
    """A trained DBN's frozen layers as layers that can be trained on."""
    *_, first, second = embedded.chain
    assert isinstance(second, DenseLayer)
    upper = torch.from_numpy(second.weight), torch.from_numpy(second.bias)
    if isinstance(first, CountLayer):
        words = first.document_length or 1
        lower = torch.from_numpy(first.gain * first.weight), torch.from_numpy(words * first.bias)
        start = embedded.chain[0].start if isinstance(embedded.chain[0], Columns) else 0
        return DeepBelief(lower, upper, words, start)
    assert isinstance(first, DenseLayer)
    return DeepBelief((torch.from_numpy(first.weight), torch.from_numpy(first.bias)), upper, None)


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
    reading = [layer for layer in (tower.reads_dbn, tower.reads_features) if layer is not None]
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
        shared_classes=_on_spread(_frozen_layer(net.shared_classes, member, "linear"), SHARED_GAIN),
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
