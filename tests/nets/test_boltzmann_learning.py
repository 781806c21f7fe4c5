import pytest
import torch
from torch.testing import assert_close

from diptych.nets import (
    BernoulliRBM,
    ContrastiveDivergence,
    DeepBoltzmannObjective,
    GaussianRBM,
    PersistentChains,
    ReplicatedSoftmax,
    SparsityPenalty,
    constant_order,
    sample_binary,
    step_up_order,
)
from nets.enumeration import seeded, shaken
from nets.tiny_boltzmann import log_partition, lower_bound, tiny_data, tiny_model


def by_hand(rbm, v, penalty, order, random):
    """The recipe written out for a Gaussian machine, one hidden layer at a time."""
    W, b, c = (p.detach() for p in (rbm.weight, rbm.visible_bias, rbm.hidden_bias))
    positive = torch.sigmoid(v @ W + c)
    hidden = positive
    for _ in range(order):
        fantasy = sample_binary(hidden, random) @ W.t() + b
        hidden = torch.sigmoid(fantasy @ W + c)
    return (
        (v.t() @ (positive - penalty) - fantasy.t() @ hidden) / len(v),
        v.mean(0) - fantasy.mean(0),
        positive.mean(0) - hidden.mean(0) - penalty,
        positive.mean(0),
    )


@pytest.mark.parametrize("order", [1, 3])
def test_gradients_follow_the_written_recipe(order):
    rbm = shaken(GaussianRBM(5, 4, random=seeded()), seed=1)
    data = torch.randn(10, 5, generator=seeded(2), dtype=torch.float64)
    sparsity = SparsityPenalty(4, target=0.2, cost=0.1).double()
    objective = ContrastiveDivergence(rbm, data, order=constant_order(order), sparsity=sparsity)
    rows = torch.tensor([7, 1, 1, 4])
    activity = torch.sigmoid(data[rows] @ rbm.weight + rbm.hidden_bias).mean(0).detach()
    q = 0.9 * 0.2 + 0.1 * activity
    penalty = 0.1 * (q - 0.2) / (q * (1 - q))
    G_W, G_b, G_c, mean = by_hand(rbm, data[rows], penalty, order, seeded(3))
    figures = objective.gradients(rows, 0, seeded(3))
    assert_close(rbm.weight.grad, -G_W)
    assert_close(rbm.visible_bias.grad, -G_b)
    assert_close(rbm.hidden_bias.grad, -G_c)
    assert_close(sparsity.activity, q)
    assert_close(figures["mean_activity"], mean.mean())
    assert next(iter(figures)) == "reconstruction_error"


def test_update_is_the_published_rule_with_torch_sgd():
    rbm = shaken(GaussianRBM(5, 4, random=seeded()), seed=1)
    data = torch.randn(10, 5, generator=seeded(2), dtype=torch.float64)
    objective = ContrastiveDivergence(rbm, data)
    decayed, free = [rbm.weight], [rbm.visible_bias, rbm.hidden_bias]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 0.01}, {"params": free}], lr=0.1, momentum=0.5)
    theta = {p: p.detach().clone() for p in rbm.parameters()}
    delta = {p: torch.zeros_like(p) for p in rbm.parameters()}
    for step in range(4):
        rate, momentum = 0.1 / (1 + step), 0.5 + 0.1 * step
        for group in optimizer.param_groups:
            group.update(lr=rate, momentum=momentum)
        optimizer.zero_grad()
        objective.gradients(torch.arange(10), step, seeded(step))
        for p in rbm.parameters():
            decay = 0.01 if p is rbm.weight else 0.0
            delta[p] = momentum * delta[p] + decay * theta[p] + p.grad
            theta[p] = theta[p] - rate * delta[p]
        optimizer.step()
        for p in rbm.parameters():
            assert_close(p.detach(), theta[p])


def test_order_steps_up_as_published():
    image, text, second = step_up_order(50_000, 10_000), step_up_order(15_000, 5_000), step_up_order(15_000, 5_000)
    assert [image(step) for step in (0, 49_999, 50_000, 59_999, 60_000)] == [1, 1, 2, 2, 3]
    assert image(99_999) == 6
    assert text(99_999) == 18
    assert second(199_999) == 38


