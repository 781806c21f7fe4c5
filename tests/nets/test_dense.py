import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets import DenseStack, activation_function, dense, dropout
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
    with pytest.raises(ConfigError, match="initialisation is 'magic'"):
        dense(2, 2, seeded(), "magic")
    with pytest.raises(ConfigError, match=r"dropout is 1\.0"):
        DenseStack((2, 2), seeded(), dropout_share=1.0)


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
