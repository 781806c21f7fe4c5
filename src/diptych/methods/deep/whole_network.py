"""Train CDMLMR's network as a whole: machines first, then everything together."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from diptych.methods.deep.blocks import Columns
from diptych.methods.deep.dbn_stage import CodedModality, train_dbn
from diptych.methods.deep.layers import Chain, CountLayer, DenseLayer
from diptych.methods.deep.retrieval_judge import labels_key
from diptych.methods.deep.sizing import Sizes
from diptych.methods.deep.tower_inputs import Documents, ModalityInputs
from diptych.methods.deep.workshop import Workshop
from diptych.methods.selection import Validation
from diptych.nets.cdmlmr import CdmlmrNetwork, DeepBelief, NetworkShape
from diptych.nets.cdmlmr_objective import CdmlmrObjective, CdmlmrOptions
from diptych.nets.mixed_batch import MixedBatches
from diptych.training import Cosine, History, LoopSettings

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
    shop: Workshop,
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
        shop: the fit's workshop.
        source: what to learn from.
        sizes: widths and steps.
        switches: the fields of `NetworkShape` that the method decides.
        options: of the losses.
        with_dbn: whether there are machines at all.
        rate: learning rate.
    """
    names = shop.data.modalities
    dbns = {name: train_dbn(_dbn_shop(shop, sizes), name, counts_alone=True) for name in names} if with_dbn else {}
    inputs = {name: ModalityInputs.of(shop, source, name) for name in names}
    shape = NetworkShape(
        columns={name: inputs[name].columns for name in names},
        classes=len(shop.data.classes),
        members=sizes.members,
        width=sizes.width,
        **switches,
    )
    net = CdmlmrNetwork(shape, {name: _deep_belief(dbn) for name, dbn in dbns.items()}, shop.random("network"))
    rows = {name: inputs[name].tower_rows(shop, source, name) for name in names}
    objective = CdmlmrObjective(net, rows, shop.tensor(source.targets), options, paired=source.paired)
    judge = _Judge.of(shop, net, inputs)
    batches = MixedBatches(
        len(source.targets),
        {name: rows.shape[0] for name, rows in source.pool.items()},
        sizes.batch_size,
        shop.seed,
        labelled_share=_labelled_share(source),
        paired=source.paired,
    )
    trained = shop.train(
        "network",
        objective,
        _settings(shop, sizes, rate),
        inputs={
            **{f"labelled {name}": source.labelled.features(name) for name in names},
            **{f"scaled {name}": inputs[name].features(source.labelled.features(name)) for name in names},
            **{f"pool {name}": rows for name, rows in source.pool.items()},
            "targets": source.targets,
            **(judge.inputs if judge is not None else {}),
        },
        options={
            **asdict(options),
            **asdict(sizes),
            "shape": {**asdict(shape), "columns": list(shape.columns)},
            "paired": source.paired,
        },
        upstream=tuple(dbn.key for dbn in dbns.values()),
        batches=batches,
        validate=judge,
    )
    prepare = {name: each.prepare for name, each in inputs.items()}
    return TrainedNetwork(net, prepare, trained.history, trained.key)


class _Judge:
    """The mean MAP of both directions on validation, by the probability of sharing a class."""

    def __init__(
        self, shop: Workshop, net: CdmlmrNetwork, validation: Validation, inputs: Mapping[str, ModalityInputs]
    ) -> None:
        self.net = net
        self.validation = validation
        self.inputs: dict[str, Any] = {f"validation {name}": rows for name, rows in validation.rows.items()}
        self.inputs["validation labels"] = labels_key(validation)
        self._rows = {}
        for name, rows in validation.rows.items():
            features = shop.tensor(inputs[name].features(rows))
            visible = inputs[name].visible(rows)
            whole = features if visible is None else visible[torch.arange(len(features))].to(features)
            self._rows[name] = features, whole

    @classmethod
    def of(cls, shop: Workshop, net: CdmlmrNetwork, inputs: Mapping[str, ModalityInputs]) -> "_Judge | None":
        validation = Validation.of(shop.data)
        return None if validation is None else cls(shop, net, validation, inputs)

    def __call__(self) -> float:
        heads = [f"{name} classes" for name in self.net.heads]
        codes = {name: self.net.posteriors(name, *rows, heads).cpu().numpy() for name, rows in self._rows.items()}
        return self.validation.score(codes, similarity="dot")


def _dbn_shop(shop: Workshop, sizes: Sizes) -> Workshop:
    """The workshop with the machines' sizes, which are the rule's and not the profile's."""
    steps = dict.fromkeys(("gaussian-rbm", "rbm-over-gaussian", "rbm-over-softmax"), sizes.dense_steps)
    steps["replicated-softmax"] = sizes.count_steps
    profile = replace(
        shop.profile,
        steps={**shop.profile.steps, **steps},
        dense_widths=sizes.dbn_widths,
        count_widths=sizes.dbn_widths,
        width_per_column=None,
    )
    return replace(shop, profile=profile)


def _settings(shop: Workshop, sizes: Sizes, rate: float) -> LoopSettings:
    return LoopSettings(
        steps=sizes.steps,
        batch_size=sizes.batch_size,
        optimizer="adamw",
        rate=Cosine(rate, sizes.steps, WARM_UP),
        weight_decay=sizes.weight_decay,
        decay_biases=True,
        rate_multipliers={f"towers.{name}.dbn": DBN_RATE for name in shop.data.modalities},
        validate_every=max(1, sizes.steps // VALIDATIONS),
        log_every=max(1, sizes.steps // 20),
        checkpoint_every=max(1, sizes.steps // 2),
        seed=shop.seed,
        device=shop.device,
        tensorboard=shop.settings("metric").tensorboard,
    )


def _labelled_share(source: Documents) -> float | None:
    pool = max((rows.shape[0] for rows in source.pool.values()), default=0)
    return max(LEAST_LABELLED_SHARE, len(source.targets) / (len(source.targets) + pool)) if pool else None


def _deep_belief(coded: CodedModality) -> DeepBelief:
    """A trained DBN's frozen layers as layers that can be trained on."""
    *_, first, second = coded.chain
    assert isinstance(second, DenseLayer)
    upper = torch.from_numpy(second.weight), torch.from_numpy(second.bias)
    if isinstance(first, CountLayer):
        words = first.document_length or 1
        lower = torch.from_numpy(first.gain * first.weight), torch.from_numpy(words * first.bias)
        start = coded.chain[0].start if isinstance(coded.chain[0], Columns) else 0
        return DeepBelief(lower, upper, words, start)
    assert isinstance(first, DenseLayer)
    return DeepBelief((torch.from_numpy(first.weight), torch.from_numpy(first.bias)), upper, None)
