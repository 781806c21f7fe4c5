from math import sqrt

import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError, DataError
from diptych.nets import ClassificationObjective, DenseStack, FeedForward, activation_function, dense, dropout
from diptych.nets.dense import MemberLinear, half_products
from nets.enumeration import seeded


@pytest.mark.parametrize(("scheme", "variance"), [("fan_out", 1 / 200), ("he", 2 / 300), ("xavier", 2 / (200 + 300))])
def test_weights_start_with_the_variance_of_their_scheme(scheme, variance):
    layer = dense(300, 200, seeded(), scheme)
    assert abs(float(layer.weight.detach().var()) / variance - 1) < 0.03
    assert not layer.bias.any()


def test_weights_depend_on_the_given_generator_alone():
    before = torch.get_rng_state()
    first, again, other = dense(3, 2, seeded(1)), dense(3, 2, seeded(1)), dense(3, 2, seeded(2))
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)
    assert torch.equal(torch.get_rng_state(), before)


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match="activation is 'gelu'"):
        activation_function("gelu")


def test_stack_equals_its_layers_by_hand():
    stack = DenseStack((4, 3, 2), seeded(), activation="tanh", last="linear")
    x = torch.randn(5, 4, generator=seeded(1))
    one, two = stack.layers
    assert_close(stack(x), torch.tanh(x @ one.weight.t() + one.bias) @ two.weight.t() + two.bias)


def test_dropout_keeps_the_mean_and_rests_without_a_generator():
    x = torch.ones(200, 500)
    dropped = dropout(x, 0.3, seeded())
    assert abs(float((dropped == 0).float().mean()) - 0.3) < 0.01
    assert abs(float(dropped.mean()) - 1.0) < 0.01
    assert dropout(x, 0.3, None) is x


def test_an_output_layer_is_never_dropped():
    stack = DenseStack((4, 400), seeded(), last="sigmoid", dropout_share=0.5)
    assert (stack(torch.ones(1, 4), seeded(1)) > 0).all()


def test_it_overfits_fifty_rows():
    random = seeded()
    data, labels = torch.randn(50, 20, generator=random), torch.randint(5, (50,), generator=random)
    net = FeedForward(20, 5, random, hidden=(64, 64, 64))
    objective = ClassificationObjective(net, data, labels)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for step in range(150):
        optimizer.zero_grad()
        figures = objective.gradients(torch.arange(50), step, random)
        optimizer.step()
    assert float(figures["accuracy"]) == 1.0
    assert (net(data).argmax(1) == labels).all()


def test_hidden_is_the_last_relu_layer_under_the_head():
    net = FeedForward(6, 3, seeded(), hidden=(5, 4, 7))
    x = torch.randn(8, 6, generator=seeded(1))
    code = net.hidden(x)
    assert code.shape == (8, 7)
    assert (code >= 0).all()
    assert_close(net(x), net.head(code))


def test_gradient_is_that_of_the_mean_cross_entropy():
    net = FeedForward(4, 3, seeded(), hidden=(5, 5, 5)).double()
    data = torch.randn(6, 4, generator=seeded(1), dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    ClassificationObjective(net, data, labels).gradients(torch.tensor([1, 3]), 0, seeded(2))
    found = [p.grad.clone() for p in net.parameters()]
    expected = torch.autograd.grad(
        -torch.log_softmax(net(data[[1, 3]]), 1)[[0, 1], [1, 0]].mean(), list(net.parameters())
    )
    for left, right in zip(found, expected, strict=True):
        assert_close(left, right)


def test_dropout_draws_from_the_generator_and_spares_inference():
    net = FeedForward(6, 3, seeded(), hidden=(50, 50, 50), dropout_share=0.5)
    x = torch.randn(4, 6, generator=seeded(1))
    assert torch.equal(net.hidden(x, seeded(2)), net.hidden(x, seeded(2)))
    assert not torch.equal(net.hidden(x, seeded(2)), net.hidden(x, seeded(3)))
    assert torch.equal(net.hidden(x), net.hidden(x))


def test_labels_must_match_rows():
    with pytest.raises(DataError, match=r"\[3, 2\] rows"):
        ClassificationObjective(FeedForward(2, 2, seeded(), hidden=(2,)), torch.zeros(3, 2), torch.zeros(2).long())


MEMBERS, INPUTS, OUTPUTS, ROWS = 3, 5, 4, 7


def layer_and_copies(*, same_rows, bias, dtype):
    """A layer with biases away from zero, and one `torch.nn.Linear` for each of its members."""
    layer = MemberLinear(MEMBERS, INPUTS, OUTPUTS, seeded(), bias=bias, same_rows=same_rows).to(dtype)
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias, generator=seeded(1))
    copies = []
    for member in range(MEMBERS):
        copy = torch.nn.Linear(INPUTS, OUTPUTS, bias=bias, dtype=dtype)
        with torch.no_grad():
            copy.weight.copy_(layer.weight_of(member).t())
            if layer.bias is not None:
                copy.bias.copy_(layer.bias[member])
        copies.append(copy)
    return layer, copies


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("same_rows", [True, False])
def test_outputs_and_gradients_are_those_of_separate_layers(same_rows, bias, dtype):
    layer, copies = layer_and_copies(same_rows=same_rows, bias=bias, dtype=dtype)
    shape = (ROWS, INPUTS) if same_rows else (MEMBERS, ROWS, INPUTS)
    rows = torch.randn(shape, generator=seeded(2), dtype=dtype)
    wanted = torch.randn(MEMBERS, ROWS, OUTPUTS, generator=seeded(3), dtype=dtype)
    found = layer(rows)
    (found * wanted).sum().backward()
    for member, copy in enumerate(copies):
        expected = copy(rows if same_rows else rows[member])
        assert_close(found[member], expected, rtol=1e-5, atol=1e-6)
        (expected * wanted[member]).sum().backward()
        gradient = layer.weight.grad[:, member] if same_rows else layer.weight.grad[member]
        assert_close(gradient, copy.weight.grad.t(), rtol=1e-4, atol=1e-5)
        if bias:
            assert_close(layer.bias.grad[member], copy.bias.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("same_rows", [True, False])
def test_members_start_apart_with_the_spread_of_their_scheme(same_rows):
    def weights(scheme, **options):
        made = MemberLinear(4, 200, 300, seeded(), scheme, same_rows=same_rows, **options)
        return torch.stack([made.weight_of(member) for member in range(4)]).detach()

    assert float(weights("he").std()) == pytest.approx(sqrt(2 / 200), rel=0.02)
    assert float(weights("he", fan_in=800).std()) == pytest.approx(sqrt(2 / 800), rel=0.02)
    xavier = weights("xavier")
    assert float(xavier.abs().max()) == pytest.approx(sqrt(6 / 500), rel=0.01)
    assert float(xavier.std()) == pytest.approx(sqrt(6 / 500 / 3), rel=0.02)
    assert float(weights("zero").abs().max()) == 0
    assert float((xavier[0] - xavier[1]).abs().mean()) > 0.01


@pytest.mark.parametrize(("dtype", "far"), [(torch.float64, 0.0), (torch.float32, 0.02)])
def test_half_precision_is_for_single_precision_alone(dtype, far):
    rows = torch.randn(40, 30, generator=seeded(), dtype=dtype)
    plain = rows @ rows.t()
    with half_products(rows):
        assert float((rows @ rows.t() - plain).abs().max()) <= far * float(plain.abs().max())
