import pytest
import torch
from torch.func import functional_call
from torch.testing import assert_close

from diptych.nets import BimodalAutoencoder, BimodalObjective
from nets.enumeration import seeded

SIZES = {"sound": 5, "text": 4}


def make_net(classes=None, **options):
    net = BimodalAutoencoder(SIZES, 3, seeded(), classes=classes, **options)
    with torch.no_grad():
        net.middle_bias.normal_(generator=seeded(9))
    return net


def make_data(rows=6, dtype=torch.float32):
    return {name: torch.rand(rows, size, generator=seeded(size), dtype=dtype) for name, size in SIZES.items()}


@pytest.mark.parametrize("modality", list(SIZES))
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_one_input_path_is_bit_for_bit_the_two_input_path_with_zeros(modality, rows):
    net, data = make_net(), make_data(rows)
    both = {name: x if name == modality else torch.zeros_like(x) for name, x in data.items()}
    assert torch.equal(net.embed(modality, data[modality]), net.encode(both))


def test_a_modality_without_weights_does_not_count():
    net, data = make_net(), make_data()
    with torch.no_grad():
        net.encoders["text"].weight.zero_()
    assert torch.equal(net.encode(data), net.embed("sound", data["sound"]))


def test_middle_layer_follows_its_formula():
    net, data = make_net(), make_data()
    linear = sum(data[name] @ net.encoders[name].weight.t() for name in SIZES) + net.middle_bias
    assert_close(net.encode(data), torch.sigmoid(linear))


def test_gradients_are_the_derivatives_of_the_loss():
    net = make_net(classes=3).double()
    data, labels = make_data(4, torch.float64), torch.tensor([0, 2, 1, 1])
    names, values = zip(*net.named_parameters(), strict=True)

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self):
            return sum(self.net.loss_parts(data, data, labels).values())

    def total(*parameters):
        return functional_call(Loss(), {f"net.{n}": p for n, p in zip(names, parameters, strict=True)}, ())

    assert torch.autograd.gradcheck(total, values)


def test_tripled_rows_mask_inputs_but_never_targets():
    data, labels = make_data(6), torch.arange(6)
    objective = BimodalObjective(make_net(classes=6), data, labels)
    assert len(objective) == 18
    inputs, targets, classes = objective.batch(torch.arange(18))
    assert torch.equal(inputs["sound"], torch.cat([data["sound"], torch.zeros(6, 5), data["sound"]]))
    assert torch.equal(inputs["text"], torch.cat([torch.zeros(6, 4), data["text"], data["text"]]))
    for name in SIZES:
        assert torch.equal(targets[name], data[name].repeat(3, 1))
    assert torch.equal(classes, labels.repeat(3))


def test_loss_is_the_sum_of_its_named_parts():
    objective = BimodalObjective(make_net(classes=2), make_data(4), torch.tensor([0, 1, 1, 0]))
    figures = objective.gradients(torch.tensor([0, 5, 11]), 0, seeded())
    assert list(figures) == ["loss", "reconstruction_sound", "reconstruction_text", "classification"]
    parts = figures["reconstruction_sound"] + figures["reconstruction_text"]
    assert_close(figures["loss"], parts + figures["classification"])


def test_parts_are_half_squared_errors_summed_over_columns():
    net, data = make_net(), make_data(2)
    z = net.encode(data)
    expected = 0.0
    for row in range(2):
        guess = torch.sigmoid(net.decoders["text"].weight @ z[row] + net.decoders["text"].bias)
        expected = expected + 0.5 * sum((guess[k] - data["text"][row, k]) ** 2 for k in range(4)) / 2
    assert_close(net.loss_parts(data, data)["reconstruction_text"], expected)


def test_text_is_rebuilt_from_sound_better_than_by_its_mean():
    random = seeded(4)
    hidden = torch.rand(300, 2, generator=random)
    data = {
        name: torch.sigmoid(hidden @ torch.randn(2, size, generator=random) * 4 - 1) for name, size in SIZES.items()
    }
    net = BimodalAutoencoder(SIZES, 12, random)
    objective = BimodalObjective(net, data)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    for step in range(400):
        optimizer.zero_grad()
        objective.gradients(torch.randint(900, (128,), generator=random), step, random)
        optimizer.step()
    with torch.no_grad():
        guess = net.decode(net.embed("sound", data["sound"]))["text"]
    error = (guess - data["text"]).square().mean()
    assert error < 0.6 * data["text"].var(0).mean()
