"""Class votes: what the training items near a code say its class is."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_expit

from diptych._core.arrays import Floats
from diptych._core.state import stateful

_BLOCK_ENTRIES = 4_000_000


@stateful
@dataclass(frozen=True)
class Voters:
    """Training items of every modality in the shared space.

    Attributes:
        codes: where each voter stands.
        ballots: its 0/1 labels, voters × classes.
    """

    codes: Floats
    ballots: Floats


def class_votes(codes: Floats, voters: Voters, neighbours: int) -> Floats:
    """Let each code's nearest voters vote for their classes with weights that fall with distance.

    A voter's affinity is 1 / (1 + e^distance); the largest `neighbours` affinities, divided by their sum, make
    one row of W (items × voters), and the votes are V = W B for the 0/1 ballots B. The dot product of two votes
    is then W (B Bᵀ) Wᵀ: how much weight the two put on voters of the same class.
    """
    total = len(voters.codes)
    step = max(1, _BLOCK_ENTRIES // max(1, total))
    starts = range(0, max(1, len(codes)), step)
    return np.concatenate([_votes(codes[start : start + step], voters, min(neighbours, total)) for start in starts])


def _votes(codes: Floats, voters: Voters, count: int) -> Floats:
    affinities = log_expit(-cdist(codes, voters.codes))
    kept = np.argpartition(-affinities, count - 1, axis=1)[:, :count]
    nearest = np.take_along_axis(affinities, kept, axis=1)
    # Subtracting the largest logarithm leaves the shares as they are and keeps far codes from dividing zero by zero.
    weights = np.exp(nearest - nearest.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijc->ic", weights, voters.ballots[kept]))
