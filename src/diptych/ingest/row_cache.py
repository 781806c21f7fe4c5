"""A cache of rows that were extracted before, found by the content of their items: only new items cost time.

Rows lie in one SQLite file for each fitted feature extractor, below `$DIPTYCH_CACHE/rows`. A file's name is a hash of
the extractor with all it learned, of its code and of the libraries it uses, and a row's key is a hash of the item's
bytes: a row that is found is the row that would be computed, to the bit.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Singles
from diptych._core.code_version import code_version
from diptych._core.files import default_cache_root
from diptych._core.state import hash_state, pack, to_weights, versions
from diptych.data.dataset_files import hash_records
from diptych.data.modality import Kind
from diptych.features import Block, Extractor, FittedModality
from diptych.features.contract import ComposedExtractor, width
from diptych.media import media_kind

LIMIT_VARIABLE = "DIPTYCH_ROW_CACHE_GB"
_DEFAULT_GB = 4.0
_LIBRARIES = (
    *("pillow", "opencv-python-headless", "PyWavelets", "resvg-py", "soundfile", "onnxruntime", "torch"),
    "tokenizers",
)
_WAIT_S = 20.0


def cache_limit() -> int:
    """How many bytes the cache may take: 4 GB, or as the environment says; 0 keeps nothing."""
    try:
        gigabytes = float(os.environ.get(LIMIT_VARIABLE, _DEFAULT_GB))
    except ValueError:
        gigabytes = _DEFAULT_GB
    return max(0, int(gigabytes * 1e9))


def rows_folder() -> Path | None:
    """Where rows are kept; None where nothing is to be kept."""
    return default_cache_root() / "rows" if cache_limit() else None


def content_key(content: bytes, *circumstances: object) -> bytes:
    """The key of an item: a hash of its bytes and of whatever else decides what becomes of them."""
    digest = hashlib.blake2b(content, digest_size=16)
    digest.update(repr(circumstances).encode())
    return digest.digest()


def feature_fingerprint(extractor: Extractor[Any], *modules: str) -> str:
    """One hash of all that decides a fitted feature's rows: what it learned, its code, and the libraries it uses.

    Args:
        extractor: the fitted feature.
        modules: other modules that its rows depend on, such as the one that decodes images.
    """
    state, arrays = pack(extractor)
    code = [code_version(module) for module in (type(extractor).__module__, *modules)]
    return hash_records([hash_state(state, to_weights(arrays)), code, versions(), library_versions()])


def library_versions() -> list[str]:
    """The versions of the libraries that rows may depend on."""
    found = []
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found


class RowCache:
    """The rows of one fitted feature; several processes may read and write it at a time.

    What cannot be read or written is as good as absent: a cache never fails the work it saves.

    Args:
        folder: of all row caches; None keeps and finds nothing.
        fingerprint: of the feature.
        length: of a row.
    """

    def __init__(self, folder: Path | None, fingerprint: str, length: int) -> None:
        self._length = length
        self._held: dict[bytes, Singles] = {}
        self._connection: sqlite3.Connection | None = None
        if folder is None:
            return
        with contextlib.suppress(OSError, sqlite3.Error):
            folder.mkdir(parents=True, exist_ok=True)
            self._path = folder / f"{fingerprint}.sqlite"
            connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
            connection.execute("pragma page_size = 16384")  # so that rows of 5 kB do not waste half a page
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            connection.execute("create table if not exists rows (key blob unique, row blob)")
            os.utime(self._path)
            self._connection = connection

    def has(self, key: bytes) -> bool:
        """Whether the row of an item is known; it is then held until it is asked for."""
        if key not in self._held and self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                found = self._connection.execute("select row from rows where key = ?", (key,)).fetchone()
                if found is not None and len(found[0]) == 4 * self._length:
                    self._held[key] = np.frombuffer(found[0], dtype="<f4")
        return key in self._held

    def take(self, key: bytes) -> Singles:
        """The row of an item that `has` found; others may ask for it again."""
        return self._held[key]

    def put(self, keys: Sequence[bytes], rows: Singles) -> None:
        """Keep rows that were computed; those with values that are not finite are not worth keeping."""
        if self._connection is None or not keys or not self._has_room():
            return
        finite = [bool(np.isfinite(row).all()) for row in rows]
        stored = [(key, row.astype("<f4").tobytes()) for key, row in zip(keys, rows, strict=True)]
        worth = [one for one, good in zip(stored, finite, strict=True) if good]
        try:
            self._connection.execute("begin immediate")
            self._connection.executemany("insert or ignore into rows values (?, ?)", worth)
            self._connection.execute("commit")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("rollback")

    def forget_held(self) -> None:
        """Let go of the rows in memory."""
        self._held.clear()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _has_room(self) -> bool:
        try:
            return self._path.stat().st_size < cache_limit()
        except OSError:
            return False


def cache_of(extractor: Extractor[Any], folder: Path | None, *modules: str) -> RowCache:
    """The cache of a fitted feature's rows."""
    return RowCache(folder, feature_fingerprint(extractor, *modules), width(extractor.blocks))


