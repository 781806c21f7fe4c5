import pytest
import torch

from diptych.training import Constant, InverseT, LoopSettings, Ramp, train


class Fixed:
    """An objective whose gradient is known: the parameters themselves plus the step."""

    def __init__(self):
        random = torch.Generator().manual_seed(3)
        self.module = torch.nn.Linear(5, 3)
        for parameter in self.module.parameters():
            parameter.data = torch.randn(parameter.shape, generator=random)

    def gradients(self, rows, step, random):
        for parameter in self.module.parameters():
            assert parameter.grad is None
            parameter.grad = parameter.detach() + step
        return {"size": self.module.weight.detach().sum()}


def trained(**settings):
    objective = Fixed()
    train(objective, LoopSettings(steps=25, device="cpu", **settings), count=4)
    return objective.module


def test_sgd_is_the_published_update():
    rate, momentum = InverseT(0.05, 7.0), Ramp(0.5, 0.9, 5.0)
    module = trained(rate=rate, momentum=momentum, weight_decay=0.1)
    weight, bias = (parameter.detach().double() for parameter in Fixed().module.parameters())
    velocity_w, velocity_b = torch.zeros_like(weight), torch.zeros_like(bias)
    for t in range(25):
        velocity_w = momentum.at(t) * velocity_w + 0.1 * weight + (weight + t)
        velocity_b = momentum.at(t) * velocity_b + (bias + t)
        weight, bias = weight - rate.at(t) * velocity_w, bias - rate.at(t) * velocity_b
    assert torch.allclose(module.weight.double(), weight, rtol=1e-4)
    assert torch.allclose(module.bias.double(), bias, rtol=1e-4)


@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("decay_biases", [False, True])
def test_exactly_the_torch_optimizer(name, decay_biases):
    rate, momentum = InverseT(0.05, 7.0), Ramp(0.5, 0.9, 5.0)
    module = trained(optimizer=name, rate=rate, momentum=momentum, weight_decay=0.01, decay_biases=decay_biases,
                     bias_rate_multiplier=2.0)  # fmt: skip
    reference = Fixed()
    weight, bias = reference.module.parameters()
    groups = [{"params": [weight], "weight_decay": 0.01}, {"params": [bias], "weight_decay": 0.01 * decay_biases}]
    kind = torch.optim.SGD if name == "sgd" else torch.optim.Adam
    optimizer = kind(groups, lr=1.0)
    for t in range(25):
        for group, multiplier in zip(optimizer.param_groups, (1.0, 2.0), strict=True):
            group["lr"] = rate.at(t) * multiplier
            group.update({"momentum": momentum.at(t)} if name == "sgd" else {"betas": (momentum.at(t), 0.999)})
        optimizer.zero_grad()
        reference.gradients(None, t, None)
        optimizer.step()
    assert torch.allclose(module.weight, weight, rtol=1e-5, atol=1e-7)
    assert torch.allclose(module.bias, bias, rtol=1e-5, atol=1e-7)


def test_clipping_bounds_the_whole_gradient():
    before = Fixed().module
    objective = Fixed()
    settings = LoopSettings(
        steps=1, rate=Constant(1.0), momentum=Constant(0.0), clip_norm=0.5, device="cpu", log_every=1
    )
    history = train(objective, settings, count=4)
    moved = [(a - b).detach() for a, b in zip(before.parameters(), objective.module.parameters(), strict=True)]
    assert torch.cat([part.reshape(-1) for part in moved]).norm() == pytest.approx(0.5, rel=1e-4)
    expected = torch.cat([parameter.reshape(-1) for parameter in before.parameters()]).detach().norm()
    assert history.rows[0]["gradient_norm"] == pytest.approx(float(expected), rel=1e-5)


def test_frozen_parameters_stay():
    objective = Fixed()
    objective.module.weight.requires_grad_(False)
    before = objective.module.weight.clone()
    objective.gradients = lambda rows, step, random: (
        setattr(objective.module.bias, "grad", torch.ones(3)), {"size": torch.zeros(())})[1]  # fmt: skip
    train(objective, LoopSettings(steps=3, weight_decay=0.5, device="cpu"), count=4)
    assert torch.equal(objective.module.weight, before)
