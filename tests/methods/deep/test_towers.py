"""Frozen towers give what the torch network gives, and codes whose cosine is a probability."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diptych._core.state import pack, unpack
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.layers import Clip, EqualLength, run_chain
from diptych.methods.deep.network_training import frozen_towers
from diptych.methods.deep.towers import BranchEmbedder, ClassProbabilityEmbedder, RegressionMember, padded, unit_rows
from diptych.methods.semantic.posteriors import Posteriors
from nets.small_cdmlmr import SIZES, WORDS, make_network

SWITCHES = [
    {},
    {"branches": ("contrastive",)},
    {"branches": ()},
    {"branch_softmax": False},
    {"read_features": False},
    {"feature_skip": False},
    {"with_dbn": False},
    {"with_dbn": False, "feature_skip": False},
]


def stored_rows(name):
    """Rows as a dataset has them: dense sounds, counts of words; the second text has none."""
    random = np.random.default_rng(4)
    if name == "sound":
        return random.normal(3.0, 4.0, size=(9, SIZES[name])).astype(np.float32)
    counts = random.poisson(2.0, size=(9, SIZES[name]))
    counts[1] = 0
    return sp.csr_array(counts)


def prepare(name):
    rows = stored_rows(name)
    if name == "text":
        return (fit_scaling(rows, "counts", "tfidf+centre"), Clip(1.0))
    return (fit_scaling(rows, "dense"), Clip(1.5), EqualLength(2.0))


@torch.no_grad()
def encoded(net, name):
    """What the network gives for the stored rows."""
    rows = stored_rows(name)
    features = torch.from_numpy(run_chain(prepare(name), rows))
    visible = features
    if name == "text":
        counts = torch.from_numpy(rows.toarray()).float()
        visible = WORDS * counts / counts.sum(1, keepdim=True).clamp_min(1e-10)
    return net.encode(name, features, visible)


def towers(net):
    return frozen_towers(net, {name: prepare(name) for name in SIZES})


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_frozen_towers_give_what_the_network_gives(name, switches):
    net = make_network(3, torch.float32, **switches)
    outputs, tower, rows = encoded(net, name), towers(net)[name], stored_rows(name)
    expected = torch.stack([outputs[f"{head} classes"].softmax(-1) for head in net.heads]).mean((0, 1))
    found = tower.posteriors(rows)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
    assert found.std(axis=0).max() > 1e-3
    codes = [outputs[branch] for branch in net.shape.branches] or [outputs["shared"]]
    together = torch.cat([part[member] for member in range(3) for part in codes], dim=1)
    np.testing.assert_allclose(tower.embeddings(rows), together.numpy(), atol=1e-5)


@pytest.mark.parametrize("heads", [("net",), ("shared",), ("quadruplet", "net"), ("contrastive", "quadruplet")])
@pytest.mark.parametrize("name", SIZES)
def test_only_the_softmax_layers_that_are_named_count(name, heads):
    net = make_network(2, torch.float32)
    outputs, tower = encoded(net, name), towers(net)[name]
    expected = torch.stack([outputs[f"{head} classes"].softmax(-1) for head in heads]).mean((0, 1))
    chosen = type(tower)(**vars(tower) | {"heads": heads})
    np.testing.assert_allclose(chosen.posteriors(stored_rows(name)), expected.numpy(), atol=1e-5)
    assert np.abs(chosen.posteriors(stored_rows(name)) - tower.posteriors(stored_rows(name))).max() > 1e-3


def test_counts_may_come_dense_and_alone():
    tower, rows = towers(make_network(2, torch.float32))["text"], stored_rows("text")
    np.testing.assert_allclose(tower.posteriors(rows.toarray()), tower.posteriors(rows), atol=1e-6)
    np.testing.assert_allclose(tower.posteriors(rows[1:2]), tower.posteriors(rows)[1:2], atol=1e-6)


def test_freezing_copies_the_weights():
    net = make_network(2, torch.float32)
    tower = towers(net)["sound"]
    before = tower.posteriors(stored_rows("sound"))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(tower.posteriors(stored_rows("sound")), before)


def class_embedders(share):
    frozen = towers(make_network(2, torch.float32))
    random = np.random.default_rng(2)
    linear = {
        name: RegressionMember(Posteriors(random.normal(size=(size, 3)), random.normal(size=3)), share)
        for name, size in SIZES.items()
    }
    return {
        name: ClassProbabilityEmbedder(tower, linear[name] if share else None, place, len(frozen))
        for place, (name, tower) in enumerate(frozen.items())
    }


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_cosine_of_two_codes_is_the_probability_of_sharing_a_class(share):
    codes = class_embedders(share)
    first, second = (codes[name](stored_rows(name)) for name in SIZES)
    p, q = (codes[name].probabilities(stored_rows(name)) for name in SIZES)
    for code in (first, second):
        assert code.dtype == np.float32 and code.shape == (9, 3 + 2)
        np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-6)
    shared = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in q] for one in p]
    np.testing.assert_allclose(first @ second.T, shared, atol=1e-6)
    assert np.std(shared) > 0.01


def test_the_linear_member_counts_by_its_share():
    rows = stored_rows("sound")
    alone, whole, mixed = (class_embedders(share)["sound"] for share in (0.0, 1.0, 0.25))
    regressed = mixed.regression.posteriors(run_chain(prepare("sound"), rows).astype(np.float64))
    np.testing.assert_allclose(whole.probabilities(rows), regressed)
    np.testing.assert_allclose(mixed.probabilities(rows), 0.75 * alone.probabilities(rows) + 0.25 * regressed)


def test_certain_probabilities_keep_length_one():
    """What is missing from one is told where single precision would see nothing any more."""
    rows = np.array([[1.0, 0.0], [1 - 1e-9, 1e-9], [0.5, 0.5]])
    codes = padded(rows, 1, 3)
    assert codes.shape == (3, 5)
    np.testing.assert_array_equal(codes[:, [2, 4]], 0.0)
    np.testing.assert_allclose(codes[:, 3], [0.0, np.sqrt(2e-9), np.sqrt(0.5)], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1.0, atol=1e-6)


def test_branch_codes_are_centred_at_length_one():
    tower, rows = towers(make_network(2, torch.float32))["sound"], stored_rows("sound")
    raw = tower.embeddings(rows)
    code = BranchEmbedder(tower, raw.mean(axis=0))(rows)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(code, unit_rows(raw - raw.mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_a_code_survives_packing(share):
    for name, code in class_embedders(share).items():
        again = unpack(*pack(code, "code"))
        np.testing.assert_array_equal(again(stored_rows(name)), code(stored_rows(name)))
