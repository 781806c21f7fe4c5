"""The two losses together, against loops over pairs and quadruplets that follow the paper's formulas."""

from math import sqrt

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError, FitError
from diptych.data import Labels
from diptych.evaluation import mean_average_precision
from diptych.nets.metric_learning import MONITOR_EVERY, MetricObjective, MetricOptions, MetricRows, require_spread
from diptych.nets.pathways import Pathways
from diptych.nets.rows import MixedBatch, MixedBatches
from diptych.nets.samplers import balanced_pairs, sample_quadruplets
from nets.enumeration import seeded

SIZES = {"sound": 5, "text": 4}
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
LABELLED, UNLABELLED = len(LABELS), 6
BATCH = MixedBatch(torch.tensor([0, 1, 3, 4, 2]), {"sound": torch.tensor([5, 0, 2]), "text": torch.tensor([1, 4, 3])})
PAIRED_BATCH = BATCH._replace(unlabelled=dict.fromkeys(SIZES, torch.tensor([5, 0, 2])))
FIGURES = {"similar_distance", "dissimilar_distance", "active_hinges", "edge_purity", "active_quadruplets", "spread"}


def make_rows(seed=1):
    random = seeded(seed)
    rows = {}
    for name, size in SIZES.items():
        parts = [
            torch.randn(n, w, generator=random, dtype=torch.float64) for w in (size, 3) for n in (LABELLED, UNLABELLED)
        ]
        rows[name] = MetricRows(*parts)
    return rows


def make_objective(*, branches=("contrastive", "quadruplet"), paired=False, rows=None, labels=LABELS, **options):
    net = Pathways(SIZES, seeded(), branches=branches, widths=(6, 7), branch_width=9, activation="tanh").double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(3.0)  # away from the middle of the sigmoids, so that distances differ
    options = {"neighbours": 2, "contrastive_margin": 1.2, "quadruplet_margin": 0.5} | options
    return MetricObjective(net, rows or make_rows(), labels, MetricOptions(**options), paired=paired)


def naive_graph(first, second, options, labelled):
    """A(p, q) by sorting every row and every column by hand."""

    def far(a, b):
        if options.graph_metric == "cosine":
            return 1 - float(a @ b / (a.norm() * b.norm()))
        return float((a - b).square().sum())

    distances = [[far(a, b) for b in second] for a in first]

    def decided(p, q):
        either, both = p >= labelled or q >= labelled, p >= labelled and q >= labelled
        return either if options.unlabelled_pairs == "any" else both

    def eligible(p, q):
        return options.graph_pool == "batch" or decided(p, q)

    graph = torch.zeros(len(first), len(second), dtype=torch.bool)
    for p in range(len(first)):
        for q in sorted((q for q in range(len(second)) if eligible(p, q)), key=lambda q: distances[p][q])[
            : options.neighbours
        ]:
            graph[p, q] = True
    for q in range(len(second)):
        for p in sorted((p for p in range(len(first)) if eligible(p, q)), key=lambda p: distances[p][q])[
            : options.neighbours
        ]:
            graph[p, q] = True
    return graph, torch.tensor(distances, dtype=torch.float64)


def naive_dropout(x, share, random):
    kept = torch.rand(x.shape, generator=random, dtype=x.dtype) >= share if share else torch.ones_like(x)
    return x * kept / (1 - share)


