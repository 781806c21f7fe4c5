"""The labels that people give to items: a SQLite file beside the index, which no rebuild of the index touches."""

import csv
import io
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from diptych._core.errors import DataError
from diptych.index.items import LONGEST_NAME
from diptych.index.local.database import explained, open_database, transaction
from diptych.search.index_folder import LABELS_FILE, folder_beside

Answer = Literal["class", "none", "skip"]
Source = Literal["taught", "imported", "dataset"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
SOURCES: tuple[Source, ...] = get_args(Source)
LONGEST_LABEL = 200

_WAIT_S = 10.0
_SUBJECT = "the labels of the index"
_COLUMNS = "item TEXT PRIMARY KEY, answer TEXT NOT NULL, label TEXT, who TEXT NOT NULL, time TEXT NOT NULL, source TEXT"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS labels ({_COLUMNS}) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY AUTOINCREMENT, {_COLUMNS.replace(" PRIMARY KEY", " NOT NULL")}
);
"""
_DELETED = "deleted"
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
"""What the cells begin with that spreadsheets take for formulas."""


@dataclass(frozen=True)
class Label:
    """What was answered for one item.

    Attributes:
        item: the item (document), as hits name it.
        answer: a class, "none" of the known classes, or skipped.
        label: the class, where the answer is one.
        who: the name of the key, or of the user of the machine.
        time: when, in UTC.
        source: whether it was taught, imported from a file, or came with the dataset.
    """

    item: str
    answer: Answer
    label: str | None
    who: str
    time: str
    source: Source = "taught"

    @classmethod
    def now(cls, item: str, label: str | None, *, who: str, answer: Answer = "class") -> "Label":
        """An answer given at this moment, checked.

        Raises:
            DataError: for an empty or overlong class, or one beside an answer that has none.
        """
        return cls(item, answer, label, who, _now()).checked()

    def checked(self) -> "Label":
        """This label with blanks at the ends of its class removed.

        Raises:
            DataError: naming what is wrong.
        """
        if not self.item:
            raise DataError("a label names no item; give its id.")
        if len(self.item.encode(errors="replace")) > LONGEST_NAME:
            raise DataError(f"the item {self.item!r:.80} has a longer name than any; give its id.")
        if self.answer not in ANSWERS:
            raise DataError(f"the answer for item {self.item!r:.80} is {self.answer!r:.40}; use {', '.join(ANSWERS)}.")
        if self.source not in SOURCES:
            raise DataError(f"the source for item {self.item!r:.80} is {self.source!r:.40}; use {', '.join(SOURCES)}.")
        label = (self.label or "").strip()
        if (self.answer == "class") != bool(label):
            what = "has no class" if not label else f"is {self.answer!r} and has the class {label!r:.40}"
            raise DataError(f"the answer for item {self.item!r:.80} {what}; give a class, or the answer none or skip.")
        if len(self.who) > LONGEST_LABEL or not self.who.isprintable():
            raise DataError(
                f"the label of item {self.item!r:.80} is by {self.who!r:.60}; "
                f"use at most {LONGEST_LABEL} printable characters."
            )
        if len(label) > LONGEST_LABEL or not (label.isprintable() and self.item.isprintable()):
            raise DataError(
                f"the class of item {self.item!r:.80} is {label!r:.60}; "
                f"use at most {LONGEST_LABEL} printable characters."
            )
        return Label(self.item, self.answer, label or None, self.who, self.time, self.source)


class LabelStore:
    """The labels of one index; threads and processes may share it. Every change of it is whole or not made at all.

    Args:
        index: the folder of the index.
    """

    def __init__(self, index: str | Path) -> None:
        folder = folder_beside(Path(index))
        folder.mkdir(exist_ok=True)
        self._lock = threading.Lock()
        self._connection = open_database(folder / LABELS_FILE, wait_s=_WAIT_S, create=True, what=_SUBJECT)
        with self._using() as connection:
            connection.executescript(_TABLES)

    @property
    def version(self) -> int:
        """Grows with every change, by whichever process."""
        with self._using() as connection:
            return int(connection.execute("SELECT coalesce(max(number), 0) FROM history").fetchone()[0])

    def all(self) -> dict[str, Label]:
        """Every label by its item, in the order of the items."""
        with self._using() as connection:
            rows = connection.execute("SELECT * FROM labels ORDER BY item").fetchall()
        return {row[0]: Label(*row) for row in rows}

    def page(
        self, *, after: str = "", limit: int = 100, label: str | None = None, answer: Answer | None = None
    ) -> tuple[list[Label], int, bool]:
        """Labels in the order of their items, those of a class or an answer; how many fit; whether more follow."""
        fits = "(?1 IS NULL OR label = ?1) AND (?2 IS NULL OR answer = ?2)"
        with self._using() as connection:
            (total,) = connection.execute(f"SELECT count(*) FROM labels WHERE {fits}", (label, answer)).fetchone()
            rows = connection.execute(
                f"SELECT * FROM labels WHERE {fits} AND item > ?3 ORDER BY item LIMIT ?4",
                (label, answer, after, limit + 1),
            ).fetchall()
        return [Label(*row) for row in rows[:limit]], total, len(rows) > limit

    def get(self, items: Sequence[str]) -> list[Label | None]:
        """The labels of some items, None where there is none."""
        found: dict[str, Label] = {}
        with self._using() as connection:
            for item in items:
                row = connection.execute("SELECT * FROM labels WHERE item = ?", (item,)).fetchone()
                if row is not None:
                    found[item] = Label(*row)
        return [found.get(item) for item in items]

    def put(self, labels: Iterable[Label]) -> int:
        """Keep labels, all or none, in the place of earlier ones for the same items; returns how many."""
        rows = [astuple(label.checked()) for label in labels]
        with self._using() as connection, transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._remember(connection, rows)
        return len(rows)

    def remove(self, items: Sequence[str], who: str) -> int:
        """Forget the labels of some items; returns how many had one."""
        with self._using() as connection, transaction(connection):
            listed = [row[0] for row in map(lambda item: _present(connection, item), items) if row is not None]
            connection.executemany("DELETE FROM labels WHERE item = ?", [(item,) for item in listed])
            self._remember(connection, [(item, _DELETED, None, who, _now(), None) for item in listed])
        return len(listed)

    def close(self) -> None:
        """Give back the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> "LabelStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _remember(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
        """List what was answered, so that an answer that is changed later can still be read."""
        asked = "INSERT INTO history (item, answer, label, who, time, source) VALUES (?, ?, ?, ?, ?, ?)"
        connection.executemany(asked, rows)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._connection
        except sqlite3.Error as error:
            raise explained(error, _SUBJECT, _WAIT_S) from None


