"""Datasets of arrays in memory: the same checks, splits and protocol as a folder, without a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features, Integers
from diptych._core.errors import ConfigError, DataError
from diptych.data.dataset import Dataset
from diptych.data.labels import label_cell, read_labels
from diptych.data.modality import Kind, ModalityRows, check_rows, guess_kind, rows_with_numbers
from diptych.data.splits import Column, read_split_words, split_documents
from diptych.data.writing import Draft, check_draft, write_dataset

Arrays = Mapping[str, Any]
"""Rows by modality: NumPy arrays, SciPy sparse matrices, pandas DataFrames or lists of rows."""

_ORIGIN = "the data in memory"


@dataclass(frozen=True, repr=False)
class MemoryDataset(Dataset):
    """A dataset whose rows are arrays in memory; `Dataset.from_arrays` makes one.

    Attributes:
        draft: what it was made from.
        rows: the rows of each modality.
    """

    draft: Draft | None = None
    rows: Mapping[str, Features] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The features of every modality."""
        return {name: Column.of(values, self.has(name)) for name, values in self.rows.items()}

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Dataset:
        """Write the dataset as a folder, for the command line, and open it."""
        assert self.draft is not None
        return write_dataset(folder, self.draft, overwrite=overwrite)


def dataset_of_arrays(
    data: Arrays,
    labels: Any = None,  # noqa: ANN401 - see `label_cells`
    *,
    splits: Sequence[str] | str | None = None,
    pairs: Any = None,  # noqa: ANN401 - a table of row numbers
    kinds: Mapping[str, Kind] | None = None,
    name: str = "arrays",
    seed: int = 0,
    val_share: float = 0.1,
    test_share: float = 0.2,
) -> MemoryDataset:
    """Make a dataset of arrays; see `Dataset.from_arrays`."""
    rows = {modality: as_rows(modality, values) for modality, values in data.items()}
    unknown = [modality for modality in kinds or {} if modality not in rows]
    if unknown:
        raise ConfigError(f"a kind is given for '{unknown[0]}', but the modalities are {', '.join(rows)}.")
    if not rows:
        raise DataError("no modality is given; give a mapping such as {'image': X, 'text': Y}.")
    kind_of = {modality: (kinds or {}).get(modality) or guess_kind(values) for modality, values in rows.items()}
    items = _aligned(rows) if pairs is None else _paired(rows, kind_of, pairs)
    found = read_labels(items.taken(label_cells(labels, items.given, items.what)), "labels")
    if isinstance(splits, str):
        splits = [splits] * items.given
    words = None if splits is None else items.taken(_one_each("splits", splits, items.given, items.what))
    drawn = None if words is None else read_split_words(words, "splits")
    draft = Draft(
        name=name,
        ids=[str(item) for item in range(len(items.documents))],
        splits=drawn or split_documents(found.names, items.documents, seed, val_share, test_share),
        labels=found.names,
        classes=found.classes,
        modalities={
            modality: ModalityRows(kind_of[modality], *items.rows_of(modality, values), _ORIGIN)
            for modality, values in rows.items()
        },
        documents=items.documents,
        source={"importer": "memory"},
        origin=_ORIGIN,
    )
    checked = check_draft(draft)
    made = MemoryDataset.described(Path(_ORIGIN), checked.head, checked.items)
    return MemoryDataset(**{**vars(made), "draft": draft, "rows": checked.rows})


def as_dataset(
    caller: str,
    data: Dataset | Arrays,
    labels: Any = None,  # noqa: ANN401 - see `label_cells`
    **options: Any,  # noqa: ANN401 - those of `dataset_of_arrays`
) -> Dataset:
    """Take a dataset as it is, or make one of arrays.

    Raises:
        ConfigError: for anything else, with the call that would work.
    """
    if isinstance(data, Dataset):
        extra = [key for key in ("labels", "splits", "pairs") if ({"labels": labels} | options).get(key) is not None]
        if extra:
            raise ConfigError(f"{extra[0]} is given beside a dataset, which has its own; leave it out, or give arrays.")
        return data
    if isinstance(data, Mapping):
        return dataset_of_arrays(data, labels, **options)
    if isinstance(data, str | Path):
        raise ConfigError(f"{caller} was given the path '{data}'; open it first: diptych.Dataset.open({str(data)!r}).")
    raise ConfigError(
        f"{caller} takes all modalities as one mapping from names to arrays, such as "
        f"{{'image': X, 'text': Y}}, and labels by name (labels=y); it was given {describe_value(data)}."
    )


