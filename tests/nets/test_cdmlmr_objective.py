"""What the whole network is trained by: against loops, and what must not matter to it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets.cdmlmr import CdmlmrOptions
from diptych.nets.cdmlmr_batch import TowerRows
from diptych.nets.cdmlmr_objective import MONITOR_EVERY, RECONSTRUCTION_WEIGHT
from diptych.nets.dense import MemberLinear
from diptych.nets.rows import mixup_share
from diptych.nets.samplers import sample_quadruplets
from diptych.training import Constant, LoopSettings, train
from nets.enumeration import seeded
from nets.small_cdmlmr import (
    BATCH,
    CLASSES,
    LABELLED,
    LABELLED_BATCH,
    LABELS,
    PAIRED_BATCH,
    POOL,
    gradients_of,
    make_network,
    make_objective,
    make_rows,
)

HEADS = ("net classes", "shared classes", "contrastive classes", "quadruplet classes")


def encoded(objective, batch):
    """What the network gives for the rows of a batch, labelled ones first: without dropout and mixup."""
    outputs = {}
    for name, rows in objective.rows.items():
        numbers = batch.labelled, batch.unlabelled[name]
        features = torch.cat([rows.labelled[numbers[0]], rows.unlabelled[numbers[1]]])
        visible = features
        if rows.visible is not None:
            visible = torch.cat([rows.visible[0][numbers[0]], rows.visible[1][numbers[1]]])
        outputs[name] = objective.module.encode(name, features, visible)
    return outputs


def naive_graph(first, second, neighbours):
    """Neighbours by the cosine of codes, sorted by hand."""
    near = [[float(a @ b / (a.norm() * b.norm())) for b in second] for a in first]
    graph = torch.zeros(len(first), len(second), dtype=torch.bool)
    for p in range(len(first)):
        for q in sorted(range(len(second)), key=lambda q: -near[p][q])[:neighbours]:
            graph[p, q] = True
    for q in range(len(second)):
        for p in sorted(range(len(first)), key=lambda p: -near[p][q])[:neighbours]:
            graph[p, q] = True
    return graph


def naive_labels(outputs, targets, graph, paired):
    """Guesses: the mean of all softmax layers, joined with the partner's, averaged with the neighbours', sharpened."""
    known, guesses = len(targets), {}
    for name, parts in outputs.items():
        layers = [parts[head][k].softmax(1) for head in HEADS if head in parts for k in range(len(parts[head]))]
        guesses[name] = [*targets, *sum(layers[1:], start=layers[0])[known:] / len(layers)]
    first, second = guesses
    if paired:
        for p in range(known, len(guesses[first])):
            both = guesses[first][p] * guesses[second][p] + 1e-6
            guesses[first][p] = guesses[second][p] = both / both.sum()
    smoothed = {name: list(each) for name, each in guesses.items()}
    for name, other, edges in ((first, second, graph), (second, first, graph.t())):
        for p in range(known, len(guesses[name])):
            votes = sum((guesses[other][q] for q in range(len(edges[p])) if edges[p, q]), start=torch.zeros(CLASSES))
            mean = 0.5 * (guesses[name][p] + votes / votes.sum())
            smoothed[name][p] = mean**2 / (mean**2).sum()
    return {name: torch.stack(each).detach() for name, each in smoothed.items()}


def naive_total(objective, batch, step):
    """The total loss, one member, one row, one pair at a time; with random quadruplets drawn by the sampler."""
    options, net = objective.options, objective.module
    targets, outputs = objective.targets[batch.labelled], encoded(objective, batch)
    known = len(targets)
    first, second = outputs
    weight = options.unlabelled_weight * min(1.0, step / options.ramp_steps) if len(batch.unlabelled[first]) else 0.0
    codes = [torch.cat(list(outputs[name]["shared"]), dim=1).detach() for name in outputs]
    graph = naive_graph(*codes, options.neighbours)
    labels = naive_labels(outputs, targets, graph, objective.paired)
    total = torch.zeros((), dtype=torch.float64)
    for k in range(net.shape.members):
        for name, parts in outputs.items():
            for head in (head for head in HEADS if head in parts):
                logs = parts[head][k].log_softmax(1)
                losses = [-(labels[name][p] * logs[p]).sum() for p in range(len(logs))]
                total = total + sum(losses[:known]) / known
                if weight and len(losses) > known:
                    sure = [labels[name][p].max() for p in range(known, len(losses))]
                    unsure = sum(s * loss for s, loss in zip(sure, losses[known:], strict=True)) / sum(sure)
                    total = total + weight * unsure
            for other in outputs:
                beside = other == name or objective.paired
                rows = range(len(parts["shared"][k]) if weight and beside else known)
                told = [(parts[f"to {other}"][k, p] - outputs[other]["hidden"][k, p].detach()) ** 2 for p in rows]
                total = total + RECONSTRUCTION_WEIGHT * torch.stack(told).mean()
        if "contrastive" in net.shape.branches:
            a, b = outputs[first]["contrastive"][k], outputs[second]["contrastive"][k]
            total = total + naive_contrastive(a, b, labels, known, graph, weight, options.contrastive_margin)
        if "quadruplet" in net.shape.branches:
            a, b = outputs[first]["quadruplet"][k], outputs[second]["quadruplet"][k]
            total = total + naive_quadruplets(a, b, targets.argmax(1), options)
    return total


def naive_contrastive(a, b, labels, known, graph, weight, margin):
    one, other = labels.values()
    sums = {"pull": [0.0, 0.0], "push": [0.0, 0.0]}
    for p in range(len(a)):
        for q in range(len(b)):
            guessed = p >= known or q >= known
            if guessed and weight == 0:
                continue
            similar, distance = float(one[p] @ other[q]), (a[p] - b[q]).norm()
            pull, push = similar, 1 - similar
            if guessed:
                pull, push = weight * pull * bool(graph[p, q]), weight * push * (not graph[p, q])
            for kind, share, term in (("pull", pull, distance**2), ("push", push, torch.relu(margin - distance) ** 2)):
                sums[kind] = [sums[kind][0] + 0.5 * share * term, sums[kind][1] + share]
    return sum(term / share for term, share in sums.values())


def naive_quadruplets(a, b, classes, options):
    def squared(p, q):
        return (a[p] - b[q]).square().sum()

    if options.quadruplet_negatives == "random":
        drawn = sample_quadruplets(classes, 3, seeded(5))
        terms = [
            torch.relu(2 * squared(i, j) - squared(i, j_) - squared(i_, j) + options.quadruplet_margin)
            for i, j, i_, j_ in zip(*(rows.tolist() for rows in drawn), strict=True)
        ]
        return sum(terms) / len(terms)
    pairs = [(p, q) for p in range(len(classes)) for q in range(len(classes)) if classes[p] == classes[q]]
    total = 0.0
    for p, q in pairs:
        of_first = torch.stack([squared(p, j) for j in range(len(classes)) if classes[j] != classes[p]])
        of_second = torch.stack([squared(i, q) for i in range(len(classes)) if classes[i] != classes[q]])
        far = sum(-0.1 * (-each / 0.1).logsumexp(0) for each in (of_first, of_second))
        total = total + torch.relu(2 * squared(p, q) - far + options.quadruplet_margin)
    return total / len(pairs)


CASES = {
    "defaults": {},
    "one member": {"members": 1},
    "labelled rows alone": {"batch": LABELLED_BATCH},
    "half way up": {"step": 2},
    "light unlabelled rows": {"options": {"unlabelled_weight": 0.2}},
    "paired": {"batch": PAIRED_BATCH, "paired": True},
    "random quadruplets": {"options": {"quadruplet_negatives": "random"}},
    "other margins": {"options": {"contrastive_margin": 0.4, "quadruplet_margin": 2.0}},
    "contrastive alone": {"branches": ("contrastive",)},
    "quadruplets alone": {"branches": ("quadruplet",)},
    "base network": {"branches": ()},
    "no softmax on branches": {"branch_softmax": False},
    "without machines": {"with_dbn": False},
    "without features": {"read_features": False, "feature_skip": False},
    "soft labels": {"targets": torch.rand(LABELLED, CLASSES, generator=seeded(9), dtype=torch.float64).softmax(1)},
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_those_of_plain_loops(case):
    changes = dict(CASES[case])
    batch, step = changes.pop("batch", BATCH), changes.pop("step", 7)
    objective, other = make_objective(**changes), make_objective(**changes)
    found = gradients_of(objective, batch, step)
    figures = objective.losses(batch, step, seeded(5))[1]
    expected = naive_total(other, batch, step)
    expected.backward()
    members = objective.module.shape.members
    assert_close(members * figures["loss"], expected.detach(), rtol=1e-8, atol=1e-8)
    for name, parameter in other.module.named_parameters():
        assert_close(found[name], parameter.grad, rtol=1e-6, atol=1e-8, msg=name)
        assert float(found[name].abs().max()) > 0, name


def test_switches_really_make_another_loss():
    losses = []
    for case in CASES.values():
        changes = dict(case)
        batch, step = changes.pop("batch", BATCH), changes.pop("step", 7)
        losses.append(float(make_objective(**changes).losses(batch, step, seeded(5))[0].detach()))
    assert all(abs(one - two) > 1e-6 for one, two in pairwise(sorted(losses)))


def test_the_parts_are_reported_and_add_up():
    figures = make_objective().losses(BATCH, 7, seeded(5))[1]
    parts = ("softmax", "reconstruction", "contrastive", "quadruplet")
    assert_close(figures["loss"], sum(figures[part] for part in parts))
    assert next(iter(figures)) == "loss"


def test_quantisation_adds_how_far_branches_are_from_signs():
    plain, term = make_objective(), make_objective(options={"quantisation": 0.5})
    before, after = (each.losses(BATCH, 7, seeded(5))[1] for each in (plain, term))
    assert "quantisation" not in before
    assert_close(after["loss"], before["loss"] + after["quantisation"])
    inputs = term._inputs(BATCH, seeded(5))[0]
    gap = 0.0
    for parts in term.encode(inputs).values():
        for branch in ("contrastive", "quadruplet"):
            outputs = parts[branch]
            gap += float(((outputs.abs() * outputs.shape[-1] ** 0.5 - 1) ** 2).mean((0, 2)).sum().detach())
    assert after["quantisation"].item() == pytest.approx(0.5 * gap / term.module.shape.members)


def test_figures_to_watch_come_every_few_steps():
    objective = make_objective()
    seldom = {"similar_distance", "dissimilar_distance", "spread", "edge_purity"}
    for step in (0, 1, MONITOR_EVERY, MONITOR_EVERY + 3):
        found = set(objective.losses(BATCH, step, seeded(5))[1])
        assert (seldom <= found) == (step % MONITOR_EVERY == 0)


def member_of(net, member):
    """A network of one member with the weights of one of several."""
    single = make_network(1, with_dbn=any(net.tower(name).dbn is not None for name in net.modalities))
    layers = dict(net.named_modules())
    with torch.no_grad():
        for name, module in single.named_modules():
            if isinstance(module, MemberLinear):
                module.weight.copy_(layers[name].weight_of(member).unsqueeze(1 if module.same_rows else 0))
                if module.bias is not None:
                    module.bias.copy_(layers[name].bias[member : member + 1])
        single.shared_bias.copy_(net.shared_bias[member : member + 1])
        for name in net.modalities:
            if single.tower(name).dbn is not None:
                single.tower(name).dbn.load_state_dict(net.tower(name).dbn.state_dict())
    return single


@pytest.mark.parametrize("negatives", ["softmin", "random"])
def test_members_trained_side_by_side_are_members_trained_one_at_a_time(negatives):
    settings = LoopSettings(
        6, 6, "adamw", Constant(0.05), weight_decay=0.1, decay_biases=True, device="cpu", checkpoint_every=100
    )
    options = {"quadruplet_negatives": negatives}

    def trained(net):
        train(make_objective(net=net, options=options), settings, batches=lambda step: LABELLED_BATCH)
        return net

    team = make_network(3, with_dbn=False)
    singles = [member_of(team, member) for member in range(3)]
    start = {name: value.clone() for name, value in team.state_dict().items()}
    team = trained(team)
    assert all(float((value - start[name]).abs().max()) > 1e-3 for name, value in team.state_dict().items())
    for member, single in enumerate(singles):
        expected, found = trained(single).state_dict(), member_of(team, member).state_dict()
        for name, value in expected.items():
            assert_close(found[name], value, rtol=1e-8, atol=1e-9, msg=name)


def test_the_machines_that_members_share_learn_from_all_of_them():
    team = make_network(3)
    together = gradients_of(make_objective(net=team), LABELLED_BATCH)
    apart = [gradients_of(make_objective(net=member_of(team, member)), LABELLED_BATCH) for member in range(3)]
    for name, gradient in together.items():
        if ".dbn." in name:
            assert_close(gradient, sum(each[name] for each in apart))


@pytest.mark.parametrize("parameter", [0.2, 0.4, 1.0])
def test_shares_of_blended_rows_are_drawn_from_a_beta_distribution(parameter):
    """The larger part: X or 1 − X, whichever is more."""
    random = seeded(3)
    draws = torch.tensor([mixup_share(parameter, random) for _ in range(3000)], dtype=torch.float64)
    shares = stats.beta(parameter, parameter).ppf((np.arange(200_000) + 0.5) / 200_000)
    mean, variance = float(np.maximum(shares, 1 - shares).mean()), float(np.maximum(shares, 1 - shares).var())
    assert float(draws.mean()) == pytest.approx(mean, abs=4 * (variance / len(draws)) ** 0.5)
    assert float(draws.var()) == pytest.approx(variance, rel=0.1)
    assert float(draws.min()) >= 0.5 and float(draws.max()) <= 1.0


def test_blending_mixes_rows_and_targets_alike():
    """Features that are linear in the targets stay so, in both modalities, and unlabelled rows stay as they are."""
    random, targets = seeded(4), torch.eye(CLASSES, dtype=torch.float64)[LABELS]
    maps = {name: torch.randn(CLASSES, size, generator=random).double() for name, size in (("sound", 5), ("text", 6))}
    rows = {
        name: TowerRows(targets @ each, 7 + torch.zeros(POOL, each.shape[1], dtype=torch.float64))
        for name, each in maps.items()
    }
    objective = make_objective(rows=rows, with_dbn=False, options={"mixup": 1.0})
    inputs, batch = objective._inputs(BATCH, seeded(5))
    blended = batch["sound"].targets
    assert torch.equal(blended, batch["text"].targets)
    assert len(blended.unique(dim=0)) > CLASSES  # otherwise nothing was blended
    assert_close(blended.sum(1), torch.ones(6, dtype=torch.float64))
    for name, each in maps.items():
        assert_close(inputs[name][:6], blended @ each)
        assert_close(inputs[name][6:], rows[name].unlabelled[:3])


def test_dropout_takes_its_share_and_keeps_the_mean():
    objective = make_objective(members=20, options={"input_dropout": 0.25, "dropout": 0.5})
    batch = BATCH._replace(labelled=torch.arange(LABELLED).repeat(200))
    inputs, _ = objective._inputs(batch, seeded(5))
    for name in ("sound", "text visible"):
        rows = objective.rows["text"].visible[0] if "visible" in name else objective.rows[name].labelled
        whole = rows[batch.labelled]
        kept = (inputs[name][: len(whole)] / whole)[whole != 0]
        assert sorted(kept.round(decimals=6).unique().tolist()) == pytest.approx([0.0, 1 / 0.75])
        assert float((kept == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    for name in ("sound", "text"):
        kept = inputs[f"{name} kept"]
        assert kept.shape[1:] == (3, 20, 7)
        assert float((kept == 0).double().mean()) == pytest.approx(0.5, abs=0.01)
        assert float(kept.mean()) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("when", ["never", "not yet"])
def test_unlabelled_rows_without_weight_change_nothing(when):
    changes = {"options": {"unlabelled_weight": 0.0}} if when == "never" else {}
    step = 7 if when == "never" else 0
    with_pool = gradients_of(make_objective(**changes), BATCH, step)
    without = gradients_of(make_objective(**changes), LABELLED_BATCH, step)
    weighed = gradients_of(make_objective(), BATCH, 7)
    for name, gradient in with_pool.items():
        assert_close(gradient, without[name], rtol=1e-12, atol=1e-12)
    assert any(float((weighed[name] - each).abs().max()) > 1e-3 for name, each in without.items())


@pytest.mark.parametrize("paired", [False, True])
def test_the_order_of_the_other_modalitys_pool_matters_only_where_pairs_are_known(paired):
    """Otherwise a pairing that nobody may see could leak through the rows' places."""
    turned = PAIRED_BATCH._replace(unlabelled=PAIRED_BATCH.unlabelled | {"text": torch.tensor([2, 5, 0])})
    one, other = (gradients_of(make_objective(paired=paired), batch) for batch in (PAIRED_BATCH, turned))
    apart = max(float((one[name] - gradient).abs().max()) for name, gradient in other.items())
    assert (apart > 1e-4) if paired else (apart < 1e-10)