CSV_COLUMNS = tuple(field.name for field in fields(Label))


def write_csv(labels: Iterable[Label]) -> str:
    """The labels as a table with a heading."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows([_escaped(value or "") for value in astuple(label)] for label in labels)
    return file.getvalue()


def _escaped(cell: str) -> str:
    """A cell that a spreadsheet shows and does not compute; `read_csv` takes the apostrophe away.

    >>> _escaped("=1+1"), _escaped("plane")
    ("'=1+1", 'plane')
    """
    return f"'{cell}" if cell.lstrip("'").startswith(_COMPUTED) else cell


def _unescaped(cell: str | None) -> str:
    escaped = cell is not None and cell.startswith("'") and cell.lstrip("'").startswith(_COMPUTED)
    return cell[1:] if cell and escaped else cell or ""


@dataclass(frozen=True)
class CsvProblem:
    """A line of a table that is not a label.

    Attributes:
        line: its number, the heading being line 1.
        message: what is wrong with it.
    """

    line: int
    message: str


def read_csv(text: str, who: str) -> tuple[list[Label], list[CsvProblem]]:
    """Read a table as `write_csv` makes it; only the columns `item` and `label` are needed.

    Args:
        text: the table.
        who: to whom labels are credited that do not say so themselves.

    Raises:
        DataError: when there is no column of items.
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        if "item" not in (rows.fieldnames or ()):
            found = ", ".join(rows.fieldnames or ())[:100] or "nothing"
            raise DataError(f"the table has the columns {found}; it needs 'item' and 'label'.")
        labels, problems = dict[str, Label](), list[CsvProblem]()
        for row in rows:
            try:
                label = _of_row(row, who)
                labels[label.item] = label
            except DataError as error:
                problems.append(CsvProblem(rows.line_num, str(error)))
    except csv.Error as error:
        raise DataError(f"the table cannot be read ({error}); write it as CSV.") from None
    return list(labels.values()), problems


def _of_row(row: dict[str, str | None], who: str) -> Label:
    label = _unescaped(row.get("label")).strip() or None
    answer = (row.get("answer") or "").strip() or ("class" if label else "skip")
    time = (row.get("time") or "").strip()
    try:
        time = _shown(datetime.fromisoformat(time)) if time else _now()
    except (ValueError, OverflowError):  # the second of a year that only its own time zone knows
        raise DataError(f"the time {time!r:.40} is none; write it as 2026-01-31T12:00:00Z.") from None
    item, by = _unescaped(row.get("item")), _unescaped(row.get("who")) or who
    found = Label(item, answer, label, by, time, "imported")  # type: ignore[arg-type]
    return found.checked()


def _present(connection: sqlite3.Connection, item: str) -> tuple[str] | None:
    row: tuple[str] | None = connection.execute("SELECT item FROM labels WHERE item = ?", (item,)).fetchone()
    return row


def _now() -> str:
    return _shown(datetime.now(UTC))


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