def describe_value(value: Any) -> str:  # noqa: ANN401
    """Name a value in an error: an array by its shape, anything else by its type."""
    if value is None or hasattr(value, "shape"):
        return "None" if value is None else f"an array of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, list | tuple) else "")


def as_rows(modality: str, values: Any) -> Features:  # noqa: ANN401 - whatever holds numbers
    """Take one modality's rows from an array, a sparse matrix, a DataFrame or a list of rows.

    Raises:
        DataError: when it is not a table of real numbers.
    """
    try:
        rows = _as_array(values)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"'{modality}' is {describe_value(values)}, which is no table of numbers ({error})"
        raise DataError(f"{what}; give one row of numbers per item, all of equal length.") from None
    if rows.dtype.kind not in "buif":
        raise DataError(f"'{modality}' is of type {rows.dtype}; features must be real numbers.")
    if rows.ndim != 2:
        raise DataError(
            f"'{modality}' has shape {rows.shape}; it needs one row per item and one column per feature: reshape a "
            "single feature with .reshape(-1, 1), or a single item with .reshape(1, -1)."
        )
    return rows


def _as_array(values: Any) -> Features:  # noqa: ANN401 - whatever holds numbers
    """Rows as an array: of a tensor its numbers, of a column or list of rows these, NaN in the place of None."""
    if hasattr(values, "tocsr"):
        return sp.csr_array(values)
    if hasattr(values, "detach"):  # of a torch tensor the numbers alone; NumPy lacks bfloat16
        values = values.detach().cpu().to_dense()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    if np.ma.is_masked(values):
        raise ValueError("some of it is masked: fill it, or leave those rows out")
    if hasattr(values, "to_numpy"):
        found = values.to_numpy()
        values = values.to_numpy(na_value=np.nan) if hasattr(values, "isna") and found.dtype.kind == "O" else found
    if isinstance(values, np.ndarray) and (values.dtype.kind, values.ndim) == ("O", 1):
        values = list(values)  # a column of a DataFrame may hold a whole row in each cell
    if isinstance(values, list | tuple) and any(map(_is_gap, values)):
        width = next((len(row) for row in values if hasattr(row, "__len__")), 1)
        values = [[np.nan] * width if _is_gap(row) else row for row in values]
    rows = np.asarray(values)
    if not rows.ndim:
        raise ValueError("it has no rows")
    return rows.astype(np.float64) if rows.dtype.kind == "O" else rows


def _is_gap(row: Any) -> bool:  # noqa: ANN401
    return row is None or (isinstance(row, float) and np.isnan(row))


def label_cells(labels: Any, count: int, what: str = "row") -> list[Any]:  # noqa: ANN401 - see below
    """One cell per item: a class name or number, a list of several, or None for an unlabelled item.

    Args:
        labels: a list, an array, a pandas Series; an indicator matrix of zeros and ones, one column a class; or None
            where no item has a label. None, NaN and pandas' NA mean an item without a label.
        count: how many items there are.
        what: what there is one label for, in errors.
    """
    if labels is None:
        return [None] * count
    if hasattr(labels, "toarray"):
        labels = labels.toarray()
    return [label_cell(label) for label in _one_each("labels", labels, count, what)]


def _one_each(role: str, values: Any, count: int, what: str) -> list[Any]:  # noqa: ANN401
    """The values as a list, one for every item."""
    if hasattr(values, "__array__") and not hasattr(values, "__iter__"):
        values = np.asarray(values)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise DataError(f"{role} is {values!r:.60}; give one value per {what}, as a list or an array.")
    if getattr(values, "ndim", 1) > 1 and hasattr(values, "to_numpy"):
        values = values.to_numpy()  # a DataFrame runs over its columns
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(listed, list) or len(listed) != count:
        found = len(listed) if isinstance(listed, list) else 1
        hint = ", None for an item without a label" if role == "labels" else ""
        raise DataError(f"there are {count} {what}s but {found} {role}; give one for each {what}{hint}.")
    return listed


