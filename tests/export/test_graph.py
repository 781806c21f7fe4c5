"""Traced operators against NumPy, and what cannot be traced."""

import numpy as np
import onnxruntime
import pytest
from scipy.special import expit, softmax

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.export.graph import Traced, side_by_side, trace_method, trace_steps
from diptych.export.onnx_files import to_onnx
from diptych.methods import load_model
from diptych.methods.linear.cca import CCA

ROWS = generator(0, "traced").normal(size=(7, 5)).astype(np.float32)
OTHER = generator(1, "traced").normal(size=(5, 5))

CASES = {
    "add": (lambda x: x + OTHER[0], lambda x: x + OTHER[0]),
    "subtract": (lambda x: x - 2.0, lambda x: x - 2.0),
    "multiply": (lambda x: x * OTHER[0], lambda x: x * OTHER[0]),
    "divide": (lambda x: x / 3.0, lambda x: x / 3.0),
    "product": (lambda x: x @ OTHER, lambda x: x @ OTHER),
    "power": (lambda x: (x * x) ** 3, lambda x: (x * x) ** 3),
    "maximum": (lambda x: x.maximum(0.1), lambda x: np.maximum(x, 0.1)),
    "clip": (lambda x: x.clip(-0.2, 0.3), lambda x: np.clip(x, -0.2, 0.3)),
    "relu": (lambda x: x.apply("Relu"), lambda x: np.maximum(x, 0)),
    "tanh": (lambda x: x.precisely("Tanh"), np.tanh),
    "sigmoid": (lambda x: (x * 40.0).sigmoid(), lambda x: expit(40 * x)),
    "softmax": (lambda x: (x * 90.0).softmax(), lambda x: softmax(90 * x, axis=1)),
    "sum": (lambda x: x * 0.0 + x.sum(), lambda x: 0 * x + x.sum(axis=1, keepdims=True)),
    "positive": (lambda x: x.positive(), lambda x: (x > 0) * 1.0),
    "smallest": (lambda x: x.smallest(3)[0], lambda x: np.sort(x, axis=1)[:, :3]),
    "picked": (
        lambda x: x.like(OTHER).picked(x.smallest(1)[1]).squeezed(1),
        lambda x: OTHER[np.argmin(x, axis=1)],
    ),
    "unsqueezed": (
        lambda x: (x.unsqueezed() * x.like(OTHER)).sum(1).squeezed(1),
        lambda x: x @ OTHER,
    ),
    "side by side": (lambda x: side_by_side([x, x * 2.0]), lambda x: np.concatenate([x, 2 * x], axis=1)),
}


def run(traced, rows=ROWS):
    expected_width = 1
    content = to_onnx(traced, rows.shape[1], expected_width, "a test")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # the width is not what is tested
    return onnxruntime.InferenceSession(content, options).run(["codes"], {"rows": rows})[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_numpy(name, dtype) -> None:
    traced, plain = CASES[name]
    found = run(traced(Traced.rows().astype(dtype)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain(ROWS.astype(np.float64)), rtol=2e-6, atol=2e-6)


def test_precision_changes_only_where_it_is_said() -> None:
    with pytest.raises(AssertionError):
        Traced.rows() + Traced.rows().astype("float64")
    rows = Traced.rows()
    with pytest.raises(AssertionError):
        rows + rows.astype("float64")


def test_equal_constants_are_kept_once_and_unused_ones_not_at_all() -> None:
    rows = Traced.rows()
    rows.like(np.full((300, 300), 7.0))  # nobody reads it
    doubled = (rows @ OTHER) @ OTHER.copy()
    content = to_onnx(doubled, 5, 5, "a test")
    assert len(doubled.draft.constants) == 2
    assert len(content) < 1_000


def test_a_node_that_leads_nowhere_is_left_out() -> None:
    rows = Traced.rows()
    rows.softmax()
    assert b"Softmax" not in to_onnx(rows * 2.0, 5, 5, "a test")


class OwnCCA(CCA):
    """A method of another package, derived from one that has a tracer."""

    def trace(self, modality: str, rows: Traced) -> Traced:
        """Nothing like the codes of its ancestor."""
        return rows * 5.0


class HeirCCA(OwnCCA):
    """Derived from one that says how it is traced."""


def operators(traced: Traced) -> list[str]:
    return [node.operator for node in traced.draft.nodes]


@pytest.fixture
def model(saved, counts_dataset):
    return load_model(saved("cca", counts_dataset))


@pytest.mark.parametrize("cls", [OwnCCA, HeirCCA])
def test_a_methods_own_trace_comes_before_its_ancestors_tracer(model, cls) -> None:
    assert "MatMul" in operators(trace_method(model, "text"))
    model.__class__ = cls
    assert operators(trace_method(model, "text")) == ["Mul"]


def test_a_steps_own_trace_comes_before_its_ancestors_tracer(model) -> None:
    scaling = model.scalings_["text"]

    class OwnScaling(type(scaling)):
        def trace(self, rows: Traced) -> Traced:
            return rows * 5.0

    trace_method(model, "text")  # tracers are registered when they are first needed
    own = OwnScaling(**vars(scaling))
    assert operators(trace_steps((own,), Traced.rows())) == ["Mul"]
    assert operators(trace_steps((scaling,), Traced.rows())) != ["Mul"]


def test_a_step_that_nobody_traces_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a step 'Mystery' has no graph; give its class a method `trace\(rows\)`"):
        trace_steps((type("Mystery", (), {})(),), Traced.rows())
