import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import DataError
from diptych.nets import ClassificationObjective, FeedForward
from nets.enumeration import seeded


def test_it_overfits_fifty_rows():
    random = seeded()
    data, labels = torch.randn(50, 20, generator=random), torch.randint(5, (50,), generator=random)
    net = FeedForward(20, 5, random, hidden=(64, 64, 64))
    objective = ClassificationObjective(net, data, labels)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for step in range(150):
        optimizer.zero_grad()
        figures = objective.gradients(torch.arange(50), step, random)
        optimizer.step()
    assert float(figures["accuracy"]) == 1.0
    assert (net(data).argmax(1) == labels).all()


def test_hidden_is_the_last_relu_layer_under_the_head():
    net = FeedForward(6, 3, seeded(), hidden=(5, 4, 7))
    x = torch.randn(8, 6, generator=seeded(1))
    code = net.hidden(x)
    assert code.shape == (8, 7)
    assert (code >= 0).all()
    assert_close(net(x), net.head(code))


def test_gradient_is_that_of_the_mean_cross_entropy():
    net = FeedForward(4, 3, seeded(), hidden=(5, 5, 5)).double()
    data = torch.randn(6, 4, generator=seeded(1), dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    ClassificationObjective(net, data, labels).gradients(torch.tensor([1, 3]), 0, seeded(2))
    found = [p.grad.clone() for p in net.parameters()]
    expected = torch.autograd.grad(
        -torch.log_softmax(net(data[[1, 3]]), 1)[[0, 1], [1, 0]].mean(), list(net.parameters())
    )
    for left, right in zip(found, expected, strict=True):
        assert_close(left, right)


def test_dropout_draws_from_the_generator_and_spares_inference():
    net = FeedForward(6, 3, seeded(), hidden=(50, 50, 50), dropout_share=0.5)
    x = torch.randn(4, 6, generator=seeded(1))
    assert torch.equal(net.hidden(x, seeded(2)), net.hidden(x, seeded(2)))
    assert not torch.equal(net.hidden(x, seeded(2)), net.hidden(x, seeded(3)))
    assert torch.equal(net.hidden(x), net.hidden(x))


def test_labels_must_match_rows():
    with pytest.raises(DataError, match=r"\[3, 2\] rows"):
        ClassificationObjective(FeedForward(2, 2, seeded(), hidden=(2,)), torch.zeros(3, 2), torch.zeros(2).long())
