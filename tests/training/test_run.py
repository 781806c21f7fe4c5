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


KINDS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("decay_biases", [False, True])
def test_exactly_the_torch_optimizer(name, decay_biases):
    rate, momentum = InverseT(0.05, 7.0), Ramp(0.5, 0.9, 5.0)
    module = trained(optimizer=name, rate=rate, momentum=momentum, weight_decay=0.01, decay_biases=decay_biases,
                     bias_rate_multiplier=2.0)  # fmt: skip
    reference = Fixed()
    weight, bias = reference.module.parameters()
    groups = [{"params": [weight], "weight_decay": 0.01}, {"params": [bias], "weight_decay": 0.01 * decay_biases}]
    optimizer = KINDS[name](groups, lr=1.0)
    for t in range(25):
        for group, multiplier in zip(optimizer.param_groups, (1.0, 2.0), strict=True):
            group["lr"] = rate.at(t) * multiplier
            group.update({"momentum": momentum.at(t)} if name == "sgd" else {"betas": (momentum.at(t), 0.999)})
        optimizer.zero_grad()
        reference.gradients(None, t, None)
        optimizer.step()
    assert torch.allclose(module.weight, weight, rtol=1e-5, atol=1e-7)
    assert torch.allclose(module.bias, bias, rtol=1e-5, atol=1e-7)


def test_adamw_shrinks_weights_beside_the_gradient():
    """Adam divides the decay by the gradient's size, AdamW does not: with strong decay they go apart."""
    module = trained(optimizer="adamw", rate=Constant(0.01), weight_decay=0.5)
    weight, bias = (parameter.detach().double() for parameter in Fixed().module.parameters())
    for parameter, decay, found in ((weight, 0.5, module.weight), (bias, 0.0, module.bias)):
        value, mean, square = parameter, torch.zeros_like(parameter), torch.zeros_like(parameter)
        for t in range(25):
            gradient = value + t
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            corrected = mean / (1 - 0.9 ** (t + 1)), square / (1 - 0.999 ** (t + 1))
            value = value * (1 - 0.01 * decay) - 0.01 * corrected[0] / (corrected[1].sqrt() + 1e-8)
        assert torch.allclose(found.double(), value, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(
        module.weight, trained(optimizer="adam", rate=Constant(0.01), weight_decay=0.5).weight, atol=0.01
    )


class Parts(torch.nn.Module):
    """Two layers, one of them in two parts."""

    def __init__(self):
        super().__init__()
        self.tower = torch.nn.ModuleDict({"low": torch.nn.Linear(2, 2), "high": torch.nn.Linear(2, 2)})
        self.head = torch.nn.Linear(2, 2)


def moved_after_one_step(**settings):
    """How far each parameter moves by a gradient of one."""
    module = Parts()
    before = {name: value.detach().clone() for name, value in module.named_parameters()}

    class Ones:
        def __init__(self):
            self.module = module

        def gradients(self, rows, step, random):
            for parameter in module.parameters():
                parameter.grad = torch.ones_like(parameter)
            return {"size": torch.zeros(())}

    train(Ones(), LoopSettings(steps=1, rate=Constant(0.1), momentum=Constant(0.0), device="cpu", **settings), count=4)
    return {name: float((before[name] - value.detach()).mean()) for name, value in module.named_parameters()}


def test_rates_are_multiplied_by_the_longest_name_that_fits():
    moved = moved_after_one_step(rate_multipliers={"tower": 0.5, "tower.high": 0.1}, bias_rate_multiplier=2.0)
    expected = {"tower.low": 0.05, "tower.high": 0.01, "head": 0.1}
    assert moved == pytest.approx(
        {f"{layer}.weight": rate for layer, rate in expected.items()}
        | {f"{layer}.bias": 2 * rate for layer, rate in expected.items()},
        rel=1e-4,
    )


def test_without_multipliers_all_rates_are_the_same():
    assert list(moved_after_one_step().values()) == pytest.approx([0.1] * 6, rel=1e-4)


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
