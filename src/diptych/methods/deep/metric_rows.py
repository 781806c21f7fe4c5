"""What the multi-task network learns from: shallow shared codes of labelled documents and of the unlabelled pool."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Integers, Singles
from diptych.features import fit_scaling
from diptych.methods.deep.dbn_stage import CodedModality
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.nets.metric_learning import MetricRows


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
        upstream: the stage the codes come from.
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
    shop: Workshop, coded: Mapping[str, CodedModality], *, input_norm: str, graph_space: str, with_pool: bool
) -> MetricData:
    """Run the base network over what the protocol lets through.

    Args:
        shop: the fit's workshop.
        coded: each modality's way to S.
        input_norm: "zscore" standardises S with the statistics of the training pairs; "none" leaves it.
        graph_space: "raw" seeks neighbours in S as it is, "zscored" in what the network reads.
        with_pool: whether the losses have a use for unlabelled items.
    """
    data, names = shop.data, tuple(coded)
    pairs = data.train.having(*names)
    labelled = pairs.labelled()
    paired = with_pool and data.unlabelled_pairs is not None
    chains: dict[str, Chain] = {}
    training, rows, pool = {}, {}, {}
    arrays: dict[str, Singles] = {}
    for name, modality in coded.items():
        everything = run_chain(modality.chain, pairs.features(name))
        scaling: Chain = (fit_scaling(everything, "dense", input_norm),)
        chains[name] = (*modality.chain, *scaling)
        training[name] = run_chain(scaling, everything)
        known = everything[pairs.labels.is_labelled]
        unknown = _pool_codes(shop, name, modality) if with_pool else known[:0]
        pool[name] = len(unknown)
        parts = {"labelled": run_chain(scaling, known), "unlabelled": run_chain(scaling, unknown)}
        raw = graph_space == "raw"
        parts |= (
            {"labelled_codes": known, "unlabelled_codes": unknown}
            if raw
            else {f"{part}_codes": values for part, values in parts.items()}
        )
        rows[name] = MetricRows(**{part: shop.tensor(values) for part, values in parts.items()})
        arrays |= {f"{name} {part}": values for part, values in parts.items()}
    upstream = tuple(modality.key for modality in coded.values())
    return MetricData(chains, training, rows, arrays, labelled.labels.codes, pool, paired, upstream)


def _pool_codes(shop: Workshop, name: str, modality: CodedModality) -> Singles:
    """S of the unlabelled pool: of documents where their pairing may be used, else of single items."""
    data = shop.data
    if data.unlabelled_pairs is not None:
        return run_chain(modality.chain, data.unlabelled_pairs.features(name))
    if name not in data.pools:
        return np.zeros((0, modality.width), dtype=np.float32)
    return run_chain(modality.chain, data.pools[name])
