"""A folder with a folder for each class: the plainest way to hand over labelled pictures."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from diptych.errors import DataError
from diptych.ingest.items import Gathering, Item
from diptych.ingest.report import Problem
from diptych.ingest.splitting import split_named
from diptych.ingest.text_lines import read_lines

PICTURES = (
    *(".jpg", ".jpeg", ".jpe", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"),
    *(".jp2", ".avif", ".ico", ".tga", ".pgm", ".ppm", ".pnm"),
)
TEXTS = (".txt",)


def read_class_tree(root: Path, encoding: str | None = None) -> Gathering:
    """Make an item of each picture and each text file below a class's folder; `x.jpg` and `x.txt` are one item.

    The folders at the top are the classes, or, if all of them are named like splits, the splits with classes below.
    Links to folders are not followed.
    """
    tops = sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not tops:
        raise DataError(f"{root} holds no folder; a tree of classes has one for each.")
    by_split = all(split_named(name) is not None for name in tops)
    walk = _Walk(root, encoding)
    for path in _files(root):
        parts = path.relative_to(root).parts
        inner = parts[1:] if by_split else parts
        split = parts[0] if by_split else None
        if len(inner) < 2:
            walk.leave_out(path, "lies outside the classes' folders")
        elif path.suffix.lower() in PICTURES:
            walk.add_picture(path, inner[0], split)
        elif path.suffix.lower() in TEXTS:
            walk.add_text(path, inner[0], split)
        else:
            walk.leave_out(path, "is neither a picture nor a text")
    return walk.gathered


def _files(root: Path) -> list[Path]:
    """All files in an order that does not depend on the machine, pictures before texts of the same name."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder) / name for name in names if not name.startswith(".")]
    return sorted(found, key=lambda path: (path.parent.as_posix(), path.stem, path.suffix.lower() in TEXTS, path.name))


@dataclass
class _Walk:
    """What was met so far."""

    root: Path
    encoding: str | None
    gathered: Gathering = field(default_factory=Gathering)
    id_of_stem: dict[str, str] = field(default_factory=dict)

    def leave_out(self, path: Path, reason: str) -> None:
        self.gathered.problems.append(Problem("row", self._name(path), reason))

    def add_picture(self, path: Path, label: str, split: str | None) -> None:
        name = self._name(path)
        self.gathered.items[name] = Item(name, name, name, picture=name, label=label, split=split)
        self.id_of_stem[self._stem(path)] = name

    def add_text(self, path: Path, label: str, split: str | None) -> None:
        name = self._name(path)
        if not path.resolve().is_relative_to(self.root.resolve()):
            self.leave_out(path, "is a link that leads out of the folder")
            return
        try:
            read = read_lines(path, self.encoding)
        except OSError as error:
            self.leave_out(path, f"cannot be read ({error.strerror})")
            return
        self.gathered.problems += read.problems
        text = "".join(read.lines).strip()
        if not text:
            self.leave_out(path, "is empty")
            return
        known = self.gathered.items.get(self.id_of_stem.get(self._stem(path), ""))
        item = Item(name, name, name, label=label, split=split) if known is None else known
        self.gathered.items[item.id] = replace(item, texts=(text,))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _stem(self, path: Path) -> str:
        return path.relative_to(self.root).with_suffix("").as_posix()
