"""CDMLMR's losses over three modalities, some of which items lack: against loops over documents, one at a time."""

from itertools import combinations

import pytest
import torch
from torch.testing import assert_close

from diptych.nets.cdmlmr import CdmlmrNetwork, CdmlmrOptions, NetworkShape
from diptych.nets.cdmlmr_batch import TowerRows
from diptych.nets.cdmlmr_objective import RECONSTRUCTION_WEIGHT, CdmlmrObjective
from diptych.nets.rows import MixedBatch
from diptych.nets.samplers import sample_quadruplets
from nets.enumeration import seeded
from nets.small_cdmlmr import PLAIN, gradients_of
from nets.test_cdmlmr_objective import naive_graph

SIZES = {"image": 5, "text": 6, "sound": 4}
CLASSES = 3
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
DOCUMENTS, POOL = len(LABELS), 6
LACKING = {"image": [2], "text": [], "sound": [0, 3, 4, 7]}
POOL_LACKING = {"image": [5], "text": [0], "sound": [2]}
LABELLED = torch.tensor([0, 1, 3, 4, 2, 6])
PAIRED = MixedBatch(LABELLED, dict.fromkeys(SIZES, torch.tensor([5, 0, 2])))
ALONE = MixedBatch(LABELLED, {"image": torch.tensor([4, 0]), "text": torch.tensor([1, 3]), "sound": torch.tensor([2])})
LABELLED_ALONE = MixedBatch(LABELLED, {name: torch.zeros(0, dtype=torch.int64) for name in SIZES})
PAIRS = list(combinations(SIZES, 2))


def numbers(count, lacking):
    has = torch.tensor([document not in lacking for document in range(count)])
    return None if has.all() else torch.where(has, has.cumsum(0) - 1, -1)


def make_rows(*, complete=False):
    """Rows of the documents that have a modality; what they lack does not exist."""
    random, rows = seeded(1), {}
    for name, size in SIZES.items():
        whole = [torch.randn(count, size, generator=random, dtype=torch.float64) for count in (DOCUMENTS, POOL)]
        if complete:
            rows[name] = TowerRows(*whole)
            continue
        kept = [
            rows_of[[p for p in range(len(rows_of)) if p not in lacking[name]]]
            for rows_of, lacking in zip(whole, (LACKING, POOL_LACKING), strict=True)
        ]
        places = numbers(DOCUMENTS, LACKING[name]), numbers(POOL, POOL_LACKING[name])
        rows[name] = TowerRows(*kept, None, *places)
    return rows


def make_objective(*, paired=True, pairs=None, complete=False, options=None, **switches):
    random = seeded(11)
    net = CdmlmrNetwork(NetworkShape(SIZES, CLASSES, 2, 7, **switches), {}, random).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=random, dtype=torch.float64))
    rows = make_rows(complete=complete)
    if not paired:
        rows = {
            name: TowerRows(each.labelled, each.unlabelled, None, each.labelled_rows) for name, each in rows.items()
        }
    targets = torch.nn.functional.one_hot(LABELS, CLASSES).double()
    return CdmlmrObjective(net, rows, targets, CdmlmrOptions(**PLAIN | (options or {})), paired=paired, pairs=pairs)


class Documents:
    """The batch document by document: what each modality gives for the documents that have it."""

    def __init__(self, objective, batch):
        self.objective, self.batch, self.outputs, self.ids = objective, batch, {}, {}
        for name, rows in objective.rows.items():
            known = [
                (place, row)
                for place, document in enumerate(batch.labelled.tolist())
                if (row := document if rows.labelled_rows is None else int(rows.labelled_rows[document])) >= 0
            ]
            pool = []
            for place, item in enumerate(batch.unlabelled[name].tolist()):
                row = item if rows.unlabelled_rows is None else int(rows.unlabelled_rows[item])
                if row >= 0:
                    pool.append((len(batch.labelled) + place if objective.paired else (name, place), row))
            features = torch.cat([rows.labelled[[row for _, row in known]], rows.unlabelled[[row for _, row in pool]]])
            self.outputs[name] = objective.module.encode(name, features, features)
            self.ids[name] = [place for place, _ in known], [place for place, _ in pool]

    def known(self, name):
        return len(self.ids[name][0])

    def all(self, name):
        return [*self.ids[name][0], *self.ids[name][1]]

    def classes(self, name):
        return LABELS[self.batch.labelled[torch.tensor(self.ids[name][0])]]


