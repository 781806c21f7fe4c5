import pytest
import torch
from torch.testing import assert_close

from diptych.nets import ContrastiveDivergence, GaussianRBM, constant_order
from nets.enumeration import (
    binary_states,
    free_energy,
    gaussian_hidden_log_weights,
    gradients_of,
    left_gradients,
    seeded,
    shaken,
)


@pytest.fixture
def rbm():
    return shaken(GaussianRBM(3, 4, random=seeded()), seed=1)


@pytest.fixture
def rows():
    return torch.randn(7, 3, generator=seeded(2), dtype=torch.float64)


def test_free_energy_sums_over_all_hidden_states(rbm, rows):
    states = binary_states(4)
    energy = (
        0.5 * (rows - rbm.visible_bias).square().sum(1, keepdim=True)
        - states @ rbm.hidden_bias
        - rows @ rbm.weight @ states.t()
    )
    assert_close(free_energy(rbm, rows), -torch.logsumexp(-energy, dim=1))


def test_hidden_probability_is_the_conditional_of_the_energy(rbm, rows):
    states = binary_states(4)
    posterior = torch.softmax(states @ rbm.hidden_bias + rows @ rbm.weight @ states.t(), dim=1)
    assert_close(rbm.hidden_probability(rows), posterior @ states)


def test_exact_gradient_is_data_minus_model_statistics(rbm, rows):
    states = binary_states(4)
    weights = gaussian_hidden_log_weights(rbm, states)
    exact = gradients_of(-free_energy(rbm, rows).mean() - torch.logsumexp(weights, 0), rbm)
    p = torch.softmax(weights, 0)
    visible_given = states @ rbm.weight.t() + rbm.visible_bias
    hidden = rbm.hidden_probability(rows)
    assert_close(exact[0], rows.t() @ hidden / len(rows) - visible_given.t() @ (p[:, None] * states))
    assert_close(exact[1], rows.mean(0) - p @ visible_given)
    assert_close(exact[2], hidden.mean(0) - p @ states)


def test_long_contrastive_divergence_approaches_the_exact_gradient(rbm):
    data = torch.randn(40_000, 3, generator=seeded(3), dtype=torch.float64)
    objective = ContrastiveDivergence(rbm, data, order=constant_order(60), sample_visible_from=0)
    objective.gradients(torch.arange(len(data)), 0, seeded(4))
    states = binary_states(4)
    likelihood = -free_energy(rbm, data).mean() - torch.logsumexp(gaussian_hidden_log_weights(rbm, states), 0)
    for estimate, exact in zip(left_gradients(rbm), gradients_of(likelihood, rbm), strict=True):
        assert_close(estimate, exact, atol=0.04, rtol=0.0)


def test_samples_have_unit_variance_around_the_mean(rbm):
    hidden = torch.ones(20_000, 4, dtype=torch.float64)
    drawn = rbm.sample_visible(hidden, seeded(5))
    assert_close(drawn.mean(0), rbm.visible_mean(hidden[:1])[0], atol=0.03, rtol=0.0)
    assert_close(torch.cov(drawn.t()), torch.eye(3, dtype=torch.float64), atol=0.04, rtol=0.0)


def test_training_learns_low_rank_data():
    random = seeded(6)
    data = torch.randn(1000, 30, generator=random) @ torch.randn(30, 100, generator=random)
    data = (data - data.mean(0)) / data.std(0)
    rbm = GaussianRBM(100, 150, random=random)
    objective = ContrastiveDivergence(rbm, data)
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-3)
    errors = []
    for step in range(600):
        rows = torch.randint(len(data), (128,), generator=random)
        errors.append(float(objective.gradients(rows, step, random)["reconstruction_error"]))
        optimizer.step()
    assert errors[0] > 0.9
    assert sum(errors[-20:]) / 20 < 0.45
