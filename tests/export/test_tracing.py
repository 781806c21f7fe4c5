"""Who says how a class is traced: the class itself, then what it is derived from."""

import pytest

from diptych._core.errors import ConfigError
from diptych.export.traced import Traced, trace_method, trace_steps
from diptych.methods import load_model
from diptych.methods.cca import CCA


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
