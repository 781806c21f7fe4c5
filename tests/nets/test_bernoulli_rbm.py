import pytest
import torch
from sklearn.neural_network import BernoulliRBM as Peer
from torch.testing import assert_close

from diptych.nets import BernoulliRBM, ContrastiveDivergence, constant_order, sample_binary
from nets.enumeration import binary_states, free_energy, gradients_of, left_gradients, seeded, shaken


@pytest.fixture
def rbm():
    return shaken(BernoulliRBM({"image": 3, "text": 1}, 3, random=seeded()), seed=1, scale=0.8)


def log_likelihood(rbm, rows):
    everything = binary_states(rbm.weight.shape[0])
    return -free_energy(rbm, rows).mean() - torch.logsumexp(-free_energy(rbm, everything), 0)


def test_probabilities_and_free_energy_equal_scikit_learn(rbm):
    rows = torch.rand(6, 4, generator=seeded(2), dtype=torch.float64)
    peer = Peer(n_components=3)
    peer.components_ = rbm.weight.detach().numpy().T
    peer.intercept_visible_ = rbm.visible_bias.detach().numpy()
    peer.intercept_hidden_ = rbm.hidden_bias.detach().numpy()
    peer.n_features_in_ = 4
    with torch.no_grad():
        assert_close(rbm.hidden_probability(rows), torch.from_numpy(peer.transform(rows.numpy())))
        assert_close(free_energy(rbm, rows), torch.from_numpy(peer._free_energy(rows.numpy())))


def test_exact_gradient_is_data_minus_model_statistics(rbm):
    rows = binary_states(4)[[3, 5, 5, 14]]
    visible, hidden = binary_states(4), binary_states(3)
    energy = -(
        visible @ rbm.weight @ hidden.t() + (visible @ rbm.visible_bias)[:, None] + (hidden @ rbm.hidden_bias)[None]
    )
    joint = torch.softmax(-energy.flatten(), 0).reshape(energy.shape)
    data = rbm.hidden_probability(rows)
    exact = gradients_of(log_likelihood(rbm, rows), rbm)
    assert_close(exact[0], rows.t() @ data / 4 - visible.t() @ joint @ hidden)
    assert_close(exact[1], rows.mean(0) - joint.sum(1) @ visible)
    assert_close(exact[2], data.mean(0) - joint.sum(0) @ hidden)


def test_long_contrastive_divergence_approaches_the_exact_gradient(rbm):
    data = sample_binary(torch.full((40_000, 4), 0.3, dtype=torch.float64), seeded(3))
    objective = ContrastiveDivergence(rbm, data, order=constant_order(40), sample_visible_from=0)
    objective.gradients(torch.arange(len(data)), 0, seeded(4))
    for estimate, exact in zip(left_gradients(rbm), gradients_of(log_likelihood(rbm, data), rbm), strict=True):
        assert_close(estimate, exact, atol=0.02, rtol=0.0)


def test_groups_add_their_inputs_and_keep_their_own_weights(rbm):
    image, text = (torch.rand(5, width, generator=seeded(7), dtype=torch.float64) for width in (3, 1))
    joined = torch.cat([image, text], dim=1)
    separate = image @ rbm.weight[rbm.columns("image")] + text @ rbm.weight[rbm.columns("text")] + rbm.hidden_bias
    assert_close(rbm.hidden_probability(joined), torch.sigmoid(separate))


def test_gains_act_in_one_direction():
    plain = shaken(BernoulliRBM(4, 3, random=seeded()), seed=1)
    geared = shaken(BernoulliRBM(4, 3, random=seeded(), up_gain=2.0, down_gain=3.0), seed=1)
    rows, hidden = torch.ones(1, 4, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    assert_close(geared.hidden_input(rows), plain.hidden_input(rows) + rows @ plain.weight)
    assert_close(geared.visible_input(hidden), plain.visible_input(hidden) + 2 * hidden @ plain.weight.t())


def test_binary_samples_follow_their_probabilities():
    wanted = torch.tensor([0.0, 0.1, 0.5, 0.9, 1.0])
    drawn = sample_binary(wanted.expand(50_000, 5), seeded(8))
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    assert_close(drawn.mean(0), wanted, atol=0.01, rtol=0.0)
    assert drawn[:, 0].sum() == 0
    assert drawn[:, 4].sum() == len(drawn)
