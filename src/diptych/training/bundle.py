"""One file of tensors with a JSON record, whole or absent, and checked when it is read."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from diptych._core.errors import DataError
from diptych._core.files import atomic_file

Tensors = dict[str, torch.Tensor]
Record = dict[str, Any]


def hash_tensors(tensors: Tensors, text: str = "") -> str:
    """Hash tensors by name, type, shape and content, and a text with them."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"\0{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_bundle(path: Path, tensors: Tensors, record: Record) -> None:
    """Replace the file in one move: killed at any moment, it leaves the old content or the new."""
    # Copies, because tied weights share memory and the format refuses to store that.
    copies = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    with atomic_file(path) as temporary:
        save_file(copies, temporary, metadata={"record": text, "digest": hash_tensors(copies, text)})


def read_bundle(path: Path) -> tuple[Tensors, Record]:
    """Read tensors and record.

    Raises:
        DataError: If the file is missing, damaged or not a bundle.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        raise DataError(f"{path} is missing.") from None
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and train again.") from None
    if "record" not in metadata or metadata.get("digest") != hash_tensors(tensors, metadata["record"]):
        raise DataError(f"{path} is damaged: its content does not match its checksum; delete it and train again.")
    return tensors, json.loads(metadata["record"])


def delete_unfinished(path: Path) -> None:
    """Delete what a killed writer of `path` left behind; call it only when no other writer can be at work."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)
