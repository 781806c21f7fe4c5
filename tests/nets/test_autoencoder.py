import torch
from torch.func import functional_call
from torch.testing import assert_close

from diptych.nets import Autoencoder, ReconstructionObjective
from nets.enumeration import seeded


def test_single_net_follows_its_formula():
    net = Autoencoder((5, 3), seeded())
    x = torch.rand(4, 5, generator=seeded(1))
    (down,), (up,) = net.encoder.layers, net.decoder.layers
    code = torch.relu(x @ down.weight.t() + down.bias)
    assert_close(net.embed(x), code)
    assert_close(net(x), torch.sigmoid(code @ up.weight.t() + up.bias))


def test_deep_net_starts_from_the_single_one():
    single = Autoencoder((6, 5), seeded()).double()
    deep = single.deepened(2, seeded(1))
    assert [layer.out_features for layer in deep.encoder.layers] == [5, 2]
    assert [layer.out_features for layer in deep.decoder.layers] == [5, 6]
    x = torch.rand(4, 6, generator=seeded(2), dtype=torch.float64)
    assert torch.equal(torch.relu(deep.encoder.layers[0](x)), single.embed(x))
    assert torch.equal(deep.decoder.layers[1].weight, single.decoder.layers[0].weight)
    assert deep.encoder.layers[0].weight is not single.encoder.layers[0].weight
    assert deep.embed(x).shape == (4, 2)


def test_gradients_are_the_derivatives_of_the_loss():
    net = Autoencoder((5, 4, 3), seeded()).double()
    x = torch.rand(3, 5, generator=seeded(1), dtype=torch.float64)
    names, values = zip(*net.named_parameters(), strict=True)

    def loss(*parameters):
        guess = functional_call(net, dict(zip(names, parameters, strict=True)), (x,))
        return 0.5 * (guess - x).square().sum(1).mean()

    assert torch.autograd.gradcheck(loss, values)
    figures = ReconstructionObjective(net, x).gradients(torch.arange(3), 0, seeded())
    assert_close(figures["loss"], loss(*values).detach())
    for parameter, expected in zip(values, torch.autograd.grad(loss(*values), values), strict=True):
        assert_close(parameter.grad, expected)