def trim(folder: Path | None) -> None:
    """Delete the files that were used longest ago until the rest fits the limit."""
    if folder is None or not folder.is_dir():
        return
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.sqlite"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in files:
            total += sum(each.stat().st_size for each in _with_logs(path))
            if total > cache_limit():
                for each in _with_logs(path):
                    each.unlink(missing_ok=True)


def _with_logs(path: Path) -> Iterator[Path]:
    """A database's file and those that SQLite writes beside it."""
    return (each for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")) if each.exists())


@dataclass(frozen=True)
class Keyed:
    """An item with its key.

    Attributes:
        key: a hash of its content.
        value: the item, decoded; None where every row of it is known.
    """

    key: bytes
    value: Any

    @property
    def nbytes(self) -> int:
        """The size of the item in memory."""
        return int(getattr(self.value, "nbytes", 0))


@dataclass(frozen=True)
class _FromCache:
    """A fitted feature extractor that reads keyed items and takes known rows from its cache."""

    inner: Extractor[Any]
    cache: RowCache

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.inner.blocks

    def __call__(self, items: Sequence[Keyed]) -> Features:
        missing = {item.key: item.value for item in items if not self.cache.has(item.key)}
        new: dict[bytes, Singles] = {}
        if missing:  # else the network, which takes seconds to load, need not be
            made = np.asarray(self.inner(list(missing.values())), dtype=np.float32)
            self.cache.put(list(missing), made)
            new = dict(zip(missing, made, strict=True))
        rows = [new[item.key] if item.key in new else self.cache.take(item.key) for item in items]
        self.cache.forget_held()
        return np.stack(rows) if rows else np.empty((0, width(self.blocks)), dtype=np.float32)


@dataclass(frozen=True)
class _Computed:
    """A fitted feature extractor that reads keyed items and computes every row."""

    inner: Extractor[Any]

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.inner.blocks

    def __call__(self, items: Sequence[Keyed]) -> Features:
        return self.inner([item.value for item in items])


class CachedExtractor:
    """One modality's fitted feature extractor whose parts take known rows from the cache.

    The rows of every part that describes files are kept; of those that describe texts only encoders' are, since
    counting words costs less than looking them up, and what a vocabulary learned changes with every new text.

    Attributes:
        extractor: reads `Keyed` items.
    """

    def __init__(self, part: FittedModality, folder: Path | None) -> None:
        self._caches: list[RowCache] = []
        self._computes = False
        self.extractor = self._wrapped(part.extractor, part.media_type, folder)

    @property
    def keeps(self) -> bool:
        """Whether some part's rows are kept."""
        return bool(self._caches)

    def knows(self, key: bytes) -> bool:
        """Whether no part needs the item itself."""
        return not self._computes and all(cache.has(key) for cache in self._caches)

    def keyed(self, key: bytes, read: Callable[[], Any]) -> Keyed:
        """An item by its key, read only if its rows are not known."""
        return Keyed(key, None if self.knows(key) else read())

    def close(self) -> None:
        """Close the caches."""
        for cache in self._caches:
            cache.close()

    def _wrapped(self, extractor: Extractor[Any], media_type: str, folder: Path | None) -> Extractor[Any]:
        if isinstance(extractor, ComposedExtractor):
            return replace(extractor, parts=tuple(self._wrapped(part, media_type, folder) for part in extractor.parts))
        if extractor.kind != "dense" or (media_type == "text" and not getattr(extractor, "encodes", False)):
            self._computes = True
            return _Computed(extractor)
        modules = () if media_type == "text" else (media_kind(media_type).reader,)
        self._caches.append(cache_of(extractor, folder, *modules))
        return _FromCache(extractor, self._caches[-1])
