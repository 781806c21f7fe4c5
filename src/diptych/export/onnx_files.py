"""ONNX files of traced graphs: writing them, and comparing a graph with its model.

Models are compared on real rows where there are any, and on random ones from ordinary to extreme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Features, Floats, ImageArray, Singles
from diptych._core.errors import ConfigError, DataError, optional_package
from diptych._core.seeding import generator
from diptych.data import Dataset
from diptych.data.modality import Kind, kind_blocks
from diptych.export.graph import Draft, Node, Traced
from diptych.methods.exported import GRAPH_INPUT, GRAPH_OUTPUT

TOLERANCE = 1e-5
ENCODER_TOLERANCE = 1e-4
"""Of an image encoder: dozens of convolutions in single precision, summed in another order."""

_EACH = 16
_REAL = 256
_MOVES = 4
_MAGNITUDES = (1e-3, 1e-1, 1.0, 1e1, 1e3)
_WORD_RATES = (0.02, 0.3, 5.0, 100.0)
_SIZES = ((224, 224), (96, 300), (31, 17), (400, 250))


@dataclass(frozen=True)
class Check:
    """How far a graph is from what it was made from.

    Attributes:
        rows: how many were compared.
        real: how many of them are rows of a dataset rather than drawn.
        unsettled: how many of them say nothing, for what the graph was made from does not agree with itself there.
        difference: the largest in any other row: of the absolute differences, over the row's largest number or 1.
        tolerance: the most that is let through.
    """

    rows: int
    real: int
    unsettled: int
    difference: float
    tolerance: float

    @classmethod
    def of(
        cls,
        found: Singles,
        expected: Singles,
        *,
        again: Sequence[Singles] = (),
        real: int = 0,
        tolerance: float = TOLERANCE,
    ) -> "Check":
        """Compare what a graph gave with what it should have given.

        Args:
            found: what the graph gave.
            expected: what its source gives.
            again: what its source gives for the same rows changed in their last digit. A row on which it moves by more
                than the tolerance is no measure for anybody.
            real: how many rows are a dataset's.
            tolerance: the most that is let through.
        """
        moved = [row_differences(other, expected) > tolerance for other in again]
        settled = ~np.logical_or.reduce(moved) if moved else np.ones(len(expected), dtype=np.bool_)
        differences = row_differences(found, expected)[settled]
        return cls(len(expected), real, int((~settled).sum()), float(differences.max(initial=0.0)), tolerance)

    def require(self, graph: str, source: str) -> None:
        """Refuse a graph that is too far from what it was made from.

        Raises:
            DataError: when it is, or when too few rows could tell.
        """
        if self.difference > self.tolerance:
            raise DataError(
                f"the graph of {graph} differs from {source} by {self.difference:.1e}, more than "
                f"{self.tolerance:.0e}; nothing was exported."
            )
        if 2 * self.unsettled > self.rows:
            raise DataError(
                f"{source} moves by more than {self.tolerance:.0e} when the last digit of a row does, on "
                f"{self.unsettled} of {self.rows} rows of {graph}, so that no graph can be checked; fit it with other "
                "settings."
            )


def check_rows(kind: Kind, dimension: int, seed: int = 0) -> Singles:
    """Make rows to compare on: empty ones, single columns, and random ones of many sizes."""
    parts = kind_blocks(kind, dimension)
    if len(parts) > 1:
        rows = [check_rows(part.kind, part.width, seed) for part in parts]
        return np.concatenate([each[: min(map(len, rows))] for each in rows], axis=1)
    random = generator(seed, "export", str(kind), str(dimension))
    single = np.zeros((_EACH, dimension))
    single[np.arange(_EACH), random.integers(dimension, size=_EACH)] = random.choice([1.0, 7.0, 1000.0], size=_EACH)
    blocks: list[NDArray[np.number]] = [np.zeros((2, dimension)), np.ones((1, dimension)), single]
    if kind == "counts":
        blocks += [random.poisson(rate, (_EACH, dimension)) for rate in _WORD_RATES]
    else:
        blocks += [size * random.normal(size=(_EACH, dimension)) for size in _MAGNITUDES]
        blocks.append(random.dirichlet(np.ones(dimension), size=_EACH))
    return np.concatenate(blocks).astype(np.float32)


def real_rows(dataset: Dataset, modality: str) -> Singles:
    """Take rows of a dataset, evenly from first to last, as a graph takes them."""
    part = dataset.everything.having(modality)
    places = np.unique(np.linspace(0, len(part) - 1, min(_REAL, len(part))).astype(np.int64))
    rows: Features = part.take(places).features(modality)
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)


def check_images() -> list[ImageArray]:
    """Make images to compare on: black, white, a slope, and noise of several sizes."""
    random = generator(0, "export", "pictures")
    slope = np.linspace(0, 255, 120).astype(np.uint8)[:, None, None]
    noise = [random.integers(0, 256, (*size, 3), dtype=np.uint8) for size in _SIZES]
    plain = [np.full((40, 60, 3), level, dtype=np.uint8) for level in (0, 255)]
    return [*plain, np.ascontiguousarray(np.broadcast_to(slope, (120, 90, 3))), *noise]


def moved_rows(rows: Singles) -> list[Singles]:
    """Return copies of rows with each number one step of single precision up or down; a zero stays zero."""
    random = generator(0, "export", "moved")
    ways = [random.choice(np.array([-np.inf, np.inf], dtype=np.float32), rows.shape) for _ in range(_MOVES)]
    return [np.where(rows == 0, rows, np.nextafter(rows, way)) for way in ways]


def row_differences(found: Singles, expected: Singles) -> Floats:
    """Return each row's largest difference over its largest number or 1; what is not finite must be the same."""
    if found.shape != expected.shape:
        return np.full(len(expected), np.inf)
    wide = expected.astype(np.float64)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(found - wide))
    apart = np.where(np.isnan(apart), np.inf, apart)
    scale = np.where(np.isfinite(wide), np.abs(wide), 1.0).max(axis=1, initial=1.0)
    return np.asarray(apart.max(axis=1, initial=0.0) / scale)


