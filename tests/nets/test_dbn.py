import torch
from torch.testing import assert_close

from diptych.nets import BernoulliRBM, DeepBeliefNetwork, ReplicatedSoftmax
from nets.enumeration import seeded, shaken


def stack():
    low = shaken(ReplicatedSoftmax(6, 5, random=seeded(), document_length=50, up_gain=10.0), 1, scale=0.02)
    high = shaken(BernoulliRBM(5, 4, random=seeded()), 2)
    return DeepBeliefNetwork([low, high])


def test_code_is_the_probability_given_probabilities_with_the_text_rules_kept():
    net = stack()
    low, high = net.layers
    counts = torch.tensor([[1.0, 0, 3, 0, 0, 0], [0, 2.0, 2, 4, 0, 2]]).double()
    scaled = 50 * counts / counts.sum(1, keepdim=True)
    first = torch.sigmoid(10 * scaled @ low.weight + 50 * low.hidden_bias)
    assert_close(net.encode(counts), torch.sigmoid(first @ high.weight + high.hidden_bias))
    assert_close(net.encode(3 * counts), net.encode(counts))


def test_chunks_do_not_change_the_code():
    net = stack()
    counts = torch.randint(0, 4, (23, 6), generator=seeded(3)).double()
    assert_close(net.encode(counts, chunk=5), net.encode(counts))


def test_layers_are_frozen():
    net = stack()
    assert not any(parameter.requires_grad for parameter in net.parameters())
    assert not net.encode(torch.ones(2, 6).double()).requires_grad
