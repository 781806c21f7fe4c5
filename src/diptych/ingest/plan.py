"""The plan of an ingest: every item with its split and where its files lie, before any of them is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diptych._core.arrays import Integers
from diptych._core.errors import DataError
from diptych.data.labels import LabelColumn, read_labels
from diptych.data.splits import split_named, stratified_split
from diptych.data.tables import Problem
from diptych.data.writing import check_target
from diptych.ingest.columns import Columns, ColumnUse
from diptych.ingest.file_finder import FileFinder, OnTheWebError
from diptych.ingest.inputs import Input, read_input
from diptych.ingest.items import GatheredItems, Item, caption_items
from diptych.ingest.options import IngestOptions, SplitShares, check_disk_space, check_features, check_options
from diptych.media import KINDS, MediaKind, Place, RefusedNameError, media_kind, open_source

_NO_LABEL = ("-1", "-1.0")


@dataclass(frozen=True)
class KindFiles:
    """The files of one kind of media.

    Attributes:
        places: the files to read, each once, in the order in which they are read.
        of_item: for each item the number of its file, -1 for none.
        on_the_web: how many items name an address whose file is not here.
    """

    places: Sequence[Place]
    of_item: Integers
    on_the_web: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything an ingest will do.

    Attributes:
        options: what the user decided.
        columns: which column was read as what.
        uses: what every column, or folders and file names, were read as, and why.
        table: the name of the table that was read, None where there is none.
        rows: how many rows it has.
        items: the items, each with one text at most.
        splits: the split of each.
        labels: the class names of each.
        classes: all class names, in order.
        source_path: where the files lie.
        source_kind: "folder", "tar" or "zip".
        source_stamp: changes when an archive does.
        files: what there is to read, by kind of media; kinds that no item names are left out.
        problems: what is already known to be wrong.
    """

    options: IngestOptions
    columns: Columns
    uses: Sequence[ColumnUse]
    table: str | None
    rows: int
    items: Sequence[Item]
    splits: Sequence[str]
    labels: Sequence[Sequence[str]]
    classes: Sequence[str]
    source_path: Path
    source_kind: str
    source_stamp: str
    files: Mapping[str, KindFiles]
    problems: Sequence[Problem]

    @property
    def texts(self) -> list[str]:
        """The texts there are, in item order."""
        return [item.texts[0] for item in self.items if item.texts]

    def place(self, kind: str, item: int) -> Place | None:
        """Where an item's file of a kind lies; None if it has none, or the file is missing."""
        files = self.files.get(kind)
        number = -1 if files is None else int(files.of_item[item])
        return None if files is None or number < 0 else files.places[number]


def plan_ingest(options: IngestOptions, gathered: GatheredItems | None = None) -> Plan:
    """Check that the ingest can be done, read the table, decide splits and find every file.

    Args:
        options: what to read and what to make of it.
        gathered: items that were read already, instead of those of `options.pairs`.

    Raises:
        DataError: when nothing can be read, none of the files of a kind is found, or there is no room for the dataset.
        ConfigError: when an option makes no sense, or a feature's package is not installed.
    """
    check_target(options.out, overwrite=options.overwrite)
    check_options(options)
    plan = make_plan(options, gathered)
    if options.pipeline is None:
        check_features(options, [kind for kind, files in plan.files.items() if files.places])
    check_disk_space(options.out, len(plan.items))
    return plan


def make_plan(options: IngestOptions, gathered: GatheredItems | None = None) -> Plan:
    """Make the plan of an ingest without checking options and disk space; see `plan_ingest`."""
    if gathered is None:
        found = read_input(options)
    else:
        root = options.images or options.pairs.parent
        found = Input("table", gathered, FileFinder(open_source(root)), rows=len(gathered.items))
    with found.finder.source:
        return _plan(options, found)


