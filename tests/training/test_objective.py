import torch

from diptych.training import LossObjective


def test_losses_are_summed_for_the_gradient_and_reported_apart():
    module = torch.nn.Linear(2, 1)
    objective = LossObjective(module, lambda rows, step, random: {
        "fit": module(rows).square().mean(), "size": 3 * module.weight.square().sum(),
    })  # fmt: skip
    rows = torch.ones(4, 2)
    figures = objective.gradients(rows, 0, torch.Generator())
    expected = torch.autograd.grad(
        module(rows).square().mean() + 3 * module.weight.square().sum(), [module.weight, module.bias]
    )
    assert torch.allclose(module.weight.grad, expected[0])
    assert torch.allclose(module.bias.grad, expected[1])
    assert list(figures) == ["loss", "fit", "size"]
    assert torch.isclose(figures["loss"], figures["fit"] + figures["size"])
    assert not any(figure.requires_grad for figure in figures.values())


def test_a_single_loss_keeps_its_name():
    module = torch.nn.Linear(2, 1)
    objective = LossObjective(module, lambda rows, step, random: {"cross_entropy": module(rows).sum()})
    assert list(objective.gradients(torch.ones(1, 2), 0, torch.Generator())) == ["cross_entropy"]
