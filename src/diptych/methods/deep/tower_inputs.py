"""What CDMLMR's towers read: how a modality's stored rows are scaled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features, Singles
from diptych.data import KindBlock
from diptych.data.modality import BlockKind
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.dbn import CLIP
from diptych.methods.deep.deep_method import StageContext
from diptych.methods.deep.layers import Chain, Clip, EqualLength, counts_block, prepare_blocks, run_chain
from diptych.methods.deep.profile import WIDE_COLUMNS
from diptych.methods.deep.regression_member import held_out_loss
from diptych.methods.training_inputs import Documents, row_numbers
from diptych.nets.cdmlmr_batch import TowerRows
from diptych.nets.rows import RowSource, SparseRows

WORDS = 100
"""The length that texts are brought to before the first machine reads them, as in its own settings."""

COUNT_CLIP = 30.0
"""What scaled words are kept within: one rare word in a short text is far from the mean, and should be."""


@dataclass(frozen=True)
class ModalityInputs:
    """How one modality's stored rows become what its tower reads.

    Where some columns are counts, the machines read those alone, and the nets read all columns beside.
    """

    prepare: Chain
    columns: int
    counts: KindBlock | None

    @classmethod
    def of(cls, context: StageContext, source: Documents, name: str) -> "ModalityInputs":
        """Learn how a modality's rows are scaled: in the way from which its classes are told best."""
        rows, kind = context.data.train.having(name).features(name), context.data.kinds[name]
        chains = [prepare_blocks(rows, kind, _chain_by("auto"))]
        if "zscore" in fit_scaling(rows, kind).recipe.split("|"):
            chains.append(prepare_blocks(rows, kind, _chain_by("sqrt+zscore")))
        prepare = _clearest(context, source, name, chains)
        return cls(prepare, rows.shape[1], counts_block(kind, rows.shape[1]))

    def features(self, rows: Features) -> Singles:
        """Stored rows as the nets read them."""
        return run_chain(self.prepare, rows)

    def visible(self, rows: Features) -> RowSource | None:
        """Word frequencies as the first machine reads them; None where it reads the features."""
        if self.counts is None:
            return None
        counts = sp.csr_array(rows[:, self.counts.start : self.counts.stop])
        words = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        scale = sp.diags_array(WORDS / np.maximum(words, 1e-10))
        return SparseRows(sp.csr_array(scale @ counts))

    def tower_rows(self, context: StageContext, source: Documents, name: str) -> TowerRows:
        """The labelled rows, and the unlabelled ones after them, where training runs."""
        known, _ = source.of(name)
        unknown = source.pool[name] if name in source.pool else known[:0]
        parts = context.tensor(self.features(known)), context.tensor(self.features(unknown))
        visible = self.visible(known), self.visible(unknown)
        both = (visible[0], visible[1]) if visible[0] is not None and visible[1] is not None else None
        numbers = [None if part is None else row_numbers(part, name) for part in (source.labelled, source.pool_items)]
        known_rows, pool_rows = (None if each is None else context.tensor(each) for each in numbers)
        return TowerRows(*parts, both, known_rows, pool_rows)


def _chain_by(dense_recipe: str) -> Callable[[Features, BlockKind], Chain]:
    """What prepares a block of columns, dense ones by a recipe."""

    def chain(rows: Features, kind: BlockKind) -> Chain:
        columns = rows.shape[1]
        if kind == "counts":
            return fit_scaling(rows, kind, "tfidf+centre"), Clip(COUNT_CLIP)
        tail: Chain = (Clip(CLIP), EqualLength(sqrt(columns))) if columns >= WIDE_COLUMNS else (Clip(CLIP),)
        return fit_scaling(rows, kind, dense_recipe), *tail

    return chain


def _clearest(context: StageContext, source: Documents, name: str, chains: Sequence[Chain]) -> Chain:
    """The way of scaling from which a regression tells the classes best: skewed features gain by a square root."""
    if len(chains) == 1:
        return chains[0]
    rows, targets = source.of(name)
    held_out = context.data.validation.having(name).labelled() if context.data.validation is not None else None
    losses = []
    for chain in chains:
        scored = None
        if held_out is not None and len(held_out):
            scored = run_chain(chain, held_out.features(name)), held_out.labels.shares.astype(np.float32)
        losses.append(held_out_loss(run_chain(chain, rows), targets, scored, context.seed))
    return chains[int(np.argmin(losses))]
