"""A step of CDMLMR's second stage compared with the same losses in straightforward code.

A step is a batch of 100 documents with 512 columns per modality, two pathways of 3 x 256 units with two branches of
256, the online graph, balanced pairs, both losses, back-propagation and SGD. Synthetic data replace the codes of the
first stage: 2,173 labelled and 462 unlabelled documents of 10 classes, as in the Wikipedia dataset. Ours runs in the
training loop with all its logging and monitoring; the peers are `plain_second_stage` in a bare loop:

- `loops` computes quadruplets one by one;
- `library` reads them from the distance matrix of pytorch-metric-learning. Graph and selection are the same in both.

Given the same selection, all three must give the same loss. DIPTYCH_BENCH_STEPS changes the number of our steps.
"""

import copy
import os
import random
import time
from typing import Any

import numpy as np
import torch

from benchmarks import plain_second_stage as plain
from diptych._core.seeding import generator
from diptych.nets.metric_learning import MetricObjective, MetricOptions, MetricRows
from diptych.nets.pathways import Pathways
from diptych.nets.rows import MixedBatch, MixedBatches
from diptych.nets.samplers import balanced_pairs, graph_distances, neighbour_graph, sample_quadruplets
from diptych.training import Constant, LoopSettings, train

LABELLED, UNLABELLED, CLASSES, WIDTH, BATCH = 2_173, 462, 10, 512, 100
THREADS, PEER_STEPS = 2, 20
STEPS = int(os.environ.get("DIPTYCH_BENCH_STEPS", "5000"))
MODALITIES = ("image", "text")
WRITINGS: tuple[plain.Writing, ...] = ("loops", "library")


def run() -> dict[str, Any]:
    """Check that all agree, then time them."""
    torch.set_num_threads(THREADS)
    batches = MixedBatches(LABELLED, dict.fromkeys(MODALITIES, UNLABELLED), BATCH, seed=0)
    differences = loss_differences(make_objective(), batches(0))
    train_ours(make_objective(), batches, 20)  # start what is started once
    started = time.perf_counter()
    train_ours(make_objective(), batches, STEPS)
    seconds = time.perf_counter() - started
    ours_ms = 1e3 * seconds / STEPS
    figures: dict[str, Any] = {"threads": THREADS, "batch": BATCH, "ours_steps": STEPS, "ours_ms": ours_ms}
    figures["seconds_for_5000_steps"] = 5 * ours_ms
    for writing in WRITINGS:
        peer_ms = 1e3 * train_peer(make_objective(), batches, PEER_STEPS, writing) / PEER_STEPS
        figures |= {f"{writing}_ms": peer_ms, f"ratio_{writing}": peer_ms / ours_ms}
    return figures | differences


def make_objective() -> MetricObjective:
    """A fresh net on drawn codes of two modalities that scatter around the centres of their classes."""
    draw = generator(0, "benchmark", "second stage")
    labels = draw.integers(CLASSES, size=LABELLED + UNLABELLED)
    centres = draw.normal(scale=0.35, size=(CLASSES, WIDTH))
    rows = {}
    for name, noise in zip(MODALITIES, (1.2, 0.8), strict=True):
        drawn = centres[labels] + noise * draw.normal(size=(len(labels), WIDTH))
        codes = torch.from_numpy((1 / (1 + np.exp(-drawn))).astype(np.float32))
        scaled = (codes - codes[:LABELLED].mean(0)) / codes[:LABELLED].std(0)
        rows[name] = MetricRows(scaled[:LABELLED], scaled[LABELLED:], codes[:LABELLED], codes[LABELLED:])
    net = Pathways(dict.fromkeys(MODALITIES, WIDTH), torch.Generator().manual_seed(0))
    return MetricObjective(net, rows, torch.from_numpy(labels[:LABELLED]), MetricOptions())


def train_ours(objective: MetricObjective, batches: MixedBatches, steps: int) -> None:
    """Some steps through the loop that everything else is trained by."""
    settings = LoopSettings(
        steps, BATCH, "sgd", Constant(0.001), Constant(0.9), weight_decay=0.004, decay_biases=True, device="cpu"
    )
    train(objective, settings, batches=batches)


def train_peer(objective: MetricObjective, batches: MixedBatches, steps: int, writing: plain.Writing) -> float:
    """The seconds of some plain steps on the same net and batches."""
    net, draw = objective.module, random.Random(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=0.004)
    started = time.perf_counter()
    for step in range(steps):
        batch = batches(step)
        first, second = codes_of(objective, batch)
        labels = objective.labels[batch.labelled].tolist()
        near = plain.graph(first, second, objective.options.neighbours).tolist()
        pairs = plain.select_pairs(labels, near, draw)
        chosen = plain.select_quadruplets(labels, objective.options.quadruplets_per_item, draw)
        optimizer.zero_grad()
        plain_loss(objective, batch, pairs, chosen, writing).backward()
        optimizer.step()
    return time.perf_counter() - started


def plain_loss(
    objective: MetricObjective,
    batch: MixedBatch,
    pairs: tuple[plain.Pairs, plain.Pairs],
    chosen: list[plain.Quadruplet],
    writing: plain.Writing,
) -> torch.Tensor:
    """The total loss of a selection, the plain way."""
    rows, options = objective.rows, objective.options
    first, second = (objective.module(name, rows[name].inputs(batch.labelled, batch.unlabelled[name])) for name in rows)
    pulled = plain.contrastive(first["contrastive"], second["contrastive"], *pairs, options.contrastive_margin)
    ranked = plain.quadruplet(first["quadruplet"], second["quadruplet"], chosen, options.quadruplet_margin, writing)
    return pulled + ranked


def codes_of(objective: MetricObjective, batch: MixedBatch) -> list[torch.Tensor]:
    """Both modalities' rows of a batch in the space of the graph."""
    return [rows.embeddings(batch.labelled, batch.unlabelled[name]) for name, rows in objective.rows.items()]


def loss_differences(objective: MetricObjective, batch: MixedBatch) -> dict[str, Any]:
    """How far the peers are from our loss on what our step selects, and whether the graphs are the same."""
    options, labels = objective.options, objective.labels[batch.labelled]
    first, second = codes_of(objective, batch)
    distances = graph_distances(first, second)
    near = neighbour_graph(distances, options.neighbours)
    draw = torch.Generator().manual_seed(1)
    ours = float(objective.losses(batch, 0, copy.deepcopy(draw))[0].detach())
    # The step draws pairs first and quadruplets next, from one generator: the same draws give the same selection.
    selection = balanced_pairs(labels, near, distances, draw)
    chosen = torch.stack(sample_quadruplets(labels, options.quadruplets_per_item, draw)).t().tolist()
    pairs = tuple(counted(selection.weights * (selection.similar == kind)) for kind in (True, False))
    losses = {writing: float(plain_loss(objective, batch, pairs, chosen, writing).detach()) for writing in WRITINGS}
    figures: dict[str, Any] = {f"loss_difference_{writing}": abs(loss - ours) for writing, loss in losses.items()}
    return {"loss": ours, **figures, "same_graph": bool((plain.graph(first, second, options.neighbours) == near).all())}


def counted(weights: torch.Tensor) -> plain.Pairs:
    """Every pair as often as it was drawn."""
    return [(p, q) for p, q in weights.nonzero().tolist() for _ in range(int(weights[p, q]))]