def naive_total(objective, batch, step, random):
    """The total loss by loops; only the draws come from the samplers, with a generator of the same state."""
    options, net = objective.options, objective.module
    labels = objective.labels[batch.labelled]
    codes, outputs = [], []
    for name, rows in objective.rows.items():
        chosen = batch.labelled, batch.unlabelled[name]
        codes.append(torch.cat([rows.labelled_embeddings[chosen[0]], rows.unlabelled_embeddings[chosen[1]]]))
        x = torch.cat([rows.labelled[chosen[0]], rows.unlabelled[chosen[1]]])
        outputs.append(net(name, naive_dropout(x, options.dropout, random)))
    weight = options.unlabelled_weight if step >= options.unlabelled_from else 0.0
    total = torch.zeros((), dtype=torch.float64)
    if "contrastive" in net.branches:
        graph, distances = naive_graph(*codes, options, len(labels))
        known = None
        if objective.paired:
            known = torch.zeros_like(graph)
            for p in range(len(labels), len(graph)):
                known[p, p] = True
        drawn = balanced_pairs(
            labels,
            graph,
            distances,
            random,
            unlabelled_weight=weight,
            unlabelled_pairs=options.unlabelled_pairs,
            unlabelled_negatives=options.unlabelled_negatives,
            known_pairs=known,
        )
        total = total + options.contrastive_weight * naive_contrastive(
            outputs[0]["contrastive"], outputs[1]["contrastive"], drawn, options
        )
    if "quadruplet" in net.branches:
        if objective.paired and weight > 0:
            labels = torch.tensor([*labels.tolist(), *range(100, 100 + len(batch.unlabelled["sound"]))])
        total = total + options.quadruplet_weight * naive_quadruplet(
            outputs[0]["quadruplet"], outputs[1]["quadruplet"], labels, options, random
        )
    return total


def naive_contrastive(first, second, drawn, options):
    loss, weights = torch.zeros((), dtype=torch.float64), 0.0
    for p, q in torch.nonzero(drawn.weights).tolist():
        squared = (first[p] - second[q]).square().sum()
        alpha = options.contrastive_margin
        if options.contrastive_form == "eq5":
            term = squared if drawn.similar[p, q] else torch.relu(alpha - squared)
        else:
            term = 0.5 * squared if drawn.similar[p, q] else 0.5 * torch.relu(alpha - squared.sqrt()) ** 2
        loss = loss + drawn.weights[p, q] * term
        weights += float(drawn.weights[p, q])
    return loss / {"mean": weights, "batch": len(first), "sum": 1}[options.reduction]


def naive_quadruplet(first, second, labels, options, random):
    drawn = sample_quadruplets(labels, options.quadruplets_per_item, random)
    loss = torch.zeros((), dtype=torch.float64)
    for a, b, a_, b_ in zip(*(rows.tolist() for rows in drawn), strict=True):
        together = 2 * (first[a] - second[b]).square().sum()
        apart = (first[a] - second[b_]).square().sum() + (first[a_] - second[b]).square().sum()
        loss = loss + torch.relu(together - apart + options.quadruplet_margin)
    return loss / {"mean": len(drawn[0]), "batch": len(first), "sum": 1}[options.reduction]


def gradients_of(objective):
    return {name: parameter.grad for name, parameter in objective.module.named_parameters()}


