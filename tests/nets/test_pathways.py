import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets.pathways import Pathways, representation
from nets.enumeration import seeded

SIZES = {"sound": 5, "text": 4}


def make_net(**options):
    return Pathways(SIZES, seeded(), widths=(6, 7, 8), branch_width=3, **options)


def make_rows(name):
    return torch.randn(4, SIZES[name], generator=seeded(SIZES[name]))


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("name", list(SIZES))
def test_outputs_follow_their_formula(activation, name):
    net, x = make_net(activation=activation), make_rows(name)
    trunk = x
    for layer in net.trunks[name].layers:
        trunk = getattr(torch, activation)(functional.linear(trunk, layer.weight, layer.bias))
    assert_close(net.trunk(name, x), trunk)
    outputs = net(name, x)
    assert list(outputs) == ["contrastive", "quadruplet"]
    for branch, output in outputs.items():
        layer = net.branches[branch][name]
        assert_close(output, torch.sigmoid(functional.linear(trunk, layer.weight, layer.bias)))


def test_default_shapes_are_those_of_the_paper():
    net = Pathways({"image": 512, "text": 512}, seeded())
    shapes = [tuple(layer.weight.shape) for layer in net.trunks["image"].layers]
    assert shapes == [(256, 512), (256, 256), (256, 256)]
    assert {tuple(layer.weight.shape) for branch in net.branches.values() for layer in branch.values()} == {(256, 256)}


def test_weights_start_xavier_uniform_and_biases_at_zero():
    net = Pathways({"image": 512, "text": 128}, seeded())
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        else:
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert 0.99 * bound < parameter.abs().max() <= bound
            assert_close(parameter.var(), torch.tensor(bound**2 / 3), rtol=0.05, atol=0)


def test_modalities_have_weights_of_their_own_unless_branches_are_shared():
    assert set(make_net().branches["contrastive"]) == set(SIZES)
    shared = make_net(share_branch_fc=True)
    assert len(shared.branches["contrastive"]) == 1
    trunk = torch.randn(4, 8, generator=seeded(2))
    for branch, output in shared.outputs("sound", trunk).items():
        assert torch.equal(output, shared.outputs("text", trunk)[branch])
    assert not torch.equal(*(make_net().outputs(name, trunk)["contrastive"] for name in SIZES))


def test_a_net_with_one_branch_starts_from_the_weights_of_the_full_net():
    full = make_net().state_dict()
    for branch in ("contrastive", "quadruplet"):
        net = make_net(branches=[branch])
        assert list(net("text", make_rows("text"))) == [branch]
        assert all(torch.equal(value, full[name]) for name, value in net.state_dict().items())


def test_gradients_of_both_branches_add_up_in_the_trunk():
    def trunk_gradient(*branches):
        net = make_net(activation="tanh")
        outputs = net("text", make_rows("text"))
        sum(outputs[branch].square().sum() for branch in branches).backward()
        return net.trunks["text"].layers[0].weight.grad

    assert_close(
        trunk_gradient("contrastive", "quadruplet"), trunk_gradient("contrastive") + trunk_gradient("quadruplet")
    )


def test_cosine_of_concatenated_branches_is_the_mean_of_their_cosines():
    net = make_net()
    x = make_rows("text")
    outputs, joined = net("text", x), net.represent("text", x)
    assert joined.shape == (4, 6)
    cosines = [functional.cosine_similarity(outputs[b][0], outputs[b][1], dim=0) for b in outputs]
    assert_close(functional.cosine_similarity(joined[0], joined[1], dim=0), sum(cosines) / 2)


def test_other_representations():
    net = make_net(share_branch_fc=True)
    x = make_rows("sound")
    outputs, trunk = net("sound", x), net.trunk("sound", x)
    assert torch.equal(net.represent("sound", x, "semi"), outputs["contrastive"])
    assert torch.equal(net.represent("sound", x, "quad"), outputs["quadruplet"])
    assert torch.equal(net.represent("sound", x, "trunk"), trunk)
    directions = [output / output.norm(dim=1, keepdim=True) for output in outputs.values()]
    assert_close(net.represent("sound", x, "branch_mean"), (directions[0] + directions[1]) / 2)
    assert_close(representation("branch_concat", outputs, trunk), torch.cat(directions, 1))


def test_what_makes_no_sense_is_refused():
    x = make_rows("text")
    with pytest.raises(ConfigError, match="trunks are not comparable; set share_branch_fc"):
        make_net().represent("text", x, "trunk")
    with pytest.raises(ConfigError, match="'semi' but the net has no contrastive branch"):
        make_net(branches=["quadruplet"]).represent("text", x, "semi")
    with pytest.raises(ConfigError, match="representation is 'best'; choose one of branch_concat"):
        make_net().represent("text", x, "best")
