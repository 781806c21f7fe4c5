"""A dataset is a folder; this opens one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.arrays import Booleans, Strings
from diptych._core.errors import DataError
from diptych._core.files import read_json
from diptych.data.fingerprint import fingerprint_of, hash_features, hash_records
from diptych.data.labels import Labels
from diptych.data.modality import Modality
from diptych.data.partition import Column, Partition
from diptych.data.storage import read_rows

FORMAT = "diptych-dataset"
FORMAT_VERSION = 1
SPLITS = ("train", "val", "test")
HEAD_KEYS = ("name", "items", "modalities", "classes", "source", "fingerprint", "hashes")
PIPELINE_FOLDER = "pipeline"
RESERVED_COLUMNS = ("id", "split", "label", "document")


@dataclass(frozen=True)
class Dataset:
    """Items with any number of modalities, each item in one split, with or without labels.

    Open one with `Dataset.open(folder)`; make one with `write_dataset` or an importer. `pipeline_fingerprint` names
    the pipeline that made the rows from raw pictures and texts; None where they came as numbers.
    """

    path: Path
    name: str
    modalities: Mapping[str, Modality]
    classes: tuple[str, ...]
    source: Mapping[str, Any]
    fingerprint: str
    hashes: Mapping[str, str]
    items: pa.Table
    pipeline_fingerprint: str | None = None

    @classmethod
    def open(cls, path: str | Path) -> "Dataset":
        """Open a dataset's folder; features stay on disk until they are asked for."""
        folder = Path(path)
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder; make a dataset with `diptych import` or `diptych ingest`.")
        if not (folder / "dataset.json").exists():
            raise DataError(f"{folder} holds no dataset.json, so it is not a dataset; make one with `diptych import`.")
        head = read_json(folder / "dataset.json")
        if not isinstance(head, dict) or head.get("format") is None:
            raise DataError(f"{folder / 'dataset.json'} does not describe a dataset; make one with `diptych import`.")
        if head.get("format") != FORMAT or head.get("format_version") != FORMAT_VERSION:
            raise DataError(
                f"{folder / 'dataset.json'} says format {head.get('format')!r} version "
                f"{head.get('format_version')!r}; this diptych reads {FORMAT!r} version {FORMAT_VERSION}."
            )
        missing = [key for key in HEAD_KEYS if key not in head]
        if missing:
            raise DataError(f"{folder / 'dataset.json'} lacks '{missing[0]}'; import the dataset again.")
        try:
            items = pq.read_table(folder / "items.parquet")
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{folder / 'items.parquet'} cannot be read ({error}); import the dataset again.") from None
        if items.num_rows != head["items"]:
            raise DataError(
                f"{folder / 'items.parquet'} has {items.num_rows} rows but dataset.json says {head['items']}; "
                "import the dataset again."
            )
        expected = [*RESERVED_COLUMNS, *(f"has_{name}" for name in head["modalities"])]
        absent = [column for column in expected if column not in items.column_names]
        if absent:
            raise DataError(f"{folder / 'items.parquet'} lacks the column '{absent[0]}'; import the dataset again.")
        return cls(
            path=folder,
            name=head["name"],
            modalities={name: Modality(name=name, **spec) for name, spec in head["modalities"].items()},
            classes=tuple(head["classes"]),
            source=head["source"],
            fingerprint=head["fingerprint"],
            hashes=head["hashes"],
            items=items,
            pipeline_fingerprint=head.get("pipeline", {}).get("fingerprint"),
        )

    def __len__(self) -> int:
        return int(self.items.num_rows)

    def _strings(self, column: str) -> Strings:
        return np.asarray(self.items.column(column).to_pylist(), dtype=np.str_)

    @cached_property
    def ids(self) -> Strings:
        """The id of each item."""
        return self._strings("id")

    @cached_property
    def splits(self) -> Strings:
        """The split of each item."""
        return self._strings("split")

    @cached_property
    def labels(self) -> Labels:
        """The labels of each item."""
        number = {name: code for code, name in enumerate(self.classes)}
        values = self.items.column("label").to_pylist()
        sets = [[] if v is None else [v] if isinstance(v, str) else v for v in values]
        try:
            return Labels.from_sets([[number[name] for name in row] for row in sets], self.classes)
        except KeyError as error:
            raise DataError(
                f"{self.path / 'items.parquet'} names the class {error}, which dataset.json lacks."
            ) from None

    def has(self, modality: str) -> Booleans:
        """Which items have a modality."""
        return np.asarray(self.items.column(f"has_{modality}").to_numpy(), dtype=np.bool_)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The features of every modality, dense ones memory-mapped."""
        return {
            name: Column.of(read_rows(self.path, modality), self.has(name))
            for name, modality in self.modalities.items()
        }

    @cached_property
    def everything(self) -> Partition:
        """All items as one partition."""
        return Partition(
            np.arange(len(self), dtype=np.int64),
            self.ids,
            self._strings("document"),
            self.labels,
            self.columns,
        )

    def split(self, name: str) -> Partition:
        """The items of one split."""
        if name not in SPLITS:
            raise DataError(f"there is no split '{name}'; the splits are {', '.join(SPLITS)}.")
        return self.everything.take(self.splits == name)

    @property
    def pipeline_folder(self) -> Path | None:
        """Where the pipeline that made the rows is kept; `diptych.features.pipeline_of` opens it."""
        return None if self.pipeline_fingerprint is None else self.path / PIPELINE_FOLDER

    @property
    def metadata_columns(self) -> list[str]:
        """The names of the free columns of `items.parquet`."""
        known = {*RESERVED_COLUMNS, *(f"has_{name}" for name in self.modalities)}
        return [name for name in self.items.column_names if name not in known]

    def changed_parts(self) -> list[str]:
        """The parts of the folder whose content no longer is what was written: empty when all is well."""
        actual = {name: hash_features(column.values) for name, column in self.columns.items()}
        actual["items"] = hash_records(self.items.to_pylist())
        changed = [part for part, expected in self.hashes.items() if actual.get(part) != expected]
        kinds = {name: modality.kind for name, modality in self.modalities.items()}
        head_is_whole = self.fingerprint == fingerprint_of(FORMAT_VERSION, self.classes, kinds, self.hashes)
        return changed if head_is_whole else [*changed, "dataset"]
