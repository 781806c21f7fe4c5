"""The network as one module: its parts against plain layers, and what its switches take away."""

import pytest
import torch
from torch.testing import assert_close

from diptych.nets.cdmlmr import BRANCH_GAIN, SHARED_GAIN, CdmlmrNetwork, DeepBelief, NetworkShape
from nets.enumeration import seeded
from nets.small_cdmlmr import CLASSES, SIZES, WORDS, make_dbns, make_network, make_rows


def linear(layer, member, rows):
    out = rows @ layer.weight_of(member)
    return out if layer.bias is None else out + layer.bias[member]


def naive_encode(net, name, features, visible, member):
    """One member's outputs, layer after layer."""
    tower = net.tower(name)
    entering = torch.zeros((), dtype=torch.float64)
    if tower.dbn is not None:
        words = 1.0 if tower.dbn.words is None else visible.sum(1, keepdim=True) / tower.dbn.words
        lower = torch.sigmoid(visible @ tower.dbn.first_weight + words * tower.dbn.first_bias)
        code = torch.sigmoid(lower @ tower.dbn.second_weight + tower.dbn.second_bias)
        entering = entering + linear(tower.reads_dbn, member, 2 * code - 1)
    if tower.reads_features is not None:
        entering = entering + linear(tower.reads_features, member, features)
    hidden = torch.relu(entering)
    for layer in tower.net:
        hidden = torch.relu(linear(layer, member, hidden))
    shared = linear(tower.into_shared, member, hidden) + net.shared_bias[member]
    if tower.skip is not None:
        shared = shared + linear(tower.skip, member, features)
    code = torch.sigmoid(shared) - 0.5
    outputs = {
        "hidden": hidden,
        "shared": code,
        "net classes": linear(tower.net_classes, member, hidden),
        "shared classes": linear(net.shared_classes, member, SHARED_GAIN * code),
    }
    for other in SIZES:
        outputs[f"to {other}"] = torch.relu(linear(net.tower(other).decoder, member, 2 * code))
    upper = 2 * code
    for layer in tower.pathway:
        upper = torch.relu(linear(layer, member, upper))
    for branch, layer in tower.branches.items():
        output = torch.sigmoid(linear(layer, member, upper)) - 0.5
        outputs[branch] = output / output.norm(dim=1, keepdim=True)
        if branch in net.branch_classes:
            outputs[f"{branch} classes"] = linear(net.branch_classes[branch], member, BRANCH_GAIN * outputs[branch])
    return outputs


SWITCHES = [
    {},
    {"branches": ("contrastive",)},
    {"branches": ()},
    {"read_features": False},
    {"feature_skip": False},
    {"branch_softmax": False},
    {"with_dbn": False},
]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_every_members_outputs_are_those_of_its_layers(name, switches):
    net, rows = make_network(3, **switches), make_rows()[name]
    visible = rows.labelled if rows.visible is None else rows.visible[0]
    found = net.encode(name, rows.labelled, visible)
    for member in range(3):
        expected = naive_encode(net, name, rows.labelled, visible, member)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_close(found[key][member], value)


def test_probabilities_are_the_mean_over_members_and_layers():
    net, rows = make_network(3), make_rows()["sound"]
    heads = ["net classes", "quadruplet classes"]
    outputs = net.encode("sound", rows.labelled, rows.labelled)
    expected = sum(outputs[head][member].softmax(1) for head in heads for member in range(3)) / 6
    found = net.posteriors("sound", rows.labelled, rows.labelled, heads)
    assert_close(found, expected)
    assert_close(found.sum(1), torch.ones(len(found), dtype=torch.float64))


def test_dropout_multiplies_the_units_of_three_layers():
    net, rows = make_network(2), make_rows()["sound"].labelled
    ones = torch.ones(3, 2, len(rows), 7, dtype=torch.float64)
    assert_close(net.encode("sound", rows, rows, ones)["shared"], net.encode("sound", rows, rows)["shared"])
    for layer in range(3):
        nothing = ones.clone()
        nothing[layer] = 0.0
        hidden = net.encode("sound", rows, rows, nothing)["hidden"]
        assert (hidden[:, 0] == hidden[:, 1]).all()  # what comes after depends on no row
        assert (hidden == 0).all() == (layer == 2)


def test_an_empty_text_has_the_code_of_no_words():
    net = make_dbns(seeded(1), torch.float64)["text"]
    empty = net(torch.zeros(1, SIZES["text"], dtype=torch.float64))
    lower = torch.full((1, 4), 0.5, dtype=torch.float64)
    assert_close(empty, 2 * torch.sigmoid(lower @ net.second_weight + net.second_bias) - 1)
    full = torch.full((1, SIZES["text"]), WORDS / SIZES["text"], dtype=torch.float64)
    lower = torch.sigmoid(full @ net.first_weight + net.first_bias)
    assert_close(net(full), 2 * torch.sigmoid(lower @ net.second_weight + net.second_bias) - 1)


def test_the_machines_weights_are_copied():
    weights = torch.ones(2, 2), torch.ones(2)
    net = DeepBelief(weights, weights, None)
    with torch.no_grad():
        net.first_weight.zero_()
    assert float(weights[0].min()) == 1


@pytest.mark.parametrize("equal", [True, False])
def test_pathways_start_equal_where_they_are_asked_to(equal):
    shape = NetworkShape(SIZES, CLASSES, 2, 7, equal_start=equal)
    net = CdmlmrNetwork(shape, {}, seeded())
    first, second = (net.tower(name) for name in SIZES)
    same = [torch.equal(a, b) for a, b in zip(first.pathway.parameters(), second.pathway.parameters(), strict=True)]
    same += [torch.equal(a, b) for a, b in zip(first.branches.parameters(), second.branches.parameters(), strict=True)]
    assert all(same) == equal
    assert not torch.equal(first.net[0].weight, second.net[0].weight)
    second.pathway[0].weight.data.zero_()
    assert float(first.pathway[0].weight.detach().abs().max()) > 0  # equal, and not the same


def test_the_way_past_the_net_starts_at_nothing():
    net = CdmlmrNetwork(NetworkShape(SIZES, CLASSES, 2, 7), {}, seeded())
    assert float(net.tower("sound").skip.weight.detach().abs().max()) == 0