_OPSET = 17
_IR_VERSION = 8
_LARGEST = 2_000_000_000
_TWO_RESULTS = {"TopK"}


def onnx_library() -> Any:  # noqa: ANN401 - a module
    """The library that writes graphs.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    optional_package("onnxruntime", "exporting", "onnx")  # what is written is checked at once
    return optional_package("onnx", "exporting", "onnx")


def to_onnx(embeddings: Traced, dimension: int, width: int, description: str) -> bytes:
    """Write the graph that computes embeddings, as the content of a file.

    Args:
        embeddings: the last table, traced from `Traced.rows()`.
        dimension: columns of the rows that enter.
        width: columns of the embeddings.
        description: what it computes, for whoever opens the file.

    Raises:
        ConfigError: when it is larger than an ONNX file may be.
    """
    onnx = onnx_library()
    helper = onnx.helper
    last = embeddings.astype("float32")
    draft = last.draft
    size = sum(values.nbytes for values in draft.constants.values())
    if size > _LARGEST:
        raise ConfigError(f"the graph has {size / 1e9:.1f} GB of weights; an ONNX file holds at most 2 GB.")
    used = _needed(draft, last.name)
    nodes = [_node(helper, node) for node in used]
    nodes.append(helper.make_node("Identity", [last.name], [GRAPH_OUTPUT]))
    single = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "codes",
        [helper.make_tensor_value_info(GRAPH_INPUT, single, ["items", dimension])],
        [helper.make_tensor_value_info(GRAPH_OUTPUT, single, ["items", width])],
        [onnx.numpy_helper.from_array(values, name) for name, values in _read(draft, used).items()],
        doc_string=description,
    )
    model = helper.make_model(graph, producer_name="diptych", opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = _IR_VERSION
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _node(helper: Any, node: Node) -> Any:  # noqa: ANN401
    attributes = dict(node.attributes)
    if isinstance(attributes.get("to"), np.dtype):
        attributes["to"] = helper.np_dtype_to_tensor_dtype(attributes["to"])
    outputs = [node.output, _places(node)] if node.operator in _TWO_RESULTS else [node.output]
    return helper.make_node(node.operator, list(node.inputs), outputs, **attributes)


def _needed(draft: Draft, last: str) -> list[Node]:
    """The nodes that the last result depends on, in order."""
    wanted = {last}
    kept = []
    for node in reversed(draft.nodes):
        if wanted & {node.output, _places(node)}:
            kept.append(node)
            wanted |= set(node.inputs)
    return kept[::-1]


def _read(draft: Draft, nodes: list[Node]) -> dict[str, Any]:
    """The constants that some node reads."""
    named = {name for node in nodes for name in node.inputs}
    return {name: values for name, values in draft.constants.items() if name in named}


def _places(node: Node) -> str:
    """What the second result of a node is called, if it has one."""
    return f"{node.output}-places"