def test_the_order_of_a_batch_does_not_matter():
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    one, other = gradients_of(make_objective()), gradients_of(
        make_objective(), BATCH._replace(labelled=BATCH.labelled[order])
    )  # fmt: skip
    for name, gradient in one.items():
        assert_close(other[name], gradient, rtol=1e-9, atol=1e-10)


def test_nothing_outside_the_batch_is_read():
    outside = [row for row in range(LABELLED) if row not in BATCH.labelled.tolist()]
    targets = torch.eye(CLASSES, dtype=torch.float64)[LABELS]
    rows, moved = make_rows(), targets.clone()
    moved[outside] = moved[outside].flip(1)
    for name, each in rows.items():
        each.labelled[outside] = 9.0
        each.unlabelled[[row for row in range(POOL) if row not in BATCH.unlabelled[name].tolist()]] = 9.0
    one, other = (gradients_of(make_objective(**changes)) for changes in ({}, {"rows": rows, "targets": moved}))
    assert all(torch.equal(gradient, other[name]) for name, gradient in one.items())


def test_all_chance_comes_from_the_generator_given():
    noisy = {"mixup": 0.4, "input_dropout": 0.2, "dropout": 0.3, "quadruplet_negatives": "random"}
    objective = make_objective(options=noisy)
    torch.manual_seed(1)
    once = objective.losses(BATCH, 7, seeded(5))[0]
    torch.manual_seed(2)
    assert torch.equal(once, objective.losses(BATCH, 7, seeded(5))[0])
    assert not torch.equal(once, objective.losses(BATCH, 7, seeded(6))[0])


