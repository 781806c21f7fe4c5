"""The folders and archives in which the pictures of an index lie."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych.media import MediaSource, reopen_source
from diptych.search.decoding import LARGEST_FILE
from diptych.search.media_store import content_hash


class Originals:
    """Reads pictures where they were when the index was built; nothing is opened before it is asked for."""

    def __init__(self, folder: Path, sources: Sequence[Mapping[str, Any]]) -> None:
        self._folder = folder
        self._sources = sources
        self._opened: dict[int, MediaSource] = {}
        self._lock = threading.Lock()

    def read(self, source: int, name: str, hash: str) -> bytes | None:
        """A picture's bytes; None if it is gone, or no longer the one that was indexed."""
        try:
            with self._lock:
                opened = self._open(source)
                place = opened.locate(name)
                data = opened.read(place) if place.size <= LARGEST_FILE else b""
        except (DataError, OSError, IndexError, KeyError):
            return None
        return data if content_hash(data) == hash else None

    def close(self) -> None:
        """Give back archives."""
        with self._lock:
            for source in self._opened.values():
                source.close()
            self._opened.clear()

    def _open(self, number: int) -> MediaSource:
        if number not in self._opened:
            source = self._sources[number]
            path = (self._folder / source["path"]).resolve()
            if not path.exists():
                raise DataError("the pictures are gone.")
            self._opened[number] = reopen_source(path, source["kind"])
        return self._opened[number]