def naive_guesses(seen, graphs):
    """The mean of all softmax layers; documents multiply theirs; neighbours of the other modalities vote."""
    labels = {}
    for name, parts in seen.outputs.items():
        layers = [part[k].softmax(1) for key, part in parts.items() if key.endswith(" classes") for k in range(2)]
        given = torch.eye(CLASSES, dtype=torch.float64)[seen.classes(name)]
        labels[name] = [*given, *(sum(layers[1:], start=layers[0]) / len(layers))[seen.known(name) :]]
    if seen.objective.paired:
        joint = {}
        for name in labels:
            for place, document in enumerate(seen.all(name)):
                if place >= seen.known(name):
                    joint[document] = joint.get(document, 1.0) * labels[name][place]
        for name in labels:
            for place, document in enumerate(seen.all(name)):
                if place >= seen.known(name):
                    both = joint[document] + 1e-6
                    labels[name][place] = both / both.sum()
    smoothed = {name: list(each) for name, each in labels.items()}
    for name in labels:
        for place in range(seen.known(name), len(labels[name])):
            votes = []
            for (a, b), graph in graphs.items():
                if name in (a, b):
                    other, edges = (b, graph) if name == a else (a, graph.t())
                    heard = sum(
                        (labels[other][q] for q in range(edges.shape[1]) if edges[place, q]), start=torch.zeros(CLASSES)
                    )
                    votes.append(heard / heard.sum().clamp_min(1e-12))
            mean = 0.5 * (labels[name][place] + sum(votes) / len(votes))
            smoothed[name][place] = mean**2 / (mean**2).sum()
    return {name: torch.stack(each).detach() for name, each in smoothed.items()}


def naive_total(objective, batch, step):
    options = objective.options
    seen = Documents(objective, batch)
    pool = any(len(numbers) for numbers in batch.unlabelled.values())
    weight = options.unlabelled_weight * min(1.0, step / options.ramp_steps) if pool else 0.0
    codes = {name: torch.cat(list(parts["shared"]), dim=1).detach() for name, parts in seen.outputs.items()}
    graphs = {(a, b): naive_graph(codes[a], codes[b], options.neighbours) for a, b in objective.pairs}
    labels = naive_guesses(seen, graphs)
    random = seeded(5)
    total = torch.zeros((), dtype=torch.float64)
    drawn = {}
    for a, b in objective.pairs:
        both = [d for d in seen.ids[a][0] if d in seen.ids[b][0]]
        classes = LABELS[batch.labelled[torch.tensor(both)]]
        if options.quadruplet_negatives == "random":
            drawn[a, b] = both, sample_quadruplets(classes, 3, random)
    for k in range(2):
        for name, parts in seen.outputs.items():
            known = seen.known(name)
            for head in (key for key in parts if key.endswith(" classes")):
                logs = parts[head][k].log_softmax(1)
                losses = [-(labels[name][p] * logs[p]).sum() for p in range(len(logs))]
                total = total + sum(losses[:known]) / known
                if weight and len(losses) > known:
                    sure = [labels[name][p].max() for p in range(known, len(losses))]
                    total = total + weight * sum(s * x for s, x in zip(sure, losses[known:], strict=True)) / sum(sure)
            for other, target in seen.outputs.items():
                whole = weight > 0 and (other == name or objective.paired)
                mine = seen.all(name) if whole else seen.ids[name][0]
                theirs = seen.all(other) if whole else seen.ids[other][0]
                told = [
                    (parts[f"to {other}"][k, p] - target["hidden"][k, theirs.index(document)].detach()) ** 2
                    for p, document in enumerate(mine)
                    if document in theirs
                ]
                total = total + RECONSTRUCTION_WEIGHT * torch.stack(told).mean()
        for a, b in objective.pairs:
            one, other = (seen.outputs[name]["contrastive"][k] for name in (a, b))
            total = total + naive_contrastive(one, other, labels, seen, (a, b), graphs[a, b], weight)
            one, other = (seen.outputs[name]["quadruplet"][k] for name in (a, b))
            total = total + naive_quadruplets(one, other, seen, (a, b), drawn.get((a, b)), options)
    return total


def naive_contrastive(one, other, labels, seen, pair, graph, weight):
    sums = {"pull": [0.0, 0.0], "push": [0.0, 0.0]}
    for p in range(len(one)):
        for q in range(len(other)):
            guessed = p >= seen.known(pair[0]) or q >= seen.known(pair[1])
            if guessed and weight == 0:
                continue
            similar, distance = float(labels[pair[0]][p] @ labels[pair[1]][q]), (one[p] - other[q]).norm()
            pull, push = similar, 1 - similar
            if guessed:
                pull, push = weight * pull * bool(graph[p, q]), weight * push * (not graph[p, q])
            for kind, share, term in (("pull", pull, distance**2), ("push", push, torch.relu(1.2 - distance) ** 2)):
                sums[kind] = [sums[kind][0] + 0.5 * share * term, sums[kind][1] + share]
    return sum(term / share for term, share in sums.values())


