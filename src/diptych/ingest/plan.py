"""The plan of an ingest: every item with its split and where its picture lies, before any picture is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diptych.arrays import Integers
from diptych.data.importers.label_column import read_labels
from diptych.data.writing import check_target
from diptych.errors import ConfigError, DataError
from diptych.features import make_feature
from diptych.ingest.class_tree import read_class_tree
from diptych.ingest.columns import Columns, choose_columns
from diptych.ingest.items import Gathering, Item, caption_items, gather_items
from diptych.ingest.opening import open_pictures
from diptych.ingest.options import IngestOptions
from diptych.ingest.picture_sources import PictureSource, Place, RefusedNameError
from diptych.ingest.report import Problem
from diptych.ingest.splitting import assign_splits
from diptych.ingest.table_formats import read_table


@dataclass(frozen=True)
class Plan:
    """All that will be done.

    Attributes:
        options: what the user decided.
        columns: which column was read as what.
        items: the items, each with one text at most.
        splits: the split of each.
        labels: the class names of each.
        classes: all class names, in order.
        source_path: where the pictures lie.
        source_kind: "folder", "tar" or "zip".
        source_stamp: changes when an archive does.
        places: the pictures to read, each once, in the order in which they are read.
        place_of_item: for each item the number of its picture, -1 for none.
        problems: what is already known to be wrong.
    """

    options: IngestOptions
    columns: Columns
    items: Sequence[Item]
    splits: Sequence[str]
    labels: Sequence[Sequence[str]]
    classes: Sequence[str]
    source_path: Path
    source_kind: str
    source_stamp: str
    places: Sequence[Place]
    place_of_item: Integers
    problems: Sequence[Problem]

    @property
    def texts(self) -> list[str]:
        """The texts there are, in item order."""
        return [item.texts[0] for item in self.items if item.texts]


def plan_ingest(options: IngestOptions, gathered: Gathering | None = None) -> Plan:
    """Read the table, decide splits and find every picture.

    Args:
        options: what to read and what to make of it.
        gathered: items that were read already, instead of those of `options.pairs`.

    Raises:
        DataError: when the table cannot be read or none of its pictures is found.
        ConfigError: when an option makes no sense.
    """
    check_target(options.out, overwrite=options.overwrite)
    _check(options)
    columns, gathered = _gather(options) if gathered is None else (Columns(), gathered)
    items = caption_items(gathered.items.values(), options.captions)
    if not items:
        why = f" ({gathered.problems[0]})" if gathered.problems else ""
        raise DataError(f"{options.pairs} gives no item{why}; give items a picture or a text.")
    labels = read_labels(
        [item.label for item in items],
        options.pairs.name,
        separator=options.label_separator,
        missing=options.missing_label,
    )
    splits = assign_splits(items, labels.names, options.split_shares, options.seed)
    root = options.images or (options.pairs if options.pairs.is_dir() else options.pairs.parent)
    with open_pictures(root) as source:
        places, place_of_item, refused = _locate(items, source)
        refused += [Problem("note", name, f"{reason}; passed over") for name, reason in source.refused()]
        stamp, kind = source.stamp(), source.kind
    wanted = sum(item.picture is not None for item in items)
    if wanted and not places:
        raise DataError(f"none of the {wanted} pictures is in {root}; the first, {refused[0]}. Is --images right?")
    problems = [*gathered.problems, *refused]
    return Plan(
        options=options,
        columns=columns,
        items=items,
        splits=splits,
        labels=labels.names,
        classes=labels.classes,
        source_path=root.resolve(),
        source_kind=kind,
        source_stamp=stamp,
        places=places,
        place_of_item=place_of_item,
        problems=problems,
    )


def _check(options: IngestOptions) -> None:
    for medium, written in options.features.items():
        make_feature(medium, written)
    for name in ("fit_pictures", "max_pixels", "max_bytes"):
        if getattr(options, name) < 1:
            raise ConfigError(f"{name} is {getattr(options, name)}; it must be at least 1.")


def _gather(options: IngestOptions) -> tuple[Columns, Gathering]:
    if options.pairs.is_dir():
        return Columns(), read_class_tree(options.pairs, options.encoding)
    if not options.pairs.exists():
        raise DataError(f"there is no {options.pairs}; give a table or a folder with a folder for each class.")
    table = read_table(options.pairs, options.encoding)
    columns = choose_columns(table.columns, options.columns, table.origin)
    gathered = gather_items(table, columns)
    gathered.problems[:0] = table.problems
    return columns, gathered


def _locate(items: Sequence[Item], source: PictureSource) -> tuple[list[Place], Integers, list[Problem]]:
    """Find each picture once; the same one asked for by several items is read once."""
    found: dict[str, Place] = {}
    name_of_item: list[str | None] = []
    problems: list[Problem] = []
    for item in items:
        name_of_item.append(None)
        if item.picture is None:
            continue
        try:
            place = source.locate(item.picture)
        except RefusedNameError as reason:
            problems.append(Problem("picture", item.picture, str(reason)))
            continue
        found[place.name] = place
        name_of_item[-1] = place.name
    places = source.in_order(list(found.values()))
    number = {place.name: position for position, place in enumerate(places)}
    return places, np.array([-1 if name is None else number[name] for name in name_of_item], dtype=np.int64), problems
