from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from diptych.nets import BernoulliRBM, DeepBoltzmannMachine, GaussianRBM, Layers, ReplicatedSoftmax
from nets.enumeration import seeded, shaken
from nets.tiny_boltzmann import energy, hidden_states, log_likelihood, lower_bound, tiny_data, tiny_model


def assert_fixed_point(model, layers, known, atol=1e-8):
    """Every inferred unit equals its conditional mean given the others, written out layer by layer."""
    image, text = model.pathways["image"], model.pathways["text"]
    first, second, joint, v = layers.first, layers.second, layers.joint, layers.visible
    J = model.joint_weights
    image_input = v["image"] @ image.bottom.weight + image.bottom.hidden_bias + second["image"] @ image.weight.t()
    text_input = v["text"] @ text.bottom.weight + 3 * text.bottom.hidden_bias + second["text"] @ text.weight.t()
    joint_input = second["image"] @ J["image"] + second["text"] @ J["text"] + model.joint_bias
    expected = [
        (first["image"], torch.sigmoid(image_input)),
        (first["text"], torch.sigmoid(text_input)),
        (joint, torch.sigmoid(joint_input)),
    ]
    for name, path in model.pathways.items():
        expected.append((second[name], torch.sigmoid(first[name] @ path.weight + path.bias + joint @ J[name].t())))
    if "image" not in known:
        expected.append((v["image"], image.bottom.visible_bias + first["image"] @ image.bottom.weight.t()))
    if "text" not in known:
        words = torch.softmax(text.bottom.visible_bias + first["text"] @ text.bottom.weight.t(), 1)
        expected.append((v["text"], 3 * words))
    for found, wanted in expected:
        assert_close(found, wanted.detach(), atol=atol, rtol=0)


@pytest.mark.parametrize("given", [["image", "text"], ["image"], ["text"]])
def test_mean_field_reaches_its_fixed_point(given):
    model, data = tiny_model(), tiny_data()
    known = {name: data[name] for name in given}
    layers = model.mean_field(known, iterations=400)
    assert_fixed_point(model, layers, known)
    for name in given:
        assert torch.equal(layers.visible[name], data[name])


def test_every_mean_field_round_raises_the_bound():
    model, data = tiny_model(scale=1.5), tiny_data()
    with torch.no_grad():
        bounds = [float(lower_bound(model, data, model.mean_field(data, n))) for n in range(12)]
        assert all(later >= earlier - 1e-10 for earlier, later in pairwise(bounds))
        assert bounds[-1] > bounds[0]
        assert bounds[-1] <= float(log_likelihood(model, data))


def test_bound_is_tight_when_the_posterior_factorises():
    model, data = tiny_model(), tiny_data()
    with torch.no_grad():
        for path in model.pathways.values():
            path.weight.zero_()
        for weight in model.joint_weights.values():
            weight.zero_()
        assert_close(lower_bound(model, data, model.mean_field(data)), log_likelihood(model, data))


def test_conditionals_match_the_energy():
    model, data = tiny_model(), tiny_data(1)
    first, second, joint = hidden_states()
    layers = Layers({name: x.expand(len(joint), -1) for name, x in data.items()}, first, second, joint)
    on, off = joint.clone(), joint.clone()
    on[:, 0], off[:, 0] = 1.0, 0.0
    energies = [energy(model, Layers(layers.visible, first, second, h)) for h in (on, off)]
    assert_close(
        model.odd_layers(model.bottom_inputs(layers.visible), second)[1][:, 0], torch.sigmoid(energies[1] - energies[0])
    )
    on, off = second["text"].clone(), second["text"].clone()
    on[:, 1], off[:, 1] = 1.0, 0.0
    energies = [energy(model, Layers(layers.visible, first, {**second, "text": h}, joint)) for h in (on, off)]
    assert_close(model.second_layers(first, joint)["text"][:, 1], torch.sigmoid(energies[1] - energies[0]))


def test_statistics_are_minus_the_derivatives_of_the_energy():
    model, data = tiny_model(), tiny_data()
    layers = model.mean_field(data)
    statistics = model.statistics(layers)
    derivatives = torch.autograd.grad(-energy(model, layers).mean(), [parameter for parameter, _ in statistics])
    assert {id(parameter) for parameter, _ in statistics} == {id(parameter) for parameter in model.parameters()}
    image, text = (model.pathways[name].bottom for name in ("image", "text"))
    per_word = {id(parameter) for parameter in text.parameters()}
    for (parameter, statistic), derivative in zip(statistics, derivatives, strict=True):
        expected = derivative / 3 if id(parameter) in per_word else derivative
        if parameter is image.visible_bias:
            expected = expected + parameter.detach()
        assert_close(statistic.detach(), expected)


def test_machines_trained_layer_by_layer_are_copied():
    low = {
        "image": shaken(GaussianRBM(5, 4, random=seeded(), up_gain=2.0), 1),
        "text": shaken(ReplicatedSoftmax(6, 3, random=seeded(), document_length=10), 2),
    }
    high = {name: shaken(BernoulliRBM(low[name].weight.shape[1], 3, random=seeded()), 3) for name in low}
    joint = shaken(BernoulliRBM({"image": 3, "text": 3}, 2, random=seeded(), down_gain=2.0), 4)
    model = DeepBoltzmannMachine.from_machines({name: (low[name], high[name]) for name in low}, joint)
    assert torch.equal(model.pathways["text"].bottom.weight, low["text"].weight)
    assert torch.equal(model.pathways["image"].weight, high["image"].weight)
    assert torch.equal(model.joint_weights["text"], joint.weight[3:])
    assert torch.equal(model.joint_bias, joint.hidden_bias)
    assert {path.bottom.up_gain for path in model.pathways.values()} == {1.0}
    assert low["image"].up_gain == 2.0
    assert model.joint_bias.dtype == torch.float64