CASES = {
    "defaults": {},
    "weights": {"contrastive_weight": 0.3, "quadruplet_weight": 2.5},
    "light unlabelled": {"unlabelled_weight": 0.1},
    "not yet": {"unlabelled_from": 8},
    "from now on": {"unlabelled_from": 7},
    "equation 5": {"contrastive_form": "eq5"},
    "sum": {"reduction": "sum"},
    "batch": {"reduction": "batch"},
    "cosine": {"graph_metric": "cosine"},
    "eligible": {"graph_pool": "eligible"},
    "both unlabelled": {"unlabelled_pairs": "both", "graph_pool": "eligible"},
    "far third": {"unlabelled_negatives": "far_third"},
    "dropout": {"dropout": 0.5},
    "more quadruplets": {"quadruplets_per_item": 7},
    "contrastive alone": {"branches": ["contrastive"]},
    "quadruplets alone": {"branches": ["quadruplet"]},
    "paired": {"paired": True},
    "paired, not yet": {"paired": True, "unlabelled_from": 8},
    "paired, without graph": {"paired": True, "neighbours": 0},
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_those_of_plain_loops(case):
    options = CASES[case]
    batch = PAIRED_BATCH if options.get("paired") else BATCH
    objective, other = make_objective(**options), make_objective(**options)
    figures = objective.gradients(batch, 7, seeded(5))
    expected = naive_total(other, batch, 7, seeded(5))
    expected.backward()
    assert expected > 0.01
    assert_close(figures["loss"], expected.detach(), rtol=1e-9, atol=1e-9)
    found, wanted = gradients_of(objective), gradients_of(other)
    assert sum(float(gradient.abs().sum()) for gradient in wanted.values()) > 0
    for name, gradient in found.items():
        assert_close(gradient, wanted[name], rtol=1e-7, atol=1e-8)


def test_switches_really_make_another_loss():
    """Otherwise the comparison with the loops would compare the same numbers over and over."""
    losses = {}
    for case, options in CASES.items():
        batch = PAIRED_BATCH if options.get("paired") else BATCH
        losses[case] = float(make_objective(**options).losses(batch, 7, seeded(5))[0].detach())
    same = {("defaults", "from now on"), ("not yet", "paired, not yet")}
    cases = list(CASES)
    for place, one in enumerate(cases):
        for two in cases[place + 1 :]:
            assert (losses[one] == pytest.approx(losses[two], rel=1e-9)) == ((one, two) in same), (one, two)


def test_the_parts_are_reported_unweighted_and_add_up():
    figures = make_objective(contrastive_weight=0.3, quadruplet_weight=2.5).gradients(BATCH, 7, seeded(5))
    assert_close(figures["loss"], 0.3 * figures["contrastive"] + 2.5 * figures["quadruplet"])
    assert next(iter(figures)) == "loss"


@pytest.mark.parametrize("paired", [False, True])
def test_gradients_by_the_outputs_are_the_derivatives_of_the_loss(paired):
    objective = make_objective(paired=paired)
    batch = PAIRED_BATCH if paired else BATCH
    rows = len(batch.labelled) + len(batch.unlabelled["text"])
    codes = [torch.rand(rows, 9, generator=seeded(seed), dtype=torch.float64).requires_grad_() for seed in range(4)]

    def total(*outputs):
        given = iter(outputs)
        objective.encode = lambda inputs: {
            name: {branch: next(given) for branch in ("contrastive", "quadruplet")} for name in inputs
        }
        return objective.losses(batch, 7, seeded(5))[0]

    assert torch.autograd.gradcheck(total, codes)


@pytest.mark.parametrize("paired", [False, True])
def test_partners_are_similar_only_when_pairs_may_be_used(paired):
    """With no graph and a margin that no pair is within, similar pairs alone leave a gradient."""
    objective = make_objective(paired=paired, neighbours=0, branches=["contrastive"], contrastive_margin=1e-6)
    codes = {n: torch.rand(8, 9, generator=seeded(s), dtype=torch.float64) for s, n in enumerate(SIZES)}
    first, second = codes["sound"].requires_grad_(), codes["text"]
    objective.encode = lambda inputs: {name: {"contrastive": codes[name]} for name in inputs}
    objective.losses(PAIRED_BATCH, 7, seeded(5))[0].backward()
    assert bool((first.grad[:5].abs().sum(1) > 0).all())
    for row in (5, 6, 7):
        apart = (first[row] - second[row]).detach()
        pull = float(first.grad[row] @ apart / (apart @ apart))
        assert_close(first.grad[row], pull * apart)
        assert (pull > 0) == paired


def unlabelled_gradients(objective, batch, step=7, draws=20):
    """How much the loss moves with each row's quadruplet output, unlabelled rows last."""
    moved = torch.zeros(8, dtype=torch.float64)
    for seed in range(draws):
        codes = {n: torch.rand(8, 9, generator=seeded(s), dtype=torch.float64) for s, n in enumerate(SIZES)}
        first = codes["sound"].requires_grad_()
        objective.encode = lambda inputs, codes=codes: {name: {"quadruplet": codes[name]} for name in inputs}
        objective.losses(batch, step, seeded(seed))[0].backward()
        moved += first.grad.abs().sum(1)
    return moved


@pytest.mark.parametrize(
    ("paired", "options", "take_part"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"unlabelled_weight": 0.0}, False),
        (True, {"unlabelled_from": 8}, False),
    ],
)
def test_unlabelled_documents_give_quadruplets_only_when_their_pairs_may_be_used(paired, options, take_part):
    objective = make_objective(paired=paired, branches=["quadruplet"], quadruplet_margin=50.0, **options)
    moved = unlabelled_gradients(objective, PAIRED_BATCH)
    assert bool((moved[:5] > 0).all())
    assert (moved[5:] > 0).tolist() == [take_part] * 3