def naive_quadruplets(one, other, seen, pair, drawn, options):
    def squared(p, q):
        return (one[p] - other[q]).square().sum()

    if drawn is not None:
        both, quadruplets = drawn
        place = [[seen.ids[name][0].index(document) for document in both] for name in pair]
        terms = [
            torch.relu(
                2 * squared(place[0][i], place[1][j])
                - squared(place[0][i], place[1][j_])
                - squared(place[0][i_], place[1][j])
                + options.quadruplet_margin
            )
            for i, j, i_, j_ in zip(*(rows.tolist() for rows in quadruplets), strict=True)
        ]
        return sum(terms) / len(terms)
    first, second = (seen.classes(name) for name in pair)
    same = [(p, q) for p in range(len(first)) for q in range(len(second)) if first[p] == second[q]]
    total = 0.0
    for p, q in same:
        of_first = [squared(p, j) for j in range(len(second)) if second[j] != first[p]]
        of_second = [squared(i, q) for i in range(len(first)) if first[i] != second[q]]
        if of_first and of_second:
            far = sum(-0.1 * (-torch.stack(each) / 0.1).logsumexp(0) for each in (of_first, of_second))
            total = total + torch.relu(2 * squared(p, q) - far + options.quadruplet_margin)
    return total / len(same)


CASES = {
    "paired pool": {},
    "labelled alone": {"batch": LABELLED_ALONE},
    "pool without pairs": {"batch": ALONE, "paired": False},
    "half way up": {"step": 2},
    "everything there": {"complete": True},
    "random quadruplets": {"options": {"quadruplet_negatives": "random"}},
    "two pairs occur": {"pairs": [("image", "text"), ("text", "sound")]},
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_those_of_plain_loops(case):
    changes = dict(CASES[case])
    batch, step = changes.pop("batch", PAIRED), changes.pop("step", 7)
    objective, other = make_objective(**changes), make_objective(**changes)
    found = gradients_of(objective, batch, step)
    figures = objective.losses(batch, step, seeded(5))[1]
    expected = naive_total(other, batch, step)
    expected.backward()
    assert_close(2 * figures["loss"], expected.detach(), rtol=1e-8, atol=1e-8)
    for name, parameter in other.module.named_parameters():
        assert_close(found[name], parameter.grad, rtol=1e-6, atol=1e-8, msg=name)


def test_what_a_document_lacks_is_never_made_up():
    """Rows of absent documents do not exist: a batch of those that lack sounds leaves the sounds' tower alone."""
    objective = make_objective()
    objective.gradients(MixedBatch(torch.tensor([0, 3, 4, 7]), {}), 7, seeded(5))
    gradients = {name: parameter.grad for name, parameter in objective.module.named_parameters()}
    for name, gradient in gradients.items():
        if name.startswith("towers.sound"):
            assert gradient is None or float(gradient.abs().max()) == 0.0, name
        else:
            assert gradient is not None and torch.isfinite(gradient).all(), name
    assert float(gradients["towers.image.net.0.weight"].abs().max()) > 0


def test_documents_are_blended_in_the_modalities_that_both_have():
    objective = make_objective(options={"mixup": 1.0})
    inputs, batch = objective._inputs(LABELLED_ALONE, seeded(5))
    assert {name: len(inputs[name]) for name in SIZES} == {name: batch[name].known for name in SIZES}
    partner = torch.randperm(6, generator=seeded(5))
    for name, rows in objective.rows.items():
        whole = rows.labelled_rows
        for place, document in zip(batch[name].documents.tolist(), LABELLED[batch[name].documents], strict=True):
            mate = LABELLED[partner[place]]
            lacks = whole is not None and int(whole[mate]) < 0
            target = batch[name].targets[batch[name].documents.tolist().index(place)]
            alone = torch.equal(target, objective.targets[document])
            assert alone == (lacks or bool(LABELS[mate] == LABELS[document]))
            own = rows.labelled[document if whole is None else whole[document]]
            row = inputs[name][batch[name].documents.tolist().index(place)]
            assert torch.equal(row, own) == (lacks or bool(mate == document))
