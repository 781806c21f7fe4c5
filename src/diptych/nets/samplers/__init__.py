"""What a step of metric learning compares: mixed batches, balanced pairs, quadruplets."""

from diptych.nets.samplers.balanced_pairs import (
    PairSelection,
    UnlabelledNegatives,
    UnlabelledPairs,
    balanced_pairs,
    pick_one_per_row,
    unlabelled_group,
)
from diptych.nets.samplers.epochs import EpochStream
from diptych.nets.samplers.mixed_batch import MixedBatch, MixedBatches
from diptych.nets.samplers.quadruplets import sample_quadruplets

__all__ = [
    "EpochStream",
    "MixedBatch",
    "MixedBatches",
    "PairSelection",
    "UnlabelledNegatives",
    "UnlabelledPairs",
    "balanced_pairs",
    "pick_one_per_row",
    "sample_quadruplets",
    "unlabelled_group",
]
