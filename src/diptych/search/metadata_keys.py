"""The keys that the metadata of an index's entries have, to tell a misspelled condition from one that nothing meets."""

import threading
from collections.abc import Iterable
from pathlib import Path

from diptych._core.errors import ConfigError, DiptychError
from diptych._core.files import read_json, write_json
from diptych.index import Condition, Index, parse
from diptych.index.filters import And, Comparison, In, Key, Like, Missing, Not, Or
from diptych.index.filters.syntax import COLUMNS

FILE = "keys.json"
_SOME = 200


class MetadataKeys:
    """What entries can be conditioned on; threads may share it.

    Keys are known from the dataset, from items that were added, and, where both say nothing of a key, from looking
    whether any entry has it.
    """

    def __init__(self, folder: Path, index: Index, built: Iterable[str]) -> None:
        self._file = folder / FILE
        self._index = index
        self._lock = threading.Lock()
        added = read_json(self._file) if self._file.exists() else []
        self._known = {*COLUMNS, *built, *added}

    def problem(self, where: str | None) -> DiptychError | None:
        """What is wrong with a condition: that it cannot be read, or asks for a key that no entry has."""
        if where is None:
            return None
        try:
            condition = parse(where)
        except DiptychError as error:
            return error
        unknown = [name for name in sorted(_names(condition)) if name not in self._known and not self._is_there(name)]
        if not unknown:
            return None
        return ConfigError(
            f"no item has the key {unknown[0]!r}; conditions can be on {', '.join(sorted(self._listed()))}."
        )

    def note(self, names: Iterable[str]) -> None:
        """Keep the keys of items that were added."""
        fresh = set(names) - self._known
        if not fresh:
            return
        with self._lock:
            self._known |= fresh
            before = read_json(self._file) if self._file.exists() else []
            write_json(self._file, sorted({*before, *fresh}))

    def _is_there(self, name: str) -> bool:
        found = bool(self._index.list_ids(where=Not(Missing(Key((name,)))), limit=1))
        if found:
            with self._lock:
                self._known.add(name)
        return found

    def _listed(self) -> set[str]:
        """The keys to name in a message; of an index that was built before keys were kept, those of its first items."""
        known = set(self._known)
        if known == set(COLUMNS):
            some = self._index.get(self._index.list_ids(limit=_SOME))
            known |= {key for item in some if item is not None for key in item.metadata}
        return known - {"media"}


def _names(condition: Condition) -> set[str]:
    """The first names of all keys in a condition."""
    match condition:
        case And(parts) | Or(parts):
            return {name for part in parts for name in _names(part)}
        case Not(part):
            return _names(part)
        case Comparison(key, _, _) | In(key, _) | Like(key, _) | Missing(key):
            return {key.path[0]}
    return set()
