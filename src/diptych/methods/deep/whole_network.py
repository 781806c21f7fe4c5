"""Train CDMLMR's network as a whole: machines first, then everything together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from diptych.arrays import Features, Singles
from diptych.data import Partition
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.dbn_stage import CLIP, CodedModality, train_dbn
from diptych.methods.deep.layers import Chain, Clip, CountLayer, DenseLayer, EqualLength, run_chain
from diptych.methods.deep.linear_member import held_out_loss
from diptych.methods.deep.retrieval_judge import labels_key
from diptych.methods.deep.sizing import WIDE_COLUMNS, Sizes
from diptych.methods.deep.workshop import Workshop
from diptych.methods.selection import Validation
from diptych.nets.cdmlmr import CdmlmrNetwork, DeepBelief, NetworkShape
from diptych.nets.cdmlmr_objective import CdmlmrObjective, CdmlmrOptions, TowerRows
from diptych.nets.row_source import RowSource, SparseRows
from diptych.nets.samplers import MixedBatches
from diptych.training import Cosine, History, LoopSettings

RATE = 3e-3
WARM_UP = 20
DBN_RATE = 0.1
"""The rate of the machines' layers relative to the others': they are fine-tuned, not learned anew."""

WORDS = 100
"""The length that texts are brought to before the first machine reads them, as in its own settings."""

COUNT_CLIP = 30.0
"""What scaled words are kept within: one rare word in a short text is far from the mean, and should be."""

VALIDATIONS = 4
LEAST_LABELLED_SHARE = 0.3


@dataclass(frozen=True)
class Documents:
    """What the network learns from.

    Attributes:
        labelled: the training items that have every modality and a label.
        targets: their class probabilities, one-hot where labels are certain.
        pool: unlabelled rows of each modality; empty where the protocol has none.
        paired: whether row p of every pool is of one document.
    """

    labelled: Partition
    targets: Singles
    pool: Mapping[str, Features]
    paired: bool


def documents(shop: Workshop, *, with_pool: bool) -> Documents:
    """Take what the protocol lets through."""
    data = shop.data
    pairs = data.train.having(*data.modalities)
    labelled = pairs.labelled()
    if data.soft_labels is not None:
        chosen = np.isin(data.train.index, labelled.index)
        targets = np.asarray(data.soft_labels[chosen], dtype=np.float32)
    else:
        targets = np.eye(len(data.classes), dtype=np.float32)[labelled.labels.codes]
    paired = with_pool and data.unlabelled_pairs is not None and len(data.unlabelled_pairs) > 0
    pool: dict[str, Features] = {}
    if paired and data.unlabelled_pairs is not None:
        pool = {name: data.unlabelled_pairs.features(name) for name in data.modalities}
    elif with_pool:
        pool = {name: rows for name, rows in data.pools.items() if rows.shape[0]}
    return Documents(labelled, targets, pool if len(pool) == len(data.modalities) else {}, paired)


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
    dbns = {name: train_dbn(_dbn_shop(shop, sizes), name) for name in names} if with_dbn else {}
    inputs = {name: _ModalityInputs.of(shop, source, name) for name in names}
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


@dataclass(frozen=True)
class _ModalityInputs:
    """How one modality's stored rows become what its tower reads."""

    prepare: Chain
    columns: int
    counts: bool

    @classmethod
    def of(cls, shop: Workshop, source: Documents, name: str) -> "_ModalityInputs":
        rows, kind = shop.data.train.having(name).features(name), shop.data.kinds[name]
        columns = rows.shape[1]
        if kind == "counts":
            return cls((fit_scaling(rows, kind, "tfidf+centre"), Clip(COUNT_CLIP)), columns, True)
        tail: Chain = (Clip(CLIP), EqualLength(sqrt(columns))) if columns >= WIDE_COLUMNS else (Clip(CLIP),)
        scalings = [fit_scaling(rows, kind)]
        if scalings[0].recipe == "zscore":
            scalings.append(fit_scaling(rows, kind, "sqrt+zscore"))
        return cls(_clearest(shop, source, name, [(scaling, *tail) for scaling in scalings]), columns, False)

    def features(self, rows: Features) -> Singles:
        return run_chain(self.prepare, rows)

    def visible(self, rows: Features) -> RowSource | None:
        """Word frequencies as the first machine reads them; None where it reads the features."""
        if not self.counts or isinstance(rows, np.ndarray):
            return None
        words = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
        scale = sp.diags_array(WORDS / np.maximum(words, 1e-10))
        return SparseRows(sp.csr_array(scale @ rows))

    def tower_rows(self, shop: Workshop, source: Documents, name: str) -> TowerRows:
        known = source.labelled.features(name)
        unknown = source.pool[name] if name in source.pool else known[:0]
        parts = shop.tensor(self.features(known)), shop.tensor(self.features(unknown))
        visible = self.visible(known), self.visible(unknown)
        both = (visible[0], visible[1]) if visible[0] is not None and visible[1] is not None else None
        return TowerRows(*parts, visible=both)


def _clearest(shop: Workshop, source: Documents, name: str, chains: Sequence[Chain]) -> Chain:
    """The way of scaling from which a regression tells the classes best: skewed features gain by a square root."""
    if len(chains) == 1:
        return chains[0]
    rows = source.labelled.features(name)
    held_out = shop.data.validation.having(name).labelled() if shop.data.validation is not None else None
    losses = []
    for chain in chains:
        judges = None
        if held_out is not None and len(held_out):
            judges = run_chain(chain, held_out.features(name)), held_out.labels.codes
        losses.append(held_out_loss(run_chain(chain, rows), source.targets, judges, shop.seed))
    return chains[int(np.argmin(losses))]


class _Judge:
    """The mean MAP of both directions on validation, by the probability of sharing a class."""

    def __init__(
        self, shop: Workshop, net: CdmlmrNetwork, validation: Validation, inputs: Mapping[str, _ModalityInputs]
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
    def of(cls, shop: Workshop, net: CdmlmrNetwork, inputs: Mapping[str, _ModalityInputs]) -> "_Judge | None":
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
        return DeepBelief(lower, upper, words)
    assert isinstance(first, DenseLayer)
    return DeepBelief((torch.from_numpy(first.weight), torch.from_numpy(first.bias)), upper, None)
