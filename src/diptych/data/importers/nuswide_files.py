"""The files of the official NUS-WIDE release: find them, and read only the lines that are needed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diptych._core.arrays import Booleans, Integers
from diptych._core.errors import DataError

PARTS = ("Train", "Test")
_LABEL_FILE = re.compile(r"^Labels_(?P<concept>.+)_(?P<part>Train|Test)\.txt$", re.IGNORECASE)


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

    def picture_names(self, count: int) -> list[str] | None:
        """The names of the pictures, training first, when the image lists are there and fit."""
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
