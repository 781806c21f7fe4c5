"""A folder or an archive of media without a table: texts beside files, and what files and folders are called."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from diptych._core.errors import DataError
from diptych.data.splits import split_named
from diptych.data.tables import Problem
from diptych.ingest.columns import ColumnUse, kept_name, typed_columns
from diptych.ingest.file_finder import file_of_text, is_document_name, is_text_name, read_sidecar
from diptych.ingest.items import GatheredItems, Item
from diptych.ingest.names import texts_of_names, words_of_name
from diptych.media import KINDS, START_BYTES, MediaSource, RefusedNameError, kind_of_content, kind_of_name, media_kind

_DATE = re.compile(r"(?:19|20)\d\d(?:[-_. ]?\d\d){0,2}|\d{3}[A-Za-z]{5}|DCIM", re.IGNORECASE)
_LEAST_TEXTS = 2


@dataclass
class FileTree:
    """The items of a tree of files.

    Attributes:
        gathered: its items.
        uses: what names and folders were read as, and why.
        folders: for each item the folders it lies in that are neither a split nor a class.
        stems: the item of each name without its ending.
    """

    gathered: GatheredItems = field(default_factory=GatheredItems)
    uses: list[ColumnUse] = field(default_factory=list)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stems: dict[str, str] = field(default_factory=dict)

    @property
    def plural(self) -> str:
        """What its items are called, by the first kind of media among them."""
        there = {kind for item in self.gathered.items.values() for kind in item.files}
        return next((kind.plural for kind in KINDS.values() if kind.name in there), "files")


def read_file_tree(
    source: MediaSource,
    encoding: str | None = None,
    kinds: Sequence[str] = tuple(KINDS),
    *,
    with_texts: bool = True,
    with_labels: bool = True,
) -> FileTree:
    """Make an item of each image or sound, with the text beside it or else the words of its file's name.

    Files of several kinds that have one name but for its ending, such as `dog.png` and `dog.wav`, are one item.
    Folders named like splits are the splits. Folders at the top that hold several files each are the classes; other
    folders' names join the texts of files without a text beside them.

    Args:
        source: the folder or the archive.
        encoding: of the texts, where it is not UTF-8.
        kinds: of media that are read; files of others are passed over.
        with_texts: whether texts are read at all.
        with_labels: whether folders may be classes.

    Raises:
        DataError: when there is neither a media file nor several texts.
    """
    names = source.names()
    tree = FileTree()
    for name, kind in _by_kind(tree, source, names, kinds):
        beside = PurePosixPath(name).with_suffix("").as_posix()
        known = tree.gathered.items.get(tree.stems.setdefault(beside, name))
        if known is None or kind in known.files:
            tree.gathered.items[name] = Item(name, name, name, {kind: name})
        else:
            tree.gathered.items[known.id] = replace(known, files={**known.files, kind: name})
    if with_texts:
        _add_texts(tree, source, [name for name in names if is_text_name(name)], encoding)
    if not tree.gathered.items:
        raise DataError(
            f"{source.path} holds no image or sound that can be used; {_what_there_is(names)}give a folder or an "
            "archive with images or sounds, or a table of them."
        )
    _add_labels(tree, with_labels=with_labels)
    if with_texts:
        _add_names(tree)
    _type_metadata(tree, source.path.name)
    return tree


def _by_kind(tree: FileTree, source: MediaSource, names: Sequence[str], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Media files with their kinds, kind after kind; the reason why any other file is passed over is noted."""
    found: list[tuple[str, str]] = []
    for name in names:
        kind = kind_of_name(name)
        if kind is None and not is_text_name(name):
            problem = next((why for each in KINDS.values() if (why := each.name_problem(name)) is not None), None)
            kind = None if problem is not None else _kind_inside(source, name)
            if kind is None:
                reason = problem or "is neither an image nor a sound nor a text"
                tree.gathered.problems.append(Problem("row", name, reason))
        if kind in kinds and kind is not None:
            found.append((name, kind))
    return sorted(found, key=lambda each: kinds.index(each[1]))


def _kind_inside(source: MediaSource, name: str) -> str | None:
    """The kind of a file whose name does not tell, by its first bytes."""
    try:
        start = source.peek(source.locate(name), START_BYTES) or b""
    except (OSError, RefusedNameError):
        return None
    kind = kind_of_content(start)
    return kind if kind is not None and media_kind(kind).content_problem(start) is None else None


def _what_there_is(names: Sequence[str]) -> str:
    if not names:
        return "it is empty; "
    endings = Counter(PurePosixPath(name.lower()).suffix or "no ending" for name in names)
    listed = ", ".join(f"{count:,} with {ending}" for ending, count in endings.most_common(4))
    return f"it holds {len(names):,} file{'s' if len(names) > 1 else ''} ({listed}); "