@dataclass(frozen=True)
class _Items:
    """Which rows make an item.

    Attributes:
        what: what labels and splits are given for: "row" or "pair".
        given: how many of these there are.
        documents: what each item is a part of.
        kept: the pairs that are items; None where all are.
        places: the row of each item by modality, -1 for none; None where row i is item i.
    """

    what: str
    given: int
    documents: list[str]
    kept: list[int] | None = None
    places: Mapping[str, Integers] | None = None

    def taken(self, values: list[Any]) -> list[Any]:
        """The values of those pairs that are items."""
        return values if self.kept is None else [values[number] for number in self.kept]

    def rows_of(self, modality: str, values: Features) -> tuple[Features, Booleans | None]:
        """The rows of the items that have a modality, and which have it."""
        if self.places is None:
            present = rows_with_numbers(values)
            return (values, None) if present is None or present.all() else (values[present], present)
        place = self.places[modality]
        return values[place[place >= 0]], np.asarray(place >= 0)


def _aligned(rows: Mapping[str, Features]) -> _Items:
    """Row i of every modality is item i; a row of NaN alone says that the item lacks the modality."""
    counts = {modality: int(values.shape[0]) for modality, values in rows.items()}
    first = next(iter(counts))
    for modality, count in counts.items():
        if count != counts[first]:
            raise DataError(
                f"'{modality}' has {count} rows but '{first}' has {counts[first]}; give one row per item in each, or "
                "say with pairs=[(row, row), …] which rows belong together."
            )
    return _Items("row", counts[first], [str(item) for item in range(counts[first])])


def _paired(
    rows: Mapping[str, Features],
    kinds: Mapping[str, Kind],
    pairs: Any,  # noqa: ANN401 - a table of row numbers
) -> _Items:
    """Every pair is an item; of several that name one row, the first has it and the others are its partners."""
    for modality, values in rows.items():
        numbers = [str(row) for row in range(values.shape[0])]
        check_rows(modality, ModalityRows(kinds[modality], values, None, _ORIGIN), numbers)
    table = _pair_table(rows, pairs)
    document = list(range(len(table)))
    owner: dict[tuple[int, int], int] = {}

    def root(pair: int) -> int:
        while document[pair] != pair:
            pair = document[pair]
        return pair

    for number, pair in enumerate(table.tolist()):
        for column, row in enumerate(pair):
            first = owner.setdefault((column, row), number) if row >= 0 else number
            if first != number:
                table[number, column] = -1
                older, younger = sorted((root(first), root(number)))
                document[younger] = older
    kept = np.flatnonzero((table >= 0).any(axis=1))
    places = {modality: table[kept, column] for column, modality in enumerate(rows)}
    return _Items("pair", len(table), [str(root(number)) for number in kept.tolist()], kept.tolist(), places)


def _pair_table(rows: Mapping[str, Features], pairs: Any) -> Integers:  # noqa: ANN401
    names = ", ".join(rows)
    try:
        cells = [[-1 if cell is None else cell for cell in pair] for pair in pairs]
        table = np.array(cells, dtype=np.float64).reshape(len(cells), -1)
    except (TypeError, ValueError):
        table = np.empty((1, 0))
    if not len(table) or table.shape[1] != len(rows) or not np.array_equal(table, np.floor(table)):
        raise DataError(f"pairs must hold one row number for each of {names} per pair, such as [(0, 0), (1, 2)].")
    if (table < 0).all(axis=1).any():
        raise DataError(f"pair {int(np.argmax((table < 0).all(axis=1)))} names no row at all; leave it out.")
    for column, (modality, values) in enumerate(rows.items()):
        outside = (table[:, column] < -1) | (table[:, column] >= values.shape[0])
        if outside.any():
            pair = int(np.argmax(outside))
            raise DataError(
                f"pair {pair} names row {int(table[pair, column])} of '{modality}', which has {values.shape[0]} rows; "
                "count from 0, and write -1 where an item lacks the modality."
            )
    return table.astype(np.int64)
