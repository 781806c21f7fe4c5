"""Frozen towers and the codes made of them, as graphs: step by step, for every way a network can be cut."""

import numpy as np
import onnxruntime
import pytest
import torch

from diptych.export.graph import Traced, trace_steps
from diptych.export.onnx_files import to_onnx
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.layers import Clip, EqualLength
from diptych.methods.deep.network_training import frozen_towers
from diptych.methods.deep.towers import BranchEmbedder, ClassProbabilityEmbedder, RegressionMember
from diptych.methods.linear.kernels import Kernel
from diptych.methods.linear.partner_space import PartnerEmbedder, Spaces
from diptych.methods.semantic.posteriors import KernelPosteriors, Posteriors
from nets.small_cdmlmr import CLASSES, SIZES, make_network

SWITCHES = [
    {},
    {"branches": ("quadruplet",)},
    {"branches": ()},
    {"read_features": False},
    {"feature_skip": False},
    {"with_dbn": False},
]


@pytest.fixture(autouse=True, scope="module")
def _tracers():
    from diptych.export import method_tracers  # noqa: F401 - they register themselves


def stored_rows(name, seed=4):
    """Rows as a graph takes them; the second text is empty, and the third says one word very often."""
    random = np.random.default_rng(seed)
    if name == "sound":
        return random.normal(3.0, 4.0, size=(12, SIZES[name])).astype(np.float32)
    counts = random.poisson(2.0, size=(12, SIZES[name]))
    counts[1:3] = 0
    counts[2, 0] = 1000
    return counts.astype(np.float32)


def scaling(name):
    kind, recipe = ("counts", "tfidf+centre") if name == "text" else ("dense", "auto")
    return fit_scaling(stored_rows(name), kind, recipe)


def tower(name, **switches):
    tail = (Clip(1.0),) if name == "text" else (Clip(1.5), EqualLength(2.0))
    return frozen_towers(make_network(2, torch.float32, **switches), {name: (scaling(name), *tail)})[name]


def class_embedder(name, share=0.25, heads=None, temperature=1.0, landmarks=None, **switches):
    random = np.random.default_rng(2)
    weights, intercepts = random.normal(size=(landmarks or SIZES[name], CLASSES)), random.normal(size=CLASSES)
    regression = Posteriors(weights, intercepts)
    if landmarks is not None:
        places = random.normal(size=(landmarks, SIZES[name]))
        regression = KernelPosteriors(Kernel("rbf", 0.1), places, weights, intercepts)
    whole = tower(name, **switches)
    chosen = type(whole)(**vars(whole) | {"heads": heads or whole.heads})
    place = list(SIZES).index(name)
    return ClassProbabilityEmbedder(
        chosen, RegressionMember(regression, share) if share else None, place, len(SIZES), temperature
    )


def partner_embedder(name):
    weights = np.random.default_rng(3).normal(size=(SIZES[name], 4))
    return PartnerEmbedder(scaling(name), scaling(name)(stored_rows(name)).mean(axis=0), weights)


def by_graph(step, rows):
    """What a graph of one step gives."""
    content = to_onnx(trace_steps((step,), Traced.rows()), rows.shape[1], step(rows).shape[1], "a test")
    return onnxruntime.InferenceSession(content).run(["codes"], {"rows": rows})[0]


def assert_same(step, name):
    for seed in (4, 5):
        rows = stored_rows(name, seed)
        expected = step(rows)
        found = by_graph(step, rows)
        assert found.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert expected.std(axis=0).max() > 1e-2  # rows differ, so that a constant graph would not do


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_class_probabilities(name, switches):
    assert_same(class_embedder(name, **switches), name)


@pytest.mark.parametrize(("share", "temperature"), [(0.0, 1.0), (1.0, 0.5), (0.25, 1.5)])
@pytest.mark.parametrize("heads", [("net",), ("quadruplet", "shared")])
def test_shares_layers_and_temperatures_reach_the_graph(share, heads, temperature):
    assert_same(class_embedder("text", share, heads, temperature), "text")


@pytest.mark.parametrize("name", SIZES)
def test_a_kernel_reaches_the_graph(name):
    assert_same(class_embedder(name, share=0.75, landmarks=9), name)


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_branch_codes(name, switches):
    frozen = tower(name, **switches)
    assert_same(BranchEmbedder(frozen, frozen.embeddings(stored_rows(name)).mean(axis=0)), name)


@pytest.mark.parametrize("name", SIZES)
def test_partner_codes(name):
    assert_same(partner_embedder(name), name)


@pytest.mark.parametrize(("class_weight", "partner_weight"), [(0.0, 1.0), (0.5, 0.35)])
@pytest.mark.parametrize("name", SIZES)
def test_both_spaces(name, class_weight, partner_weight):
    assert_same(Spaces(class_embedder(name), partner_embedder(name), class_weight, partner_weight), name)


@pytest.mark.parametrize("recipe", ["tfidf+centre", "tfidf+none", "centre", "log1p+centre"])
def test_scalings(recipe):
    assert_same(_Single(fit_scaling(stored_rows("text"), "counts", recipe)), "text")


class _Single:
    """A scaling whose result is cut to single precision, as that of a graph is."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, rows):
        return self.inner(rows).astype(np.float32)

    def trace(self, rows):
        return trace_steps((self.inner,), rows)
