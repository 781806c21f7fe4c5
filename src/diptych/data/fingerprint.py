"""Hash content: the same rows and records give the same hash on any machine."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features

_CHUNK_ROWS = 4096


def _digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def hash_features(values: Features) -> str:
    """Hash rows by shape, type and content, reading a memory-mapped array in chunks."""
    digest = _digest()
    if isinstance(values, np.ndarray):
        little_endian = values.dtype.newbyteorder("<")
        digest.update(f"dense {values.shape} {little_endian.str}".encode())
        for start in range(0, len(values), _CHUNK_ROWS):
            digest.update(np.ascontiguousarray(values[start : start + _CHUNK_ROWS], dtype=little_endian).tobytes())
    else:
        canonical = sp.csr_array(values, copy=True)
        canonical.sum_duplicates()
        canonical.eliminate_zeros()
        digest.update(f"sparse {canonical.shape}".encode())
        whole = canonical.data.dtype.kind in "bui"
        for part, kind in (
            (canonical.indptr, "<i8"),
            (canonical.indices, "<i8"),
            (canonical.data, "<i8" if whole else "<f8"),
        ):
            digest.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    return digest.hexdigest()


def hash_records(records: Iterable[Any]) -> str:
    """Hash a sequence of JSON values, order included."""
    digest = _digest()
    for record in records:
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=False, default=str).encode())
        digest.update(b"\n")
    return digest.hexdigest()
