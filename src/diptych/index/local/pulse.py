"""Notice changes without asking SQLite: a number in shared memory that every writer sets after its change.

A change is acknowledged only after the number is set, so a search that finds the number it knows has missed nothing
that was acknowledged. A writer killed in between leaves it unset; therefore SQLite itself is asked now and then.
"""

import mmap
import time
from pathlib import Path

FILE = "pulse.u64"
_ASK_EVERY_S = 0.05


class Pulse:
    """The number of the last change, as writers of all processes tell it."""

    def __init__(self, folder: Path) -> None:
        self._number = _mapped(folder / FILE)
        self._known = -1
        self._ask_at = 0.0

    def is_known(self) -> bool:
        """Whether nothing was acknowledged since `know`, and SQLite was asked recently."""
        return self._number is not None and self._number[0] == self._known and time.monotonic() < self._ask_at

    def look(self) -> int:
        """The number now."""
        return -1 if self._number is None else self._number[0]

    def know(self, number: int) -> None:
        """Remember a number that was looked at before the state of SQLite was read."""
        self._known, self._ask_at = number, time.monotonic() + _ASK_EVERY_S

    def forget(self) -> None:
        """Know nothing, so that the next one to ask goes to SQLite."""
        self._known = -1

    def tell(self, number: int) -> None:
        """Set the number, as a writer."""
        if self._number is not None:
            self._number[0] = number


def _mapped(path: Path) -> "memoryview[int] | None":
    """Eight bytes shared by all who map the file; None where it cannot be written."""
    try:
        with path.open("ab") as file:
            if file.tell() < 8:
                file.truncate(8)
        with path.open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
    except OSError:
        return None
