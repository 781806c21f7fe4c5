"""A dataset is a folder; this opens one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from diptych._core.arrays import Booleans, Strings
from diptych._core.errors import DataError
from diptych.data.dataset_files import (
    FORMAT_VERSION,
    PIPELINE_FOLDER,
    RESERVED_COLUMNS,
    fingerprint_of,
    hash_features,
    hash_records,
    read_head,
    read_items,
)
from diptych.data.labels import Labels
from diptych.data.modality import Kind, Modality, read_rows
from diptych.data.splits import SPLITS, Column, Partition
from diptych.media import MediaSource, reopen_source

if TYPE_CHECKING:
    from diptych.data.in_memory import MemoryDataset


@dataclass(frozen=True, repr=False)
class Dataset:
    """Items with any number of modalities, each item in one split, with or without labels.

    Open one with `Dataset.open(folder)`; make one with `Dataset.from_arrays`, `write_dataset` or an importer.
    `pipeline_fingerprint` identifies the pipeline that made the rows from raw images and texts; None for imported
    features.
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
        """Open a dataset's folder; features stay on disk until they are needed.

        Raises:
            DataError: when the folder is none, or a file of it is damaged; the message names it.
        """
        folder = Path(path)
        head = read_head(folder)
        items = read_items(folder, head)
        return cls.described(folder, head, items)

    @classmethod
    def from_arrays(
        cls,
        data: Mapping[str, Any],
        labels: Any = None,  # noqa: ANN401 - any sequence of labels
        *,
        splits: Sequence[str] | str | None = None,
        pairs: Any = None,  # noqa: ANN401 - a table of row numbers
        kinds: Mapping[str, Kind] | None = None,
        name: str = "arrays",
        seed: int = 0,
        val_share: float = 0.1,
        test_share: float = 0.2,
    ) -> "MemoryDataset":
        """Make a dataset of arrays in memory.

        Args:
            data: rows by modality, such as {"image": X, "text": Y, "audio": Z}: NumPy arrays, SciPy sparse matrices,
                pandas DataFrames or lists of rows. A row of only NaN, or None in a list of rows, means that the item
                lacks the modality; a single NaN is an error. For sparse rows, use `pairs`.
            labels: one class name or number per item; None or NaN for an unlabelled item; a list of several; or a
                matrix of zeros and ones with one column per class. None if no item has a label.
            splits: "train", "val" or "test" per item, or one split for all. By default, items are drawn with the seed
                within each class, and unlabelled items stay in training if others have labels.
            pairs: if row i of one modality does not belong to row i of the others: for every item the row number of
                each modality, in the order of `data`, and -1 for a missing one. A row may occur several times, such as
                the image of five captions; these items are then partners of each other, and a pair without a new row
                adds no item. Labels and splits are given per pair.
            kinds: "dense" or "counts" by modality; by default, sparse whole numbers are counts and everything else is
                dense.
            name: name of the dataset.
            seed: seed for drawing splits.
            val_share: share of validation items, if splits are drawn.
            test_share: share of test items, if splits are drawn.

        Raises:
            DataError: naming the value and the fix.

        Example:
            >>> import numpy as np
            >>> X, Y = np.eye(30, 5), np.ones((30, 4))
            >>> Dataset.from_arrays({"image": X, "text": Y}, labels=["river", "forest", None] * 10)
            Dataset('arrays': 30 items; image 5 dense, text 4 dense; 2 classes; 24 train, 2 val, 4 test)
        """
        from diptych.data.in_memory import dataset_of_arrays  # it imports this module

        return dataset_of_arrays(
            data,
            labels,
            splits=splits,
            pairs=pairs,
            kinds=kinds,
            name=name,
            seed=seed,
            val_share=val_share,
            test_share=test_share,
        )

    @classmethod
    def described(cls, path: Path, head: Mapping[str, Any], items: pa.Table) -> Self:
        """Make a dataset from the content of its `dataset.json` and `items.parquet`."""
        return cls(
            path=path,
            name=head["name"],
            modalities={
                name: Modality(name, spec["kind"], spec["dimension"], spec["items"])
                for name, spec in head["modalities"].items()
            },
            classes=tuple(head["classes"]),
            source=head["source"],
            fingerprint=head["fingerprint"],
            hashes=head["hashes"],
            items=items,
            pipeline_fingerprint=head.get("pipeline", {}).get("fingerprint"),
        )

    def __repr__(self) -> str:
        parts = (f"{name} {modality.dimension} {modality.kind}" for name, modality in self.modalities.items())
        splits = (f"{int((self.splits == split).sum())} {split}" for split in SPLITS)
        about = [f"{len(self)} items", ", ".join(parts), f"{len(self.classes)} classes", ", ".join(splits)]
        return f"Dataset({self.name!r}: {'; '.join(about)})"

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


def media_of(dataset: Dataset) -> MediaSource:
    """Open the folder or archive whose files the dataset's column `media` names.

    Raises:
        DataError: when the dataset was not ingested, or its images have moved.
    """
    source = dataset.source
    if source.get("importer") != "ingest":
        raise DataError(f"{dataset.path} was not made by `diptych ingest`, so it has no images.")
    path = (dataset.path / str(source.get("images"))).resolve()
    if not path.exists():
        raise DataError(f"the images of {dataset.path} were in {path} and are gone; put them back or ingest again.")
    return reopen_source(path, str(source.get("images_kind")))