def _add_texts(tree: FileTree, source: MediaSource, texts: Sequence[str], encoding: str | None) -> None:
    """Join texts to their files; texts of their own are items where texts beside files are usual, or all there is."""
    items, problems = tree.gathered.items, tree.gathered.problems
    beside = tree.stems | {file: item.id for item in items.values() for file in item.files.values()}
    paired = [name for name in texts if file_of_text(name, beside) is not None]
    alone = [name for name in texts if file_of_text(name, beside) is None]
    single = [name for name in alone if not is_document_name(name) and not name.lower().endswith(".json")]
    are_items = bool(paired) if beside else len(single) >= _LEAST_TEXTS
    for name in alone:
        if name not in single or not are_items:
            problems.append(Problem("row", name, "is a text that belongs to no file"))
    example = ""
    for name in sorted([*paired, *(single if are_items else [])]):
        try:
            read = read_sidecar(source, name, encoding)
        except RefusedNameError as reason:
            problems.append(Problem("row", name, str(reason)))
            continue
        known = items.get(file_of_text(name, beside) or "")
        item = Item(name, name, name) if known is None else known
        merged = (*item.texts, *(text for text in read.texts if text not in item.texts))
        label = read.label if item.label is None else item.label
        items[item.id] = replace(item, texts=merged, label=label, metadata={**item.metadata, **read.metadata})
        example = example or " ".join(merged)[:60]
    if example:
        beside_what = f"{len(paired):,} lie beside {tree.plural} of their names" if paired else "there is nothing else"
        tree.uses.append(ColumnUse("text files", "text", beside_what, example))


def _folders(name: str) -> tuple[str, ...]:
    return PurePosixPath(name).parts[:-1]


def _add_labels(tree: FileTree, *, with_labels: bool) -> None:
    """Read splits and classes from the folders; what is left of a path stays for the text."""
    items = tree.gathered.items
    shared = _shared([_folders(name) for name, item in items.items() if item.files] or list(map(_folders, items)))
    tree.folders = {name: _folders(name)[len(shared) :] for name in items}
    tops = {folders[0] for folders in tree.folders.values() if folders}
    if tops and all(map(split_named, tops)) and all(tree.folders.values()):
        for name, folders in tree.folders.items():
            items[name] = replace(items[name], split=folders[0])
            tree.folders[name] = folders[1:]
        tree.uses.append(ColumnUse("folders", "split", "all are named like splits", ", ".join(sorted(tops))))
    if not with_labels or any(item.label is not None for item in items.values()):
        return
    sizes = Counter(folders[0] for folders in tree.folders.values() if folders)
    if _are_classes(sizes):
        for name, folders in tree.folders.items():
            if folders:
                items[name] = replace(items[name], label=folders[0])
                tree.folders[name] = folders[1:]
        reason = f"{len(sizes):,} folders with several {tree.plural} each"
        tree.uses.append(ColumnUse("folders", "label", reason, ", ".join(sorted(sizes)[:3])))
    elif shared and not sizes:
        reason = f"all {tree.plural} lie in this one folder, so there are no classes"
        tree.gathered.problems.append(Problem("note", "/".join(shared), reason))


def _shared(folders: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The folders that all files lie in, which tell none of them from another."""
    shared = list(folders[0]) if folders else []
    for each in folders:
        while tuple(shared) != each[: len(shared)]:
            shared.pop()
    return tuple(shared)


def _are_classes(sizes: Counter[str]) -> bool:
    """Whether folders look like classes: several, nearly all with several files, and not named by dates."""
    several = sum(count for count in sizes.values() if count > 1)
    dates = sum(_DATE.fullmatch(name) is not None for name in sizes)
    return len(sizes) > 1 and several * 5 >= sizes.total() * 4 and dates * 2 < len(sizes)


def _add_names(tree: FileTree) -> None:
    """Give items without a text the words of their names; the names of classes where no item would have a text."""
    items = tree.gathered.items
    silent = [name for name, item in items.items() if not item.texts]
    texts = texts_of_names(silent, [tree.folders[name] for name in silent])
    named = {name: text for name, text in zip(silent, texts, strict=True) if text is not None}
    source, reason = "file names", f"{len(named):,} {tree.plural} have no text of their own"
    if not named and len(silent) == len(items):
        named = {name: words for name, item in items.items() if (words := " ".join(_class_words(item)))}
        source, reason = "folders", "no item has a text, so the names of the classes stand for it"
    for name, text in named.items():
        items[name] = replace(items[name], texts=(text,))
    if named:
        tree.uses.append(ColumnUse(source, "text", reason, next(iter(named.values()))))
    elif silent:
        reason = f"of {len(silent):,} {tree.plural} say nothing, so these have no text"
        tree.uses.append(ColumnUse("file names", "left out", reason, PurePosixPath(silent[0]).name))


def _class_words(item: Item) -> list[str]:
    return words_of_name(item.label) if isinstance(item.label, str) else []


def _type_metadata(tree: FileTree, origin: str) -> None:
    """Convert the metadata of files beside media to one type per column, under names that are not taken."""
    items = tree.gathered.items
    keys = dict.fromkeys(key for item in items.values() for key in item.metadata)
    kept: dict[str, str] = {}
    for key in keys:
        kept[key] = kept_name(key, [*kept.values(), *(other for other in keys if other != key)])
    rows = [{kept[key]: value for key, value in item.metadata.items()} for item in items.values()]
    typed, problems = typed_columns(rows, origin)
    tree.gathered.problems += problems
    for item, metadata in zip(list(items.values()), typed, strict=True):
        items[item.id] = replace(item, metadata=metadata)
