"""One epoch of the largest machine of the base network, compared with scikit-learn's machine of the same shape.

Ours is the Gaussian machine 2,296 -> 2,048 with sparsity, momentum and weight decay, trained by the usual training
loop. The peer is `sklearn.neural_network.BernoulliRBM`, which has none of these. Both see 2,173 rows in batches of
128 and make one reconstruction per step. `ratio` compares equal precision (single); `ratio_double` is against
scikit-learn in double precision, NumPy's default. Both compute the same five matrix products per step, so only the
rest can differ.
"""

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.neural_network import BernoulliRBM

from diptych._core.arrays import Floats, Singles
from diptych._core.seeding import generator
from diptych.nets import ContrastiveDivergence, GaussianRBM, SparsityPenalty
from diptych.training import InverseT, LoopSettings, Ramp, train

ROWS, VISIBLE, HIDDEN, BATCH = 2_173, 2_296, 2_048, 128
STEPS = -(-ROWS // BATCH)
REPEATS = 3


def train_ours(rows: Singles, hidden: int = HIDDEN) -> None:
    """One epoch through the loop."""
    machine = GaussianRBM(rows.shape[1], hidden, random=torch.Generator().manual_seed(0))
    objective = ContrastiveDivergence(machine, torch.from_numpy(rows), sparsity=SparsityPenalty(hidden, 0.2, 0.1))
    settings = LoopSettings(
        steps=STEPS, batch_size=BATCH, rate=InverseT(0.001), momentum=Ramp(), weight_decay=1e-3, device="cpu"
    )
    train(objective, settings, count=len(rows))


def train_peer(rows: Singles | Floats, hidden: int = HIDDEN) -> None:
    """One epoch of scikit-learn's."""
    BernoulliRBM(hidden, batch_size=BATCH, n_iter=1, random_state=0).fit(rows)


def seconds(work: Callable[[], None]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_rss_mib() -> float:
    """The most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def run() -> dict[str, float]:
    """Measure all in turn; the fastest of a few repeats is the one least disturbed."""
    normal = generator(0, "bench-rbm").normal(size=(ROWS, VISIBLE)).astype(np.float32)
    shares = (1 / (1 + np.exp(-normal))).astype(np.float32)
    train_ours(normal[:, :8], hidden=4)  # both import and start what they need once
    train_peer(shares[:, :8], hidden=4)
    ours = [seconds(lambda: train_ours(normal))]
    peak = peak_rss_mib()
    single, double = [], []
    for _ in range(REPEATS):
        single.append(seconds(lambda: train_peer(shares)))
        double.append(seconds(lambda: train_peer(shares.astype(np.float64))))
        ours.append(seconds(lambda: train_ours(normal)))
    figures = {
        "ours_s": min(ours),
        "sklearn_s": min(single),
        "ratio": min(single) / min(ours),
        "sklearn_double_s": min(double),
        "ratio_double": min(double) / min(ours),
        "peak_rss_mib": peak,
    }
    return {name: round(value, 3) for name, value in figures.items()}