def _plan(options: IngestOptions, found: Input) -> Plan:
    gathered, source = found.gathered, found.finder.source
    items = caption_items(gathered.items.values(), options.captions)
    if not items:
        why = f" ({gathered.problems[0]})" if gathered.problems else ""
        raise DataError(f"{options.pairs} gives no item{why}; give items an image, a sound or a text.")
    problems = list(gathered.problems)
    labels = _labels(options, items, problems)
    splits = assign_splits(items, labels.names, options.split_shares, options.seed)
    kinds = [kind for kind in KINDS if any(kind in item.files for item in items)]
    files: dict[str, KindFiles] = {}
    refused: list[Problem] = []
    for kind in kinds:
        files[kind], problems_of_kind = _locate(items, kind, found.finder)
        _check_found(files[kind], problems_of_kind, items, media_kind(kind), source.path)
        refused += problems_of_kind
    refused += [Problem("note", name, f"{reason}; passed over") for name, reason in source.refused()]
    if not any(len(each.places) for each in files.values()) and not any(item.texts for item in items):
        plural, count = media_kind(kinds[0]).plural, files[kinds[0]].on_the_web
        raise DataError(
            f"all {count} {plural} are addresses on the web; download them into a folder first, and pass it as "
            "--images."
        )
    if len(labels.classes) == 1:
        labelled = sum(bool(names) for names in labels.names)
        reason = f"is the class of all {labelled:,} labelled items, so there is nothing to tell apart"
        problems.append(Problem("note", f"'{labels.classes[0]}'", reason))
    return Plan(
        options=options,
        columns=found.columns,
        uses=found.uses,
        table=found.table,
        rows=found.rows,
        items=items,
        splits=splits,
        labels=labels.names,
        classes=labels.classes,
        source_path=source.path.resolve(),
        source_kind=source.kind,
        source_stamp=source.stamp(),
        files=files,
        problems=[*problems, *refused],
    )


def _labels(options: IngestOptions, items: Sequence[Item], problems: list[Problem]) -> LabelColumn:
    """The class names of each item; in a column that was guessed, -1 means that there is none."""
    cells = [item.label for item in items]
    missing = options.missing_label
    guessed = missing is None and "label" not in options.columns
    if guessed and any(str(cell).strip() in _NO_LABEL for cell in cells):
        missing = _NO_LABEL[0]
        problems.append(Problem("note", options.pairs.name, "the label -1 is read as none; see --missing-label"))
    return read_labels(cells, options.pairs.name, separator=options.label_separator, missing=missing)


def _check_found(
    files: KindFiles, refused: Sequence[Problem], items: Sequence[Item], kind: MediaKind, root: Path
) -> None:
    """Refuse a source that holds none of the files of a kind, unless these are all on the web."""
    wanted = sum(kind.name in item.files for item in items)
    if not files.places and files.on_the_web < wanted:
        raise DataError(
            f"none of the {wanted} {kind.plural} is in {root}; the first, {refused[0]}. Put them there, or name their "
            "folder with `diptych ingest --images`."
        )


def _locate(items: Sequence[Item], kind: str, finder: FileFinder) -> tuple[KindFiles, list[Problem]]:
    """Locate every file of a kind once, however many items name it."""
    found: dict[str, Place] = {}
    name_of_item: list[str | None] = []
    problems: list[Problem] = []
    on_the_web = 0
    for item in items:
        name_of_item.append(None)
        if kind not in item.files:
            continue
        try:
            place = finder.find(item.files[kind], kind)
        except RefusedNameError as reason:
            on_the_web += isinstance(reason, OnTheWebError)
            problems.append(Problem("picture", item.files[kind], str(reason)))
            continue
        found[place.name] = place
        name_of_item[-1] = place.name
    places = finder.source.in_order(list(found.values()))
    number = {place.name: position for position, place in enumerate(places)}
    numbers = np.array([-1 if name is None else number[name] for name in name_of_item], dtype=np.int64)
    return KindFiles(places, numbers, on_the_web), problems


def assign_splits(
    items: Sequence[Item], labels: Sequence[Sequence[str]], shares: SplitShares | None, seed: int
) -> list[str]:
    """The split of each item: the given one, or one drawn with the same shares in every class.

    Items of one document stay together. Where splits are given, an item without one is a training item, and a word
    that means no split is an error; shares that a user states set the given splits aside.

    Args:
        items: the items.
        labels: the class names of each; the first decides where a drawn split is balanced.
        shares: of a drawn split; None to use the given splits where there are any.
        seed: of the draw.
    """
    if shares is None and any(item.split is not None for item in items):
        return [_given(item) for item in items]
    shares = shares or SplitShares()
    documents = {item.document: names[0] if names else None for item, names in zip(items, labels, strict=True)}
    drawn = stratified_split(list(documents.values()), seed, shares.val, shares.test)
    split_of = dict(zip(documents, drawn.tolist(), strict=True))
    return [split_of[item.document] for item in items]


def _given(item: Item) -> str:
    if item.split is None:
        return "train"
    split = split_named(item.split)
    if split is None:
        raise DataError(
            f"{item.where} has the split '{item.split}'; write train, val or test, name another column with "
            "--split-column (- for none), or draw splits with --split-shares."
        )
    return split
