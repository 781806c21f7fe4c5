"""Losses as pure functions: each returns unreduced terms, and one function reduces them."""

from diptych.nets.losses.contrastive import ContrastiveForm, contrastive_terms
from diptych.nets.losses.monitoring import active_share, output_spread, pair_figures
from diptych.nets.losses.quadruplet import Quadruplets, quadruplet_terms
from diptych.nets.losses.reduction import Reduction, reduce_terms
from diptych.nets.losses.squared_distance import squared_distances

__all__ = [
    "ContrastiveForm",
    "Quadruplets",
    "Reduction",
    "active_share",
    "contrastive_terms",
    "output_spread",
    "pair_figures",
    "quadruplet_terms",
    "reduce_terms",
    "squared_distances",
]