def test_no_label_but_those_of_the_batch_is_read():
    """Labels of other documents, and rows that are not in the batch, change nothing at all."""
    outside = [row for row in range(LABELLED) if row not in BATCH.labelled.tolist()]
    labels = LABELS.clone()
    labels[outside] = 2 - labels[outside]
    rows = make_rows()
    for name, each in rows.items():
        each.labelled[outside] = 9.0
        each.unlabelled[[row for row in range(UNLABELLED) if row not in BATCH.unlabelled[name].tolist()]] = 9.0
    one, other = make_objective(dropout=0.3), make_objective(dropout=0.3, labels=labels, rows=rows)
    for objective in (one, other):
        objective.gradients(BATCH, 0, seeded(5))
    for name, gradient in gradients_of(one).items():
        assert torch.equal(gradient, gradients_of(other)[name])
    labels[BATCH.labelled[0]] = 2
    assert (
        one.losses(BATCH, 0, seeded(5))[0] != make_objective(dropout=0.3, labels=labels).losses(BATCH, 0, seeded(5))[0]
    )


def test_all_chance_comes_from_the_generator_given():
    objective = make_objective(dropout=0.5)
    torch.manual_seed(1)
    once = objective.losses(BATCH, 7, seeded(5))[0]
    torch.manual_seed(2)
    assert torch.equal(once, objective.losses(BATCH, 7, seeded(5))[0])
    assert not torch.equal(once, objective.losses(BATCH, 7, seeded(6))[0])


def test_dropout_takes_its_share_of_the_inputs_and_keeps_their_mean():
    ones = {n: MetricRows(*(torch.ones(r, 400) for _ in range(2) for r in (8, 6))) for n in SIZES}
    objective = MetricObjective(
        Pathways(dict.fromkeys(SIZES, 400), seeded(), widths=(6,), branch_width=9),
        ones,
        LABELS,
        MetricOptions(dropout=0.25),
    )
    seen = {}
    encode = objective.encode
    objective.encode = lambda inputs: seen.update(inputs) or encode(inputs)
    objective.losses(BATCH, 7, seeded(5))
    for values in seen.values():
        assert sorted(values.unique().tolist()) == pytest.approx([0.0, 1 / 0.75])
        assert float((values == 0).double().mean()) == pytest.approx(0.25, abs=0.03)
    assert not torch.equal(seen["sound"], seen["text"])


@pytest.mark.parametrize("branches", [["contrastive"], ["quadruplet"], ["contrastive", "quadruplet"]])
def test_figures_to_watch_come_every_few_steps(branches):
    objective = make_objective(branches=branches)
    own = {"contrastive": FIGURES - {"active_quadruplets", "spread"}, "quadruplet": {"active_quadruplets"}}
    always = {"loss", *branches} | (own["quadruplet"] if "quadruplet" in branches else set())
    watched = always | {"spread"} | set().union(*(own[branch] for branch in branches))
    for step in (0, 1, MONITOR_EVERY - 1, MONITOR_EVERY, MONITOR_EVERY + 1, 2 * MONITOR_EVERY):
        assert set(objective.losses(BATCH, step, seeded(5))[1]) == (watched if step % MONITOR_EVERY == 0 else always)


def constant(value, noise=0.0):
    return {
        name: {"contrastive": value + noise * torch.randn(8, 9, generator=seeded(s), dtype=torch.float64)}
        for s, name in enumerate(SIZES)
    }


def test_collapse_is_an_alarm_after_the_grace_and_not_before():
    for step in (0, 40, 49):
        assert require_spread(constant(0.5), step) == 0.0
    with pytest.raises(
        FitError, match=r"collapsed to a single point by step 51 \(spread 0\).*raise contrastive_margin"
    ):
        require_spread(constant(0.5), 50)
    assert float(require_spread(constant(0.5, noise=0.01), 50)) == pytest.approx(0.01, rel=0.3)
    one_modality = constant(0.5, noise=0.01) | {"text": constant(0.5)["text"]}
    with pytest.raises(FitError, match="collapsed"):
        require_spread(one_modality, 60)


