"""The files of a dataset's folder: `dataset.json` and `items.parquet`, read with every value checked."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych._core.files import read_json
from diptych.data.modality import check_modality_name, kind_blocks
from diptych.data.splits import SPLITS
from diptych.data.table_files import open_parquet

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


FORMAT = "diptych-dataset"
FORMAT_VERSION = 1
PIPELINE_FOLDER = "pipeline"
RESERVED_COLUMNS = ("id", "split", "label", "document")
_HEAD_FILE, _ITEMS_FILE = "dataset.json", "items.parquet"
_FIX = "restore it or import the dataset again"


def _is_count(value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_text_list(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _is_text_map(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


_HEAD: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "name": (lambda value: isinstance(value, str), "a text"),
    "items": (_is_count, "a number of items"),
    "modalities": (lambda value: isinstance(value, dict), "an object"),
    "classes": (_is_text_list, "a list of different names"),
    "source": (lambda value: isinstance(value, dict), "an object"),
    "fingerprint": (lambda value: isinstance(value, str), "a text"),
    "hashes": (_is_text_map, "an object of texts"),
}
_MODALITY: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "kind": (lambda value: isinstance(value, str), "a text"),
    "dimension": (lambda value: _is_count(value) and value > 0, "a number of columns"),
    "items": (_is_count, "a number of items"),
}


def read_head(folder: Path) -> dict[str, Any]:
    """Read `dataset.json`.

    Raises:
        DataError: when it is not there, or a value is missing, of the wrong type or out of range.
    """
    file = folder / _HEAD_FILE
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; make a dataset with `diptych import` or `diptych ingest`.")
    if not file.exists():
        raise DataError(f"{folder} holds no {_HEAD_FILE}, so it is not a dataset; make one with `diptych import`.")
    head = read_json(file)
    if not isinstance(head, dict) or head.get("format") is None:
        raise DataError(f"{file} does not describe a dataset; make one with `diptych import`.")
    if head["format"] != FORMAT or head.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{file} says format {head['format']!r} version {head.get('format_version')!r}; "
            f"this diptych reads {FORMAT!r} version {FORMAT_VERSION}."
        )
    _check(file, "", head, _HEAD)
    for name, modality in head["modalities"].items():
        _check(file, f"modalities.{name}.", modality, _MODALITY)
        try:
            check_modality_name(name)
            kind_blocks(modality["kind"], modality["dimension"])
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
    pipeline = head.get("pipeline", {"fingerprint": ""})
    if not isinstance(pipeline, dict) or not isinstance(pipeline.get("fingerprint"), str):
        raise DataError(f"{file} has {pipeline!r:.60} for 'pipeline', which must name a fingerprint; {_FIX}.")
    return head


def _check(file: Path, where: str, values: Any, rules: Mapping[str, tuple[Callable[[Any], bool], str]]) -> None:  # noqa: ANN401
    if not isinstance(values, dict):
        raise DataError(f"{file} has {values!r:.60} for '{where.rstrip('.')}', which must be an object; {_FIX}.")
    for key, (fits, what) in rules.items():
        if key not in values:
            raise DataError(f"{file} lacks '{where}{key}'; {_FIX}.")
        if not fits(values[key]):
            raise DataError(f"{file} has {values[key]!r:.60} for '{where}{key}', which must be {what}; {_FIX}.")


def read_items(folder: Path, head: Mapping[str, Any]) -> pa.Table:
    """Read `items.parquet`, and compare it with `dataset.json`.

    Raises:
        DataError: when it is damaged, or a column is missing, of the wrong type or says something else.
    """
    file = folder / _ITEMS_FILE
    with open_parquet(file, str(file), _FIX) as opened:
        items = opened.read()
        items.validate(full=True)
    if items.num_rows != head["items"]:
        raise DataError(
            f"{file} has {items.num_rows} rows but {_HEAD_FILE} says {head['items']}; import the dataset again."
        )
    _check_columns(file, items, [*RESERVED_COLUMNS, *(f"has_{name}" for name in head["modalities"])])
    unknown = set(items.column("split").unique().to_pylist()) - set(SPLITS)
    if unknown:
        raise DataError(f"{file} names the split {min(unknown)!r:.60}; the splits are {', '.join(SPLITS)}; {_FIX}.")
    for name, modality in head["modalities"].items():
        count = pc.sum(items.column(f"has_{name}")).as_py() or 0
        if count != modality["items"]:
            raise DataError(
                f"{file} has {count} items with '{name}' but {_HEAD_FILE} says {modality['items']}; {_FIX}."
            )
    return items


def _check_columns(file: Path, items: pa.Table, expected: Sequence[str]) -> None:
    twice = [name for name, count in Counter(items.column_names).items() if count > 1]
    if twice:
        raise DataError(f"{file} has several columns '{twice[0]}'; {_FIX}.")
    for column in expected:
        if column not in items.column_names:
            raise DataError(f"{file} lacks the column '{column}'; import the dataset again.")
        values = items.column(column)
        if column == "label":
            fits = _is_text(values.type) or pa.types.is_null(values.type) or _is_texts(values.type)
        else:
            fits = pa.types.is_boolean(values.type) if column.startswith("has_") else _is_text(values.type)
        if not fits or (column != "label" and values.null_count):
            problem = f"holds {values.type}" if not fits else f"has {values.null_count} empty cells"
            raise DataError(f"{file}: the column '{column}' {problem}; {_FIX}.")


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_texts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type)


def fingerprint_of(
    format_version: int, classes: Sequence[str], kinds: Mapping[str, str], hashes: Mapping[str, str]
) -> str:
    """Hash a whole dataset, from the hashes of its parts."""
    return hash_records([format_version, list(classes), dict(kinds), dict(hashes)])
