"""A layer of K members is K layers."""

from math import sqrt

import pytest
import torch
from torch.testing import assert_close

from diptych.nets.members import MemberLinear, half_products
from nets.enumeration import seeded

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