def test_pulling_alone_ends_in_the_alarm():
    """All items of one class and neighbours of each other: nothing pushes, and the weights decay."""
    objective = make_objective(branches=["contrastive"], labels=torch.zeros_like(LABELS), neighbours=20)
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    with pytest.raises(FitError, match="collapsed to a single point"):
        for step in range(300):
            optimizer.zero_grad()
            objective.gradients(BATCH, step, seeded(step))
            optimizer.step()
    assert step >= 50 and step % MONITOR_EVERY == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"contrastive_margin": 0.0}, "contrastive_margin is 0.0; it must be above zero"),
        ({"quadruplet_margin": -1.0}, "quadruplet_margin is -1.0"),
        ({"contrastive_weight": -1.0}, "contrastive_weight is -1.0; it must be zero or more"),
        ({"quadruplet_weight": -0.1}, "quadruplet_weight is -0.1"),
        ({"unlabelled_weight": -1.0}, "unlabelled_weight is -1.0"),
        ({"unlabelled_from": -1}, "unlabelled_from is -1"),
        ({"neighbours": -1}, "neighbours is -1"),
        ({"quadruplets_per_item": 0}, "quadruplets_per_item is 0; it must be at least 1"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and below 1"),
        ({"contrastive_form": "eq6"}, "contrastive_form is 'eq6'; choose one of hadsell, eq5"),
        ({"reduction": "median"}, "reduction is 'median'; choose one of mean, batch, sum"),
        ({"graph_metric": "manhattan"}, "graph_metric is 'manhattan'; choose one of euclidean, cosine"),
        ({"graph_pool": "all"}, "graph_pool is 'all'; choose one of batch, eligible"),
        ({"unlabelled_pairs": "none"}, "unlabelled_pairs is 'none'; choose one of any, both"),
        ({"unlabelled_negatives": "near"}, "unlabelled_negatives is 'near'; choose one of all, far_third"),
    ],
)
def test_options_out_of_range_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        MetricOptions(**options)


def two_views(items, random):
    """Ten classes in a latent space, seen by two modalities through one projection, one of them more noisily."""
    codes = np.arange(items) % 10
    centres, projection = random.normal(size=(10, 20)), random.normal(size=(20, 512)) / sqrt(20)
    views = {}
    for name, noise in (("sound", 1.5), ("text", 1.0)):
        latent = centres[codes] + noise * random.normal(size=(items, 20))
        views[name] = (1 / (1 + np.exp(-(latent @ projection + random.normal(size=(items, 512)))))).astype(np.float32)
    return views, codes


@pytest.mark.slow
def test_metric_learning_finds_the_classes_of_two_synthetic_views():
    labelled, pool, items = 1000, 200, 1200
    views, codes = two_views(items + 300, np.random.default_rng(0))
    rows = {}
    for name, view in views.items():
        scaled = torch.from_numpy((view - view[:labelled].mean(0)) / view[:labelled].std(0))
        raw = torch.from_numpy(view)
        rows[name] = MetricRows(scaled[:labelled], scaled[labelled:items], raw[:labelled], raw[labelled:items])
        views[name] = scaled[items:]
    net = Pathways(dict.fromkeys(SIZES, 512), seeded())
    objective = MetricObjective(net, rows, torch.from_numpy(codes[:labelled]), MetricOptions())
    batches = MixedBatches(labelled, dict.fromkeys(SIZES, pool), 100, 0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=0.004)
    for step in range(1200):
        optimizer.zero_grad()
        objective.gradients(batches(step), step, seeded(step))
        optimizer.step()
    with torch.no_grad():
        found = {name: net.represent(name, view).numpy() for name, view in views.items()}
    labels = Labels.from_codes(codes[items:], [str(code) for code in range(10)])
    for asking, asked in (("sound", "text"), ("text", "sound")):
        assert mean_average_precision(found[asking], found[asked], labels, labels) > 3 * 0.1
