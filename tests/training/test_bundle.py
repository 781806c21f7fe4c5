import pytest
import torch

from diptych._core.errors import DataError
from diptych.training.steps import delete_unfinished, hash_tensors, read_bundle, write_bundle

TENSORS = {
    "half": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3), "scalar": torch.tensor(3.5, dtype=torch.float64),
    "flags": torch.tensor([True, False]), "empty": torch.zeros(0, 4), "turned": torch.arange(6.0).reshape(2, 3).t(),
}  # fmt: skip


def test_round_trip_to_the_bit(tmp_path):
    path = tmp_path / "deep" / "bundle.safetensors"
    write_bundle(path, TENSORS, {"step": 3, "wörd": [0.1, None]})
    tensors, record = read_bundle(path)
    assert record == {"step": 3, "wörd": [0.1, None]}
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_tied_tensors_are_stored_twice(tmp_path):
    weight = torch.randn(3, 3)
    write_bundle(tmp_path / "a.safetensors", {"encoder": weight, "decoder": weight.t()}, {})
    assert torch.equal(read_bundle(tmp_path / "a.safetensors")[0]["decoder"], weight.t())


def test_a_failed_write_leaves_the_old_content(tmp_path):
    path = tmp_path / "a.safetensors"
    write_bundle(path, TENSORS, {"step": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_bundle(path, TENSORS, {"step": float("nan")})
    assert read_bundle(path)[1] == {"step": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("place", [0, 9, 60, -1])
def test_any_changed_byte_is_noticed(tmp_path, place):
    path = tmp_path / "a.safetensors"
    write_bundle(path, TENSORS, {"step": 1})
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.safetensors"):
        read_bundle(path)


def test_truncated_or_missing(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(DataError, match="is missing"):
        read_bundle(path)
    write_bundle(path, TENSORS, {})
    for length in (0, 5, 100, path.stat().st_size - 1):
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(DataError, match="train again"):
            read_bundle(path)


def test_hash_depends_on_name_type_shape_and_content():
    base = torch.arange(6.0)
    variants = [{"a": base}, {"b": base}, {"a": base.reshape(2, 3)}, {"a": base.double()}, {"a": base + 1},
                {"a": base, "b": base}, {"a": base.view(torch.int32)}]  # fmt: skip
    assert len({hash_tensors(variant) for variant in variants}) == len(variants)
    assert hash_tensors({"a": base, "b": base + 1}) == hash_tensors({"b": base + 1, "a": base})


def test_leftovers_of_a_killed_writer_go(tmp_path):
    (tmp_path / ".a.safetensors.k3j.safetensors").write_bytes(b"half")
    (tmp_path / "b.safetensors").write_bytes(b"other")
    delete_unfinished(tmp_path / "a.safetensors")
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.safetensors"]
