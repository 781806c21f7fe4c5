"""Record operations on placeholder rows as the nodes of an ONNX graph."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.errors import ConfigError
from diptych.methods import Method
from diptych.methods.exported import GRAPH_INPUT


@dataclass(frozen=True)
class Node:
    """One operation of a graph."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]


@dataclass
class Draft:
    """A graph under construction: operations in order, and the constants they read.

    Attributes:
        nodes: what has been done so far.
        constants: by name; equal ones are kept once.
    """

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)

    def constant(self, values: NDArray[Any]) -> str:
        """Store a constant and return its name."""
        held = np.ascontiguousarray(values)
        head = f"{held.dtype.str}{held.shape}".encode()
        name = "c" + hashlib.blake2b(head + held.tobytes(), digest_size=12).hexdigest()
        self.constants.setdefault(name, held)
        return name

    def apply(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:  # noqa: ANN401 - as ONNX has them
        """Record an operation and return the name of its first result."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(Node(operator, tuple(inputs), output, attributes))
        return output


class Traced:
    """A placeholder for rows whose operators, named like NumPy's, are recorded in a graph.

    A constant takes the type of the table it meets, and two tables must be of one type: `astype` says where precision
    changes, exactly as the method itself does it.
    """

    __array_ufunc__ = None  # so that `array - traced` is not taken apart by NumPy

    def __init__(self, draft: Draft, name: str, dtype: str) -> None:
        self.draft = draft
        self.name = name
        self.dtype = dtype

    @classmethod
    def rows(cls) -> "Traced":
        """The rows that enter a new graph: float32."""
        return cls(Draft(), GRAPH_INPUT, "float32")

    def like(self, values: Any) -> "Traced":  # noqa: ANN401 - an array or a number
        """A constant of the same graph and type."""
        return self._of(self.draft.constant(np.asarray(values, dtype=self.dtype)))

    def astype(self, dtype: str) -> "Traced":
        """The same numbers in another type."""
        if dtype == self.dtype:
            return self
        return Traced(self.draft, self.draft.apply("Cast", [self.name], to=np.dtype(dtype)), dtype)

    def __add__(self, other: Any) -> "Traced":  # noqa: ANN401
        return self._with("Add", other)

    def __sub__(self, other: Any) -> "Traced":  # noqa: ANN401
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> "Traced":  # noqa: ANN401
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> "Traced":  # noqa: ANN401
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> "Traced":  # noqa: ANN401
        return self._with("MatMul", other)

    def __pow__(self, other: float) -> "Traced":
        return self._with("Pow", other)

    def maximum(self, other: Any) -> "Traced":  # noqa: ANN401
        """The larger of two numbers, entry by entry."""
        return self._with("Max", other)

    def clip(self, low: float, high: float) -> "Traced":
        """Numbers kept between two bounds."""
        return self._of(self.draft.apply("Clip", [self.name, self.like(low).name, self.like(high).name]))

    def apply(self, operator: str, **attributes: Any) -> "Traced":  # noqa: ANN401
        """An operator of one table by its ONNX name: Exp, Log, Sqrt, Abs, Sign, Relu."""
        return self._of(self.draft.apply(operator, [self.name], **attributes))

    def precisely(self, operator: str) -> "Traced":
        """An operator in double precision: runtimes approximate Sigmoid and Tanh of singles to six digits only."""
        return self.astype("float64").apply(operator).astype(self.dtype)

    def sigmoid(self) -> "Traced":
        """1 / (1 + exp(−x))."""
        return self.precisely("Sigmoid")

    def softmax(self) -> "Traced":
        """exp(x) over its sum, row by row."""
        return self.astype("float64").apply("Softmax", axis=1).astype(self.dtype)

    def unit_rows(self) -> "Traced":
        """Rows at length one."""
        return self / (self * self).sum().apply("Sqrt").maximum(1e-12)

    def sum(self, axis: int = 1) -> "Traced":
        """Sums along an axis, which stays with length 1."""
        return self._of(self.draft.apply("ReduceSum", [self.name, self._whole([axis])], keepdims=1))

    def positive(self) -> "Traced":
        """1 where a number is above 0, else 0."""
        truth = self.draft.apply("Greater", [self.name, self.like(0).name])
        return self._of(self.draft.apply("Cast", [truth], to=np.dtype(self.dtype)))

    def columns(self, start: int, stop: int) -> "Traced":
        """Some columns of every row."""
        bounds = [self._whole([number]) for number in (start, stop, 1)]
        return self._of(self.draft.apply("Slice", [self.name, *bounds]))

    def smallest(self, count: int) -> tuple["Traced", str]:
        """The smallest entries of each row, and the name of their columns' numbers."""
        values = self.draft.apply("TopK", [self.name, self._whole([count])], largest=0, axis=1)
        return self._of(values), f"{values}-places"

    def picked(self, places: str) -> "Traced":
        """Rows of this constant table by a table of their numbers: one axis more."""
        return self._of(self.draft.apply("Gather", [self.name, places], axis=0))

    def unsqueezed(self) -> "Traced":
        """One more axis, of length 1, at the end."""
        return self._of(self.draft.apply("Unsqueeze", [self.name, self._whole([-1])]))

    def squeezed(self, axis: int) -> "Traced":
        """Without an axis of length 1."""
        return self._of(self.draft.apply("Squeeze", [self.name, self._whole([axis])]))

    def _of(self, name: str) -> "Traced":
        return Traced(self.draft, name, self.dtype)

    def _whole(self, numbers: Sequence[int]) -> str:
        return self.draft.constant(np.asarray(numbers, dtype=np.int64))

    def _with(self, operator: str, other: Any) -> "Traced":  # noqa: ANN401
        if not isinstance(other, Traced):
            other = self.like(other)
        assert other.draft is self.draft and other.dtype == self.dtype, (operator, self.dtype, other.dtype)
        return self._of(self.draft.apply(operator, [self.name, other.name]))


def side_by_side(parts: Sequence[Traced]) -> Traced:
    """Join tables of one type column-wise."""
    first = parts[0]
    assert all(part.dtype == first.dtype for part in parts)
    name = first.draft.apply("Concat", [part.name for part in parts], axis=1)
    return Traced(first.draft, name, first.dtype)


StepTracer = Callable[[Any, Traced], Traced]
MethodTracer = Callable[[Any, str, Traced], Traced]

_STEPS: dict[str, StepTracer] = {}
_METHODS: dict[str, MethodTracer] = {}
_TRACERS = ("layer_tracers", "method_tracers")


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
    """Trace rows through steps, one after the other."""
    for step in steps:
        tracer = _nearest(_STEPS, step)
        if tracer is None:
            raise ConfigError(f"a step '{type(step).__name__}' has no graph; give its class a method `trace(rows)`.")
        rows = tracer(rows)
    return rows


def trace_method(method: Method, modality: str) -> Traced:
    """Trace the embeddings of one modality's rows under a method.

    Raises:
        ConfigError: when they cannot be written as a graph; the message says why.
    """
    for name in _TRACERS:
        import_module(f"diptych.export.{name}")
    tracer = _nearest(_METHODS, method)
    if tracer is None:
        raise ConfigError(
            f"'{method.registry_name}' cannot be exported: it is not known how its embeddings are computed as a graph; "
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