def test_stopped_gradients_leave_the_base_network_to_its_own_losses():
    base = gradients_of(make_objective(branches=()), LABELLED_BATCH)
    whole, stopped = make_network(), make_network(stop_gradients=True)
    bare = make_network(branches=())
    for net in (whole, stopped):
        net.load_state_dict(net.state_dict() | bare.state_dict())
    for net, equal in ((whole, False), (stopped, True)):
        found = gradients_of(make_objective(net=net), LABELLED_BATCH)
        assert all(torch.allclose(found[name], gradient, atol=1e-10) for name, gradient in base.items()) == equal


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"contrastive_margin": 0.0}, "contrastive_margin is 0.0; it must be above zero"),
        ({"quadruplet_margin": -1.0}, "quadruplet_margin is -1.0; it must be above zero"),
        ({"mixup": -0.1}, "mixup is -0.1; it must be zero or more"),
        ({"unlabelled_weight": -1.0}, "unlabelled_weight is -1.0; it must be zero or more"),
        ({"neighbours": -1}, "neighbours is -1; it must be zero or more"),
        ({"input_dropout": 1.0}, "input_dropout is 1.0; it must be at least 0 and below 1"),
        ({"dropout": -0.5}, "dropout is -0.5; it must be at least 0 and below 1"),
        ({"quadruplet_negatives": "hard"}, "quadruplet_negatives is 'hard'; choose one of softmin, random"),
    ],
)
def test_options_out_of_range_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        replace(CdmlmrOptions(), **options)
