"""Make NUS-WIDE-10k from the official NUS-WIDE files (Chua et al., 2009; the selection of Feng et al., 2014)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Integers
from diptych._core.errors import DataError
from diptych._core.seeding import generator
from diptych.data.dataset import Dataset
from diptych.data.importers.array_files import describe_files
from diptych.data.modality import ModalityRows
from diptych.data.splits import stratified_split
from diptych.data.writing import Draft, check_target, write_dataset

BLOCKS: Mapping[str, int] = {"CH": 64, "CORR": 144, "EDH": 73, "WT": 128, "CM55": 225, "BoW": 500}
"""The low-level features and their lengths: colour histogram, correlogram, edges, wavelets, moments, visual words."""
PARTS = ("Train", "Test")
_LABEL_FILE = re.compile(r"^Labels_(?P<concept>.+)_(?P<part>Train|Test)\.txt$", re.IGNORECASE)
CITATION = (
    "T.-S. Chua, J. Tang, R. Hong, H. Li, Z. Luo, Y. Zheng: NUS-WIDE: A Real-World Web Image Database from "
    "National University of Singapore. ACM CIVR, 2009."
)


@dataclass(frozen=True)
class _Truth:
    """Which items carry which concept: the training part's items first, then the test part's."""

    concepts: list[str]
    table: Booleans
    train_count: int


def import_nuswide10k(
    folder: str | Path,
    out: str | Path,
    *,
    seed: int = 0,
    overwrite: bool = False,
    concepts: int = 10,
    per_class: int = 1000,
    val_share: float = 0.1,
    test_share: float = 0.1,
    blocks: Mapping[str, int] = BLOCKS,
    tags: int = 1000,
) -> Dataset:
    """Make a dataset of the items that carry exactly one of the most frequent concepts, equally many of each.

    The ground truth is read first; of the large feature files only the chosen lines are parsed.

    Args:
        folder: where the official files are, at any depth: `Labels_<concept>_Train.txt`, `Train_Normalized_CH.dat`,
            `BoW_Train_int.dat`, `Train_Tags1k.dat`, and their test counterparts.
        out: the folder to make.
        seed: which items are drawn, and which split they go to.
        overwrite: replace a dataset that is already there.
        concepts: how many of the most frequent concepts become classes.
        per_class: how many items of each.
        val_share: the share of validation items in every class.
        test_share: the share of test items in every class.
        blocks: the image features to join, in order, with their lengths.
        tags: the number of tags.

    Raises:
        DataError: naming file, line and fix; nothing is left behind.
    """
    check_target(out, overwrite=overwrite)
    release = Release.open(Path(folder))
    label_files = release.label_files()
    block_files = {block: release.matrix_files(block) for block in blocks}
    tag_files = release.matrix_files("Tags1k")
    truth = _most_frequent(_read_truth(label_files), concepts)
    items, codes = _draw(truth, per_class, seed)
    labels = [truth.concepts[code] for code in codes]
    ids = [_item_id(item, truth.train_count) for item in items.tolist()]
    images = [_read_chosen(block_files[block], items, truth, width) for block, width in blocks.items()]
    texts = _read_chosen(tag_files, items, truth, tags)
    names = release.image_names(len(truth.table))
    pairs = [*(label_files[concept] for concept in truth.concepts), *block_files.values(), tag_files]
    draft = Draft(
        name="nuswide10k",
        ids=ids,
        splits=stratified_split(labels, seed, val_share, test_share).tolist(),
        labels=labels,
        classes=truth.concepts,
        modalities={
            "image": ModalityRows("dense", np.hstack(images), None, str(release.folder)),
            "text": ModalityRows("counts", sp.csr_array(texts), None, str(tag_files[0].parent)),
        },
        metadata={} if names is None else {"picture": [names[item] for item in items.tolist()]},
        source={
            "importer": "nuswide10k",
            "files": describe_files([path for pair in pairs for path in pair]),
            "selection": f"{per_class} items of each of the {concepts} most frequent concepts, of those that carry "
            f"exactly one of them, drawn with seed {seed}",
            "split": {"seed": seed, "val_share": val_share, "test_share": test_share},
            "blocks": dict(blocks),
            "citation": CITATION,
        },
        origin=str(release.folder),
    )
    return write_dataset(out, draft, overwrite=overwrite)


def _read_truth(files: Mapping[str, tuple[Path, Path]]) -> _Truth:
    columns: list[Booleans] = []
    counts: tuple[int, int] | None = None
    for train_file, test_file in files.values():
        train, test = read_truth(train_file), read_truth(test_file)
        counts = counts or (len(train), len(test))
        for path, found, expected in ((train_file, len(train), counts[0]), (test_file, len(test), counts[1])):
            if found != expected:
                raise DataError(f"{path} has {found} lines where other concepts have {expected}; download it again.")
        columns.append(np.concatenate([train, test]))
    return _Truth(list(files), np.column_stack(columns), counts[0] if counts else 0)


def _most_frequent(truth: _Truth, count: int) -> _Truth:
    """Keep the concepts with most items, the most frequent first, ties by name."""
    if count > len(truth.concepts):
        raise DataError(f"{count} concepts are asked for, but the ground truth has {len(truth.concepts)}.")
    frequency = truth.table.sum(axis=0)
    order = sorted(range(len(truth.concepts)), key=lambda code: (-int(frequency[code]), truth.concepts[code]))[:count]
    return _Truth([truth.concepts[code] for code in order], truth.table[:, order], truth.train_count)


def _draw(truth: _Truth, per_class: int, seed: int) -> tuple[Integers, Integers]:
    """Draw items with exactly one of the concepts: their positions in increasing order, and their classes."""
    single = truth.table.sum(axis=1) == 1
    drawn: list[Integers] = []
    for code, concept in enumerate(truth.concepts):
        members = np.flatnonzero(single & truth.table[:, code])
        if len(members) < per_class:
            raise DataError(
                f"the concept '{concept}' has {len(members)} items without another chosen concept, and {per_class} "
                "are asked for; ask for fewer per class."
            )
        drawn.append(generator(seed, "nuswide10k", concept).choice(members, per_class, replace=False))
    items = np.sort(np.concatenate(drawn))
    return items, np.argmax(truth.table[items], axis=1).astype(np.int64)


def _item_id(item: int, train_count: int) -> str:
    in_train = item < train_count
    return f"{PARTS[0 if in_train else 1].lower()}-{item if in_train else item - train_count:06d}"


def _read_chosen(files: tuple[Path, Path], items: Integers, truth: _Truth, width: int) -> np.ndarray:
    boundary = truth.train_count
    in_train, in_test = items[items < boundary], items[items >= boundary] - boundary
    return np.vstack(
        [
            read_lines(files[0], in_train, width, boundary),
            read_lines(files[1], in_test, width, len(truth.table) - boundary),
        ]
    )


@dataclass(frozen=True)
class Release:
    """A folder of the release.

    Attributes:
        folder: where to look, at any depth.
        files: every `.dat` and `.txt` file in it.
    """

    folder: Path
    files: tuple[Path, ...]

    @classmethod
    def open(cls, folder: Path) -> "Release":
        """List the folder's files."""
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder; give the folder with the NUS-WIDE files.")
        return cls(folder, tuple(sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".dat", ".txt"))))

    def matrix_files(self, word: str) -> tuple[Path, Path]:
        """The training and the test file of a block such as "CH" or of "Tags1k"."""
        train, test = (self._matrix_file(word, part) for part in PARTS)
        return train, test

    def _matrix_file(self, word: str, part: str) -> Path:
        found = [p for p in self.files if p.suffix.lower() == ".dat" and {word.lower(), part.lower()} <= _words(p)]
        if len(found) > 1:  # the features are published plain and normalised
            found = [path for path in found if "normalized" in _words(path)] or found
        if not found:
            raise DataError(
                f"{self.folder} has no {part.lower()} file for '{word}' (a name such as {part}_Normalized_{word}.dat); "
                "unpack the official features and tags there."
            )
        if len(found) > 1:
            raise DataError(f"{self.folder} has several {part.lower()} files for '{word}': {found[0]} and {found[1]}.")
        return found[0]

    def label_files(self) -> dict[str, tuple[Path, Path]]:
        """The training and the test file with the ground truth of each concept."""
        found: dict[str, dict[str, Path]] = {}
        for path in self.files:
            match = _LABEL_FILE.match(path.name)
            if match:
                found.setdefault(match["concept"], {})[match["part"].capitalize()] = path
        if not found:
            raise DataError(f"{self.folder} has no Labels_<concept>_Train.txt; unpack the official ground truth there.")
        for concept, parts in found.items():
            missing = [part for part in PARTS if part not in parts]
            if missing:
                raise DataError(f"{self.folder} lacks Labels_{concept}_{missing[0]}.txt; unpack it there.")
        return {concept: (parts["Train"], parts["Test"]) for concept, parts in sorted(found.items())}

    def image_names(self, count: int) -> list[str] | None:
        """The names of the images, training first, when the image lists are there and fit."""
        names: list[str] = []
        for part in PARTS:
            lists = [path for path in self.files if path.name.lower() == f"{part}imagelist.txt".lower()]
            if not lists:
                return None
            text = lists[0].read_text(encoding="utf-8", errors="replace")
            names += [line.strip().replace("\\", "/") for line in text.splitlines() if line.strip()]
        return names if len(names) == count else None


