"""Which function writes a method or a step of one as a graph.

Classes are named by where they live, so that a method is traced without importing those of the others, which may need
torch. A class of another package has a method `trace` of its own instead, which counts for more than what is
registered for the classes it is derived from.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from diptych.errors import ConfigError
from diptych.export.traced import Traced
from diptych.methods import Method

StepTracer = Callable[[Any, Traced], Traced]
MethodTracer = Callable[[Any, str, Traced], Traced]

_STEPS: dict[str, StepTracer] = {}
_METHODS: dict[str, MethodTracer] = {}
_TRACERS = ("step_tracers", "layer_tracers", "tower_tracers", "method_tracers")


def traces_step(place: str) -> Callable[[StepTracer], StepTracer]:
    """Register how a step, a class "module:Name" below `diptych`, is traced."""

    def register(function: StepTracer) -> StepTracer:
        _STEPS[f"diptych.{place}"] = function
        return function

    return register


def traces_method(place: str) -> Callable[[MethodTracer], MethodTracer]:
    """Register how a method, a class "module:Name" below `diptych.methods`, is traced."""

    def register(function: MethodTracer) -> MethodTracer:
        _METHODS[f"diptych.methods.{place}"] = function
        return function

    return register


def trace_steps(steps: tuple[Any, ...], rows: Traced) -> Traced:
    """Send traced rows through steps, one after the other."""
    for step in steps:
        tracer = _nearest(_STEPS, step)
        if tracer is None:
            raise ConfigError(f"a step '{type(step).__name__}' has no graph; give its class a method `trace(rows)`.")
        rows = tracer(rows)
    return rows


def trace_method(method: Method, modality: str) -> Traced:
    """The codes of one modality's rows under a method.

    Raises:
        ConfigError: when they cannot be written as a graph; the message says why.
    """
    for name in _TRACERS:
        import_module(f"diptych.export.{name}")
    tracer = _nearest(_METHODS, method)
    if tracer is None:
        raise ConfigError(
            f"'{method.registry_name}' cannot be exported: nobody wrote down how its codes are computed as a graph; "
            f"give {type(method).__name__} a method `trace(modality, rows)`."
        )
    traced: Traced = tracer(modality, Traced.rows())
    return traced


def _nearest(known: Mapping[str, Callable[..., Traced]], traced: Any) -> Callable[..., Traced] | None:  # noqa: ANN401
    """How something is traced: by the first of its classes that says so itself or has a tracer."""
    for each in type(traced).__mro__:
        if "trace" in vars(each):
            own: Callable[..., Traced] = traced.trace
            return own
        tracer = known.get(f"{each.__module__}:{each.__qualname__}")
        if tracer is not None:
            return partial(tracer, traced)
    return None
