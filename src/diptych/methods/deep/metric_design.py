"""What the multi-task network is and what it learns from: its design, and the rows of labelled and unlabelled items."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from diptych._core.arrays import Integers, Singles
from diptych.features import fit_scaling
from diptych.methods.deep.dbn import EmbeddedModality
from diptych.methods.deep.deep_method import StageContext
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.profile import PUBLISHED
from diptych.nets.dense import activation_function
from diptych.nets.metric_learning import MetricRows
from diptych.nets.pathways import Branch, Representation, TrunkActivation, representation, require_comparable
from diptych.nets.rows import MixedBatches
from diptych.training import Constant, LoopSettings

PATIENCE = 3
"""Validations without improvement after which training stops: it is done once for every value on trial."""


@dataclass(frozen=True)
class MetricDesign:
    """The network and its batches, apart from what the losses leave open.

    Attributes:
        branches: the losses trained.
        activation: of the trunks.
        share_branch_fc: whether modalities share the layer of a branch.
        batch_size: items of one modality in a batch.
        labelled_share: share of labelled documents in it; None for that of the pools.
        class_balanced: draw all classes equally often.
        rate: learning rate.
        bias_rate_multiplier: learning rate of biases, relative to the weights'.
        clip_norm: largest norm of the gradients; None for no limit.
        scored_by: the representation whose validation score decides which weights are kept.
        centred: whether representations are retrieved without their mean over the training items.
    """

    branches: tuple[Branch, ...]
    activation: TrunkActivation
    share_branch_fc: bool
    batch_size: int
    labelled_share: float | None
    class_balanced: bool
    rate: float
    bias_rate_multiplier: float
    clip_norm: float | None
    scored_by: Representation
    centred: bool

    def check(self) -> None:
        """Refuse what cannot be trained, before anything is.

        Raises:
            ConfigError: for a value that is unknown or out of range.
        """
        activation_function(self.activation)
        require_comparable(self.scored_by, self.share_branch_fc)
        nothing = torch.zeros(1, 1)
        representation(self.scored_by, dict.fromkeys(self.branches, nothing), nothing)
        MixedBatches(1, {}, self.batch_size, 0, labelled_share=self.labelled_share)
        self.settings(PUBLISHED["metric"]).check()

    def settings(self, base: LoopSettings) -> LoopSettings:
        """The settings of the stage: those of its profile with what is decided here."""
        return replace(
            base,
            rate=Constant(self.rate),
            batch_size=self.batch_size,
            bias_rate_multiplier=self.bias_rate_multiplier,
            clip_norm=self.clip_norm,
            patience=base.patience and min(base.patience, PATIENCE),
        )


@dataclass(frozen=True)
class MetricData:
    """Everything the second stage reads, ready for training.

    Attributes:
        chains: from stored rows to the network's input, by modality.
        training: that input for all training pairs, labelled or not.
        rows: labelled documents and pool, as the objective takes them.
        arrays: the same rows as arrays, for the stage's key.
        labels: classes of the labelled documents.
        pool: unlabelled items of each modality.
        paired: whether the pool holds documents, whose pairing may be used.
        upstream: the stage the embeddings come from.
    """

    chains: dict[str, Chain]
    training: dict[str, Singles]
    rows: dict[str, MetricRows]
    arrays: dict[str, Singles]
    labels: Integers
    pool: dict[str, int]
    paired: bool
    upstream: tuple[str, ...]


def metric_data(
    context: StageContext,
    embedded: Mapping[str, EmbeddedModality],
    *,
    input_norm: str,
    graph_space: str,
    with_pool: bool,
) -> MetricData:
    """Run the base network over what the protocol lets through.

    Args:
        context: what the stages of the fit share.
        embedded: each modality's way to S.
        input_norm: "zscore" standardises S with the statistics of the training pairs; "none" leaves it.
        graph_space: "raw" seeks neighbours in S as it is, "zscored" in what the network reads.
        with_pool: whether the losses have a use for unlabelled items.
    """
    data, names = context.data, tuple(embedded)
    pairs = data.train.having(*names)
    labelled = pairs.labelled()
    paired = with_pool and data.unlabelled_pairs is not None
    chains: dict[str, Chain] = {}
    training, rows, pool = {}, {}, {}
    arrays: dict[str, Singles] = {}
    for name, modality in embedded.items():
        everything = run_chain(modality.chain, pairs.features(name))
        scaling: Chain = (fit_scaling(everything, "dense", input_norm),)
        chains[name] = (*modality.chain, *scaling)
        training[name] = run_chain(scaling, everything)
        known = everything[pairs.labels.is_labelled]
        unknown = _pool_embeddings(context, name, modality) if with_pool else known[:0]
        pool[name] = len(unknown)
        parts = {"labelled": run_chain(scaling, known), "unlabelled": run_chain(scaling, unknown)}
        raw = graph_space == "raw"
        parts |= (
            {"labelled_embeddings": known, "unlabelled_embeddings": unknown}
            if raw
            else {f"{part}_embeddings": values for part, values in parts.items()}
        )
        rows[name] = MetricRows(**{part: context.tensor(values) for part, values in parts.items()})
        arrays |= {f"{name} {part}": values for part, values in parts.items()}
    upstream = tuple(modality.key for modality in embedded.values())
    return MetricData(chains, training, rows, arrays, labelled.labels.codes, pool, paired, upstream)


def _pool_embeddings(context: StageContext, name: str, modality: EmbeddedModality) -> Singles:
    """S of the unlabelled pool: of documents where their pairing may be used, else of single items."""
    data = context.data
    if data.unlabelled_pairs is not None:
        return run_chain(modality.chain, data.unlabelled_pairs.features(name))
    if name not in data.pools:
        return np.zeros((0, modality.width), dtype=np.float32)
    return run_chain(modality.chain, data.pools[name])
