"""A batch of CDMLMR: the rows of every modality after mixup and dropout, and which of them are of one document."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diptych.nets.rows import MixedBatch, RowSource, mixup_share


@dataclass(frozen=True)
class TowerRows:
    """One modality's training rows.

    Attributes:
        labelled: scaled features of the labelled documents that have the modality.
        unlabelled: those of the unlabelled pool.
        visible: what the DBN reads of the same two, where that is not the scaled features.
        labelled_rows: for every labelled document its row, -1 where it lacks the modality; None where row p is that of
            document p.
        unlabelled_rows: the same for the documents of a paired pool.
    """

    labelled: RowSource
    unlabelled: RowSource
    visible: tuple[RowSource, RowSource] | None = None
    labelled_rows: Tensor | None = None
    unlabelled_rows: Tensor | None = None


@dataclass(frozen=True)
class BatchRows:
    """What is known of one modality's rows in a batch, labelled ones first.

    Attributes:
        targets: the labelled rows' class probabilities, blended where rows are.
        documents: the number of each row's document within the batch; -1 for rows whose partners are not known.
    """

    targets: Tensor
    documents: Tensor

    @property
    def known(self) -> int:
        """How many rows are labelled."""
        return len(self.targets)

    def same_documents(self, other: "BatchRows", *, labelled: bool) -> tuple[Tensor, Tensor]:
        """The rows of documents that have both modalities: their numbers here, and in the other.

        Args:
            other: of the same batch.
            labelled: only those of labelled documents.
        """
        mine, theirs = self.documents, other.documents
        if labelled:
            mine, theirs = mine[: self.known], theirs[: other.known]
        first, second = torch.nonzero((mine[:, None] == theirs) & (mine >= 0)[:, None], as_tuple=True)
        return first, second


@dataclass(frozen=True)
class Noise:
    """What is done to rows before the network sees them.

    Attributes:
        mixup: parameter of the Beta distribution by which two labelled rows are blended; 0 blends none.
        input_dropout: share of the features set to zero.
        dropout: share of the supervised nets' units set to zero.
        units: members and width of the supervised nets.
    """

    mixup: float
    input_dropout: float
    dropout: float
    units: tuple[int, int]


def batch_inputs(
    rows: Mapping[str, TowerRows],
    targets: Tensor,
    drawn: MixedBatch,
    noise: Noise,
    random: torch.Generator,
    *,
    paired: bool,
) -> tuple[dict[str, Tensor], dict[str, BatchRows]]:
    """Put a batch together.

    A document is blended with another one in the modalities that both have, and stays as it is in the others. What a
    document lacks has no row.

    Args:
        rows: each modality's training rows.
        targets: the labelled documents' class probabilities.
        drawn: the documents of the batch.
        noise: what is done to rows.
        random: the only source of chance.
        paired: whether unlabelled rows are drawn as documents.

    Returns:
        What the network reads: by the modality's name its features, by "NAME visible" what the DBN reads where that is
        something else, by "NAME kept" what units are multiplied by; and what is known of the rows.
    """
    given, inputs, known_of = targets[drawn.labelled], dict[str, Tensor](), dict[str, BatchRows]()
    share, partner = 1.0, None
    if noise.mixup > 0 and len(given) > 1:
        partner = torch.randperm(len(given), generator=random, device=given.device)
        share = mixup_share(noise.mixup, random)

    for name, source in rows.items():
        picked = _pick(source, drawn, name, partner, paired=paired)

        def blended(known: Tensor, unknown: Tensor | None = None, mate: Tensor | None = picked.partner) -> Tensor:
            known = known if mate is None else known.lerp(known[mate], 1.0 - share)
            return known if unknown is None or not len(unknown) else torch.cat([known, unknown])

        features = blended(source.labelled[picked.labelled], source.unlabelled[picked.unlabelled])
        inputs[name] = features * kept_units(features.shape, noise.input_dropout, features, random)
        if source.visible is not None:
            visible = blended(source.visible[0][picked.labelled], source.visible[1][picked.unlabelled])
            kept = kept_units(visible.shape, noise.input_dropout, visible, random)
            inputs[f"{name} visible"] = visible * kept
        if noise.dropout > 0:
            sizes = (len(features), 3, *noise.units)
            inputs[f"{name} kept"] = kept_units(sizes, noise.dropout, features, random)
        known_of[name] = BatchRows(blended(given[picked.places]), picked.documents)
    return inputs, known_of


@dataclass(frozen=True)
class _Picked:
    """Which rows of a modality a batch holds.

    Attributes:
        labelled: row numbers of the labelled documents that have it.
        unlabelled: row numbers in the pool.
        places: which of the batch's labelled documents these are.
        partner: for each of them the one that it is blended with; itself where that lacks the modality.
        documents: see `BatchRows`.
    """

    labelled: Tensor
    unlabelled: Tensor
    places: Tensor
    partner: Tensor | None
    documents: Tensor


def _pick(source: TowerRows, drawn: MixedBatch, name: str, partner: Tensor | None, *, paired: bool) -> _Picked:
    count, device = len(drawn.labelled), drawn.labelled.device
    labelled, places = drawn.labelled, torch.arange(count, device=device)
    if source.labelled_rows is not None:
        rows = source.labelled_rows[labelled]
        has = rows >= 0
        labelled, places = rows[has], places[has]
        if partner is not None:
            within = has.cumsum(0) - 1
            partner = torch.where(has[partner], within[partner], within)[has]
    numbers = drawn.unlabelled.get(name, drawn.labelled[:0])
    pool = count + torch.arange(len(numbers), device=device)
    if source.unlabelled_rows is not None:
        rows = source.unlabelled_rows[numbers]
        numbers, pool = rows[rows >= 0], pool[rows >= 0]
    documents = torch.cat([places, pool if paired else torch.full_like(pool, -1)])
    return _Picked(labelled, numbers, places, partner, documents)


def kept_units(shape: torch.Size | tuple[int, ...], share: float, like: Tensor, random: torch.Generator) -> Tensor:
    """What units are multiplied by when a share of them is dropped and the others make up for it."""
    if share == 0:
        return like.new_ones(1)
    drawn = torch.rand(shape, generator=random, dtype=like.dtype, device=like.device)
    return (drawn >= share).to(like.dtype).mul_(1.0 / (1.0 - share))
