"""Traced rows as an ONNX file."""

from typing import Any

import numpy as np

from diptych._core.errors import ConfigError
from diptych._core.optional import optional_package
from diptych.export.graph import Draft, Node, Traced
from diptych.methods.exported import GRAPH_INPUT, GRAPH_OUTPUT

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
