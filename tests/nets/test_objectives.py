"""What the training loop relies on, for every objective there is."""

from copy import deepcopy

import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from diptych.nets import (
    Autoencoder,
    BernoulliRBM,
    BimodalAutoencoder,
    BimodalObjective,
    ClassificationObjective,
    ContrastiveDivergence,
    CorrespondenceAutoencoder,
    CorrespondenceObjective,
    DeepBoltzmannObjective,
    DeepCCA,
    DeepCCAObjective,
    FeedForward,
    GaussianRBM,
    ReconstructionObjective,
    ReplicatedSoftmax,
    SparseRows,
    SparsityPenalty,
    step_up_order,
)
from nets.enumeration import seeded
from nets.tiny_boltzmann import tiny_data, tiny_model

ITEMS = 12
DATA = {"image": torch.rand(ITEMS, 5, generator=seeded(1)), "text": torch.rand(ITEMS, 4, generator=seeded(2))}
COUNTS = SparseRows(sp.csr_array(torch.randint(0, 3, (ITEMS, 6), generator=seeded(3)).numpy()))
LABELS = torch.arange(ITEMS) % 3
SIZES = {name: x.shape[1] for name, x in DATA.items()}

MAKERS = {
    "gaussian": lambda r: ContrastiveDivergence(
        GaussianRBM(5, 4, random=r), DATA["image"], sparsity=SparsityPenalty(4, 0.2, 0.1), order=step_up_order(2, 1)
    ),
    "counts": lambda r: ContrastiveDivergence(ReplicatedSoftmax(6, 4, random=r), COUNTS, sample_visible_from=1),
    "joint": lambda r: ContrastiveDivergence(BernoulliRBM(SIZES, 4, random=r), torch.cat([*DATA.values()], dim=1)),
    "feed_forward": lambda r: ClassificationObjective(
        FeedForward(5, 3, r, hidden=(6, 6), dropout_share=0.3), DATA["image"], LABELS
    ),
    "bimodal": lambda r: BimodalObjective(BimodalAutoencoder(SIZES, 3, r, classes=3), DATA, LABELS),
    "autoencoder": lambda r: ReconstructionObjective(Autoencoder((5, 4, 2), r), DATA["image"]),
    "correspondence": lambda r: CorrespondenceObjective(CorrespondenceAutoencoder(SIZES, 3, r), DATA, 0.8),
    "deep_boltzmann": lambda r: DeepBoltzmannObjective(tiny_model(), tiny_data(ITEMS), r, chains=6),
    "deep_cca": lambda r: DeepCCAObjective(DeepCCA({"image": (5, 2), "text": (4, 2)}, r), DATA, regularisation=0.1),
}
every_objective = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def train(objective, steps):
    optimizer = torch.optim.SGD(objective.module.parameters(), lr=0.05)
    for step in steps:
        optimizer.zero_grad()
        rows = torch.randperm(ITEMS, generator=seeded(step))[:8]
        objective.gradients(rows, step, seeded(1000 + step))
        optimizer.step()


@every_objective
def test_figures_are_detached_finite_scalars_and_every_parameter_gets_a_gradient(make):
    objective = make(seeded())
    figures = objective.gradients(torch.arange(8), 0, seeded(1))
    assert figures
    for value in figures.values():
        assert value.shape == ()
        assert not value.requires_grad
        assert torch.isfinite(value)
    for name, parameter in objective.module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.shape == parameter.shape
        assert torch.isfinite(parameter.grad).all()


@every_objective
def test_the_given_generator_is_the_only_source_of_chance(make):
    before = torch.get_rng_state()
    first, second = make(seeded(4)), make(seeded(4))
    train(first, range(3))
    torch.manual_seed(99)
    train(second, range(3))
    torch.set_rng_state(before)
    for left, right in zip(first.module.state_dict().values(), second.module.state_dict().values(), strict=True):
        assert torch.equal(left, right)


@every_objective
def test_global_chance_is_left_alone(make):
    before = torch.get_rng_state()
    train(make(seeded()), range(2))
    assert torch.equal(torch.get_rng_state(), before)


@every_objective
def test_a_resumed_run_is_the_same_run(make):
    straight, stopped, resumed = make(seeded(5)), make(seeded(5)), make(seeded(6))
    train(straight, range(5))
    train(stopped, range(2))
    resumed.module.load_state_dict(deepcopy(stopped.module.state_dict()))
    train(resumed, range(2, 5))
    for left, right in zip(straight.module.state_dict().values(), resumed.module.state_dict().values(), strict=True):
        assert torch.equal(left, right)


@pytest.mark.parametrize("name", ["bimodal", "autoencoder", "correspondence", "deep_cca"])
def test_the_order_of_rows_in_a_batch_does_not_matter_where_nothing_is_drawn(name):
    objective = MAKERS[name](seeded())
    rows = torch.arange(10)
    one = objective.gradients(rows, 0, seeded())
    two = objective.gradients(rows.flip(0), 0, seeded())
    for name, value in one.items():
        assert_close(value, two[name])


@every_objective
def test_length_is_the_number_of_rows_it_can_be_given(make):
    objective = make(seeded())
    assert len(objective) == (3 * ITEMS if isinstance(objective, BimodalObjective) else ITEMS)
    objective.gradients(torch.tensor([len(objective) - 1, 0, 1, 2, 3]), 0, seeded())