def test_visible_units_are_sampled_only_from_the_given_step():
    rbm = BernoulliRBM(6, 4, random=seeded())
    data = torch.rand(8, 6, generator=seeded(1))
    rows = torch.arange(8)

    def weight_gradient(step, sample_from):
        ContrastiveDivergence(rbm, data, sample_visible_from=sample_from).gradients(rows, step, seeded(2))
        return rbm.weight.grad.clone()

    mean = weight_gradient(0, None)
    assert torch.equal(weight_gradient(4, 5), mean)
    assert not torch.equal(weight_gradient(5, 5), mean)


def test_gradients_replace_what_was_there_whether_or_not_it_was_cleared():
    rbm = GaussianRBM(6, 4, random=seeded())
    objective = ContrastiveDivergence(rbm, torch.randn(8, 6, generator=seeded(1)))
    objective.gradients(torch.arange(8), 0, seeded(2))
    first = [p.grad.clone() for p in rbm.parameters()]
    kept = rbm.weight.grad
    objective.gradients(torch.arange(8), 0, seeded(2))
    assert rbm.weight.grad is kept
    assert all(torch.equal(p.grad, old) for p, old in zip(rbm.parameters(), first, strict=True))


def test_reconstruction_error_is_that_of_the_first_reconstruction():
    rbm = shaken(GaussianRBM(5, 4, random=seeded()), seed=1)
    data = torch.randn(10, 5, generator=seeded(2), dtype=torch.float64)
    errors = [
        ContrastiveDivergence(rbm, data, order=constant_order(k)).gradients(torch.arange(10), 0, seeded(3))
        for k in (1, 4)
    ]
    assert_close(errors[0]["reconstruction_error"], errors[1]["reconstruction_error"])
    sample = sample_binary(rbm.hidden_probability(data).detach(), seeded(3))
    assert_close(errors[0]["reconstruction_error"], (data - rbm.visible_mean(sample)).square().mean().detach())


def test_word_error_compares_frequencies():
    rbm = shaken(ReplicatedSoftmax(3, 2, random=seeded()), seed=1)
    data = torch.tensor([[2.0, 0.0, 2.0], [0.0, 5.0, 0.0]], dtype=torch.float64)
    figures = ContrastiveDivergence(rbm, data).gradients(torch.arange(2), 0, seeded(3))
    sample = sample_binary(rbm.hidden_probability(data).detach(), seeded(3))
    difference = data / data.sum(1, keepdim=True) - rbm.word_probability(sample)
    assert_close(figures["reconstruction_error"], difference.square().sum(1).mean().detach())


def test_idle_units_are_counted():
    rbm = BernoulliRBM(2, 4, random=seeded(), weight_std=0.0)
    with torch.no_grad():
        rbm.hidden_bias.copy_(torch.tensor([-20.0, 20.0, 0.0, 1.0]))
    figures = ContrastiveDivergence(rbm, torch.zeros(3, 2)).gradients(torch.arange(3), 0, seeded())
    assert float(figures["idle_units"]) == 0.5


def test_sparsity_drives_activity_to_its_target():
    random = seeded(5)
    rbm = BernoulliRBM(10, 6, random=random)
    data = torch.rand(200, 10, generator=random)
    sparsity = SparsityPenalty(6, target=0.1, cost=1.0)
    objective = ContrastiveDivergence(rbm, data, sparsity=sparsity)
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.05)
    for step in range(500):
        figures = objective.gradients(torch.arange(200), step, random)
        optimizer.step()
    assert abs(float(figures["mean_activity"]) - 0.1) < 0.03
    assert_close(objective.module.state_dict()["sparsity.activity"], sparsity.activity)


def test_sparsity_survives_dead_and_saturated_units():
    sparsity = SparsityPenalty(2, target=0.2, cost=0.1, decay=0.0)
    assert torch.isfinite(sparsity.update(torch.tensor([0.0, 1.0]))).all()


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
    objective = DeepBoltzmannObjective(model, data, seeded(5), chains=10, sweeps=2, iterations=7)
    rows = torch.tensor([3, 1, 4])
    twin = PersistentChains(model, 10, seeded(5)).double()
    negative = model.statistics(twin.advance(model, 2, seeded(6)))
    positive = model.statistics(model.mean_field({name: x[rows] for name, x in data.items()}, 7))
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
