"""Frozen layers give what the torch modules they were taken from give."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.dbn import JointEmbedder, JointMachine
from diptych.methods.deep.deep_method import frozen, frozen_layer
from diptych.methods.deep.layers import (
    Clip,
    Columns,
    CountLayer,
    DenseLayer,
    Parallel,
    counts_block,
    prepare_blocks,
    run_chain,
)
from diptych.nets import BernoulliRBM, GaussianRBM, ReplicatedSoftmax


def random() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("document_length", [None, 100])
def test_a_count_layer_is_the_way_up_of_a_replicated_softmax(document_length):
    rbm = ReplicatedSoftmax(9, 5, random=random(), weight_std=0.3, document_length=document_length)
    with torch.no_grad():
        rbm.hidden_bias.normal_(generator=random())
    counts = np.random.default_rng(0).poisson(1.0, size=(7, 9))
    counts[3] = 0  # an empty document
    layer = CountLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), rbm.up_gain, rbm.document_length)
    expected = rbm.hidden_probability(torch.tensor(counts, dtype=torch.float32)).detach().numpy()
    np.testing.assert_allclose(layer(counts), expected, atol=1e-5)
    np.testing.assert_allclose(layer(sp.csr_array(counts)), expected, atol=1e-5)


def test_two_dense_layers_are_a_deep_belief_network():
    low, high = GaussianRBM(6, 5, random=random()), BernoulliRBM(5, 4, random=random())
    rows = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)
    chain = tuple(DenseLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), "sigmoid") for rbm in (low, high))
    with torch.no_grad():
        expected = high.hidden_probability(low.hidden_probability(torch.from_numpy(rows))).numpy()
    np.testing.assert_allclose(run_chain(chain, rows), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("activation", "function"),
    [("relu", torch.relu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("linear", lambda x: x)],
)
def test_a_frozen_linear_layer_keeps_weights_and_activation(activation, function):
    layer = torch.nn.Linear(4, 3)
    rows = np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)
    expected = function(layer(torch.from_numpy(rows))).detach().numpy()
    np.testing.assert_allclose(frozen_layer(layer, activation)(rows), expected, atol=1e-6)


def test_freezing_copies_the_weights():
    layer = torch.nn.Linear(4, 3)
    taken = frozen_layer(layer, "linear")
    before = taken.weight.copy()
    with torch.no_grad():
        layer.weight.zero_()
    np.testing.assert_array_equal(taken.weight, before)


def joint_machine() -> tuple[BernoulliRBM, JointMachine]:
    rbm = BernoulliRBM({"image": 5, "text": 4}, 6, random=random())
    with torch.no_grad():
        rbm.visible_bias.normal_(generator=random())
        rbm.hidden_bias.normal_(generator=random())
    return rbm, JointMachine.of(rbm, iterations=10)


@pytest.mark.parametrize("known", [("image",), ("text",), ("image", "text")])
def test_a_frozen_joint_machine_completes_as_a_loop_over_the_torch_one(known):
    rbm, machine = joint_machine()
    sizes = {"image": 5, "text": 4}
    rows = {name: np.random.default_rng(4).random((7, sizes[name])).astype(np.float32) for name in known}
    parts = {name: torch.from_numpy(rows.get(name, np.zeros((7, size), np.float32))) for name, size in sizes.items()}
    for _ in range(10):
        guess = rbm.visible_mean(rbm.hidden_probability(torch.cat(list(parts.values()), dim=1)))
        parts |= {name: guess[:, rbm.columns(name)] for name in sizes if name not in known}
    expected = rbm.hidden_probability(torch.cat(list(parts.values()), dim=1))
    visible, joint = machine.complete(rows)
    np.testing.assert_allclose(joint, expected.detach().numpy(), atol=1e-5)
    for name in sizes:
        np.testing.assert_allclose(visible[name], parts[name].detach().numpy(), atol=1e-5)


def test_a_chain_survives_packing():
    _, machine = joint_machine()
    rows = np.random.default_rng(5).normal(size=(6, 5)).astype(np.float32)
    chain = (
        Clip(0.5),
        Parallel(
            (
                (JointEmbedder(machine, "image"),),
                (DenseLayer(np.eye(5, dtype=np.float32), np.zeros(5, np.float32), "relu"),),
            )
        ),
    )
    state, arrays = pack({"chain": chain}, "model")
    restored = unpack(state, arrays)["chain"]
    np.testing.assert_array_equal(run_chain(restored, rows), run_chain(chain, rows))
    assert run_chain(chain, rows).shape == (6, 6 + 5)


RANDOM = generator(0, "blocks")
ROWS = np.concatenate([RANDOM.poisson(0.5, (50, 30)), RANDOM.normal(3, 2, (50, 4))], axis=1).astype(np.float32)
KIND = "counts:30+dense:4"


def by_kind(rows, kind):
    return fit_scaling(rows, kind), Clip(30.0 if kind == "counts" else 1.0)


def test_each_block_is_prepared_as_it_would_be_alone() -> None:
    prepared = run_chain(prepare_blocks(ROWS, KIND, by_kind), ROWS)
    for columns, kind in ((slice(0, 30), "counts"), (slice(30, 34), "dense")):
        alone = run_chain(by_kind(ROWS[:, columns], kind), ROWS[:, columns])
        factor = np.sqrt(34 / 2 / alone.var(axis=0, dtype=np.float64).sum())
        np.testing.assert_allclose(prepared[:, columns], factor * alone, rtol=1e-5, atol=1e-6)


def test_blocks_have_the_same_say() -> None:
    prepared = run_chain(prepare_blocks(ROWS, KIND, by_kind), ROWS).astype(np.float64)
    np.testing.assert_allclose([prepared[:, :30].var(axis=0).sum(), prepared[:, 30:].var(axis=0).sum()], 17, rtol=1e-4)


def test_rows_of_one_kind_are_prepared_by_their_own_chain() -> None:
    chain = prepare_blocks(ROWS[:, 30:], "dense", by_kind)
    assert [type(step).__name__ for step in chain] == ["Scaling", "Clip"]


def test_the_chain_is_saved() -> None:
    chain = prepare_blocks(ROWS, KIND, by_kind)
    np.testing.assert_array_equal(run_chain(unpack(*pack(chain)), ROWS), run_chain(chain, ROWS))


def test_the_first_counts_are_found() -> None:
    assert counts_block("dense:3+counts:2+counts:4", 9).start == 3
    assert counts_block("counts", 9).stop == 9
    assert counts_block("dense", 9) is None
    np.testing.assert_array_equal(Columns(1, 3)(ROWS), ROWS[:, 1:3])


def test_a_block_that_never_varies_is_no_trouble() -> None:
    rows = ROWS.copy()
    rows[:, :30] = 0
    assert np.isfinite(run_chain(prepare_blocks(rows, KIND, by_kind), rows)).all()