def _words(path: Path) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", path.stem.lower()))


def read_truth(path: Path) -> Booleans:
    """Read a column of zeros and ones."""
    cells = path.read_bytes().split()
    wrong = set(cells) - {b"0", b"1"}
    if wrong or not cells:
        found = repr(next(iter(wrong)).decode(errors="replace")) if wrong else "nothing"
        raise DataError(f"{path} holds {found}; the ground truth is one 0 or 1 a line: download it again.")
    return np.asarray(np.array(cells) == b"1", dtype=np.bool_)


def read_lines(path: Path, chosen: Integers, width: int, total: int) -> np.ndarray:
    """Read the chosen lines, in increasing order, of a file of `total` lines with `width` numbers each."""
    rows = np.empty((len(chosen), width), dtype=np.float32)
    wanted = iter(enumerate(chosen.tolist()))
    slot, line_wanted = next(wanted, (-1, -1))
    seen = 0
    for seen, line in enumerate(_filled_lines(path), start=1):
        if seen - 1 != line_wanted:
            continue
        rows[slot] = _numbers(line, path, seen, width)
        slot, line_wanted = next(wanted, (-1, -1))
    if seen != total:
        raise DataError(f"{path} has {seen} lines but the ground truth has {total}; download it again.")
    return rows


def _filled_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        yield from (line for line in handle if not line.isspace())


def _numbers(line: bytes, path: Path, number: int, width: int) -> Sequence[float]:
    cells = line.split()
    if len(cells) != width:
        raise DataError(f"{path}, line {number} has {len(cells)} numbers where {width} belong; download it again.")
    try:
        return [float(cell) for cell in cells]
    except ValueError as error:
        raise DataError(f"{path}, line {number} is damaged ({error}); download it again.") from None
