import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets import ContrastiveDivergence, ReplicatedSoftmax, SparsityPenalty, constant_order, multinomial_counts
from nets.enumeration import (
    binary_states,
    count_vectors,
    free_energy,
    gradients_of,
    left_gradients,
    log_multinomial,
    seeded,
    shaken,
)


@pytest.fixture
def rbm():
    return shaken(ReplicatedSoftmax(3, 4, random=seeded(), document_length=None, up_gain=1.0), seed=1)


def log_likelihood(rbm, rows, length=4):
    everything = count_vectors(3, length)
    partition = torch.logsumexp(log_multinomial(everything) - free_energy(rbm, everything), 0)
    return (log_multinomial(rows) - free_energy(rbm, rows)).mean() - partition


def joint_probability(rbm, visible, hidden):
    length = visible.sum(1, keepdim=True)
    score = (
        visible @ rbm.weight @ hidden.t() + (visible @ rbm.visible_bias)[:, None] + length * (hidden @ rbm.hidden_bias)
    )
    score = score + log_multinomial(visible)[:, None]
    return torch.softmax(score.flatten(), 0).reshape(score.shape)


def test_exact_gradient_is_data_minus_model_statistics(rbm):
    visible, hidden = count_vectors(3, 4), binary_states(4)
    rows = visible[[0, 3, 3, 9]]
    joint = joint_probability(rbm, visible, hidden)
    data = rbm.hidden_probability(rows)
    exact = gradients_of(log_likelihood(rbm, rows), rbm)
    assert_close(exact[0], rows.t() @ data / 4 - visible.t() @ joint @ hidden)
    assert_close(exact[1], rows.mean(0) - joint.sum(1) @ visible)
    assert_close(exact[2], 4 * (data.mean(0) - joint.sum(0) @ hidden))


def test_counts_given_hidden_units_are_multinomial(rbm):
    visible, hidden = count_vectors(3, 4), binary_states(4)
    joint = joint_probability(rbm, visible, hidden)
    conditional = joint / joint.sum(0)
    words = rbm.word_probability(hidden)
    expected = torch.exp(log_multinomial(visible)[:, None] + visible @ words.log().t())
    assert_close(conditional, expected)
    assert_close(rbm.visible_mean(hidden, torch.full((16,), 4.0).double()), conditional.t() @ visible)


def test_long_contrastive_divergence_gives_the_exact_gradient_per_word(rbm):
    rows = count_vectors(3, 4)
    data = rows[torch.randint(len(rows), (40_000,), generator=seeded(3))]
    objective = ContrastiveDivergence(rbm, data, order=constant_order(40), sample_visible_from=0)
    objective.gradients(torch.arange(len(data)), 0, seeded(4))
    for estimate, exact in zip(left_gradients(rbm), gradients_of(log_likelihood(rbm, data), rbm), strict=True):
        assert_close(estimate, exact / 4, atol=0.02, rtol=0.0)


def test_one_word_is_a_softmax_unit(rbm):
    words = torch.eye(3, dtype=torch.float64)
    likelihood = torch.softmax(-free_energy(rbm, words), 0)
    hidden = binary_states(4)
    score = rbm.visible_bias[:, None] + rbm.weight @ hidden.t() + hidden @ rbm.hidden_bias
    assert_close(likelihood, torch.softmax(score.flatten(), 0).reshape(score.shape).sum(1))
    assert_close(rbm.hidden_probability(words), torch.sigmoid(rbm.weight + rbm.hidden_bias))


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.integers(2, 5))
def test_multiplied_counts_leave_the_code_under_a_fixed_length(counts, factor):
    rbm = shaken(ReplicatedSoftmax(3, 4, random=seeded(), document_length=100), seed=1, scale=0.01)
    row = torch.tensor([counts], dtype=torch.float64)
    assert_close(rbm.hidden_probability(row), rbm.hidden_probability(factor * row))


