import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diptych._core.errors import DataError
from diptych._core.state import pack, stateful, unpack


@stateful
@dataclass(frozen=True)
class PackedThing:
    weights: np.ndarray
    name: str
    parts: tuple[Any, ...]


def through_json(value: Any) -> Any:
    structure, arrays = pack(value)
    return unpack(json.loads(json.dumps(structure, allow_nan=False)), arrays)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right, equal_nan=True)
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


floating = hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3), elements=st.floats(-9, 9, width=32))
leaves = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text() | floating
keys = st.text(st.sampled_from("ab."), max_size=3)
trees = st.recursive(
    leaves, lambda child: st.lists(child, max_size=3) | st.dictionaries(keys, child) | st.tuples(child, child)
)


@given(trees)
def test_any_tree_comes_back(tree):
    assert same(tree, through_json(tree))


def test_dotted_keys_do_not_collide():
    value = {"a.b": np.array([1.0]), "a": {"b": np.array([2.0])}}
    found = through_json(value)
    assert found["a.b"] == 1.0
    assert found["a"]["b"] == 2.0


def test_scalar_arrays_keep_their_shape():
    assert through_json({"x": np.array(3.0)})["x"].shape == ()


def test_numpy_scalars_become_python_ones():
    assert through_json([np.float32(0.5), np.int64(3), np.bool_(True)]) == [0.5, 3, True]


def test_sparse_and_stateful_values_come_back():
    matrix = sp.csr_array(np.array([[0, 2], [1, 0]]))
    found = through_json({"thing": PackedThing(np.arange(3), "x", (1, np.ones(2))), "sparse": matrix})
    assert isinstance(found["thing"], PackedThing)
    np.testing.assert_array_equal(found["thing"].weights, [0, 1, 2])
    np.testing.assert_array_equal(found["thing"].parts[1], [1, 1])
    np.testing.assert_array_equal(found["sparse"].toarray(), matrix.toarray())


def test_namesake_of_a_stateful_class_is_refused():
    namesake = type("PackedThing", (), {})
    with pytest.raises(TypeError, match="cannot be saved"):
        pack({"x": namesake()})
    with pytest.raises(TypeError, match="two stateful classes are called PackedThing"):
        stateful(dataclass(type("PackedThing", (), {})))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"x": object()}, "x: a object cannot be saved"),
        ({1: 2}, "must be strings"),
        ({"$array": 2}, "must be strings that do not start"),
        ({"x": np.array(["word"])}, "keep text as a list of strings"),
        ({"x": np.array([None])}, "cannot be saved"),
    ],
)
def test_what_cannot_be_saved_is_refused(value, sentence):
    with pytest.raises(TypeError, match=sentence):
        pack(value)


def test_only_dataclasses_are_stateful():
    with pytest.raises(TypeError, match="must be a dataclass"):
        stateful(type("Plain", (), {}))


@pytest.mark.parametrize(
    ("structure", "sentence"),
    [
        ({"$array": "w"}, "lack the array 'w'"),
        ({"$type": "Unheard", "fields": {}}, "holds a 'Unheard', which this version"),
        ({"$type": "PackedThing", "fields": {"old": 1}}, "does not fit this version"),
    ],
)
def test_foreign_state_is_refused(structure, sentence):
    with pytest.raises(DataError, match=sentence):
        unpack(structure, {})


def test_a_renamed_field_keeps_its_name_in_files():
    @stateful
    @dataclass(frozen=True)
    class RenamedThing:
        media_type: str = field(metadata={"stored": "medium"})
        rows: np.ndarray = field(default_factory=lambda: np.zeros(2), metadata={"stored": "values"})

    packed, arrays = pack(RenamedThing("image"), "thing")
    assert packed["fields"] == {"medium": "image", "values": {"$array": "thing.values"}} and "thing.values" in arrays
    assert unpack(packed, arrays).media_type == "image"
