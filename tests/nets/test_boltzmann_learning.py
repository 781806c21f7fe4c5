import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets import DeepBoltzmannObjective, PersistentChains
from nets.enumeration import seeded
from nets.tiny_boltzmann import log_partition, lower_bound, tiny_data, tiny_model


def test_chain_statistics_approach_enumeration():
    model = tiny_model()
    chains = PersistentChains(model, 30_000, seeded(3)).double()
    found = model.statistics(chains.advance(model, 60, seeded(4)))
    exact = torch.autograd.grad(log_partition(model), [parameter for parameter, _ in found])
    per_word = {id(parameter) for parameter in model.pathways["text"].bottom.parameters()}
    bias = model.pathways["image"].bottom.visible_bias
    for (parameter, statistic), derivative in zip(found, exact, strict=True):
        if parameter is bias:
            # The derivative is E[v] − b; statistics leave out the b, which cancels between the phases.
            derivative = derivative + parameter.detach()
        expected = derivative / 3 if id(parameter) in per_word else derivative
        assert_close(statistic.detach(), expected, atol=0.025, rtol=0)


def test_gradient_is_model_minus_posterior_statistics():
    model, data = tiny_model(), tiny_data()
    objective = DeepBoltzmannObjective(model, data, seeded(5), chains=10, sweeps=2, iterations=7, damping=0.2)
    rows = torch.tensor([3, 1, 4])
    twin = PersistentChains(model, 10, seeded(5)).double()
    negative = model.statistics(twin.advance(model, 2, seeded(6)))
    positive = model.statistics(model.mean_field({name: x[rows] for name, x in data.items()}, 7, 0.2))
    objective.gradients(rows, 0, seeded(6))
    for (parameter, imagined), (_, observed) in zip(negative, positive, strict=True):
        assert_close(parameter.grad, (imagined - observed).detach())


def test_training_raises_the_exact_lower_bound():
    model, data = tiny_model(scale=0.1), tiny_data(60)
    data["image"] = data["image"] + 2.0 * (data["text"][:, :1] - 1.0)
    objective = DeepBoltzmannObjective(model, data, seeded(7), chains=200, sweeps=2)
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.05)

    def bound():
        with torch.no_grad():
            return float(lower_bound(model, data, model.mean_field(data, 50)))

    bounds = [bound()]
    for step in range(400):
        optimizer.zero_grad()
        objective.gradients(torch.arange(60), step, seeded(100 + step))
        optimizer.step()
        if step % 100 == 99:
            bounds.append(bound())
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0] + 0.3


def test_chains_are_part_of_what_is_saved():
    objective = DeepBoltzmannObjective(tiny_model(), tiny_data(), seeded(), chains=5)
    state = objective.module.state_dict()
    assert state["chains.joint"].shape == (5, 2)
    before = {name: value.clone() for name, value in state.items() if name.startswith("chains")}
    objective.gradients(torch.arange(4), 0, seeded(1))
    assert any(not torch.equal(objective.module.state_dict()[name], value) for name, value in before.items())


@pytest.mark.parametrize("options", [{"chains": 0}, {"sweeps": 0}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(ConfigError, match="must be at least 1"):
        DeepBoltzmannObjective(tiny_model(), tiny_data(), seeded(), **options)