def test_fixed_length_and_gain_enter_the_hidden_input():
    rbm = shaken(ReplicatedSoftmax(3, 4, random=seeded(), document_length=100, up_gain=10.0), seed=1, scale=0.01)
    row = torch.tensor([[1.0, 3.0, 0.0]], dtype=torch.float64)
    expected = 10 * (torch.tensor([[25.0, 75.0, 0.0]]).double() @ rbm.weight) + 100 * rbm.hidden_bias
    assert_close(rbm.hidden_input(row), expected)


@pytest.mark.parametrize("length", [100, None])
@pytest.mark.parametrize("sample_from", [None, 0])
def test_empty_document_has_an_even_code_and_adds_nothing(length, sample_from):
    rbm = shaken(ReplicatedSoftmax(3, 4, random=seeded(), document_length=length), seed=1)
    empty = torch.zeros(2, 3, dtype=torch.float64)
    assert_close(rbm.hidden_probability(empty), torch.full((2, 4), 0.5).double())
    ContrastiveDivergence(rbm, empty, sample_visible_from=sample_from).gradients(torch.arange(2), 0, seeded())
    assert all(not gradient.any() for gradient in left_gradients(rbm))


def test_sampled_counts_have_the_right_lengths_and_moments():
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    lengths = torch.tensor([0.0, 1.0, 7.0, 20.0], dtype=torch.float64).repeat(20_000)
    drawn = multinomial_counts(p.expand(len(lengths), 3), lengths, seeded(5))
    assert torch.equal(drawn.sum(1), lengths)
    longest = drawn[3::4]
    assert_close(longest.mean(0), 20 * p, atol=0.06, rtol=0.0)
    assert_close(torch.cov(longest.t()), 20 * (torch.diag(p) - torch.outer(p, p)), atol=0.15, rtol=0.0)


def test_actual_lengths_are_kept_by_reconstructions(rbm):
    rows = torch.tensor([[1.0, 0.0, 0.0], [4.0, 2.0, 3.0]], dtype=torch.float64)
    hidden = rbm.hidden_probability(rows)
    assert_close(rbm.visible_mean(hidden, rbm.size(rows)).sum(1), rows.sum(1))
    assert torch.equal(rbm.sample_visible(hidden, seeded(), rbm.size(rows)).sum(1), rows.sum(1))
    with pytest.raises(ConfigError, match="actual lengths"):
        rbm.visible_mean(hidden)


def test_unigram_start_reproduces_smoothed_frequencies():
    rbm = ReplicatedSoftmax(3, 2, random=seeded(), weight_std=0.0)
    rbm.start_from_unigram(torch.tensor([7, 0, 1]))
    assert_close(rbm.word_probability(torch.zeros(1, 2))[0], torch.tensor([8.0, 1.0, 2.0]) / 11)


def test_zero_document_length_is_refused():
    with pytest.raises(ConfigError, match="document_length is 0"):
        ReplicatedSoftmax(3, 2, random=seeded(), document_length=0)


@pytest.mark.parametrize("start", ["published", "unigram"])
def test_topics_are_found(start):
    """The published start needs its sparsity penalty: without it every unit soon stays on for every document."""
    random = seeded(6)
    topics = torch.softmax(2 * torch.randn(4, 60, generator=random), dim=1)
    labels = torch.arange(400) % 4
    data = multinomial_counts(topics[labels], torch.full((400,), 40.0), random)
    if start == "published":
        rbm, sparsity = ReplicatedSoftmax(60, 16, random=random), SparsityPenalty(16, target=0.2, cost=0.01)
    else:
        rbm, sparsity = ReplicatedSoftmax(60, 16, random=random, weight_std=0.01, up_gain=1.0), None
        rbm.start_from_unigram(data.sum(0))
    objective = ContrastiveDivergence(rbm, data, sparsity=sparsity)
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.1, momentum=0.5)
    for step in range(500):
        objective.gradients(torch.randint(400, (64,), generator=random), step, random)
        optimizer.step()
    with torch.no_grad():
        code = torch.nn.functional.normalize(rbm.hidden_probability(data) - 0.5)
    similarity = (code @ code.t()).fill_diagonal_(-2.0)
    nearest = labels[similarity.argmax(1)]
    assert (nearest == labels).float().mean() > 0.9
