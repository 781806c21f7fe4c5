"""Ask an index: by words, by a picture, by an item it holds, or by any mixture of these."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from diptych.errors import ConfigError, DiptychError
from diptych.index import Item, Maker
from diptych.methods import load_model, model_fingerprint
from diptych.methods.purposes import Purpose
from diptych.search.answering import Answerer, public
from diptych.search.building import CALIBRATION_FILE, MEDIA_FOLDER, MODEL_FOLDER
from diptych.search.calibration import Calibration, read_calibration
from diptych.search.changing import Changer
from diptych.search.description import Description
from diptych.search.keeper import Keeper
from diptych.search.media_store import MediaStore, StoredPicture
from diptych.search.originals import Originals
from diptych.search.projection import read_projection
from diptych.search.queries import Answer, Hit, NewItem, Query, QueryPart
from diptych.search.raw_parts import RawParts
from diptych.search.spaces import IndexSpaces
from diptych.search.thumbnails import media_type

_List = list
"""`Searcher.list` hides the name inside the class."""


class Searcher:
    """An index that is open; threads may share it. Open one with `Searcher.open(folder)`.

    No error of its methods says where files lie, so that strangers may read them.
    """

    def __init__(self, folder: Path, *, writable: bool = False, url: str | None = None) -> None:
        self._folder = folder
        self._description = Description.read(folder)
        self._model = load_model(folder / MODEL_FOLDER)
        fingerprint = model_fingerprint(folder / MODEL_FOLDER)
        self._maker = Maker(fingerprint, self._model.record_.get("pipeline") or "")
        self._calibration = read_calibration(folder / CALIBRATION_FILE)
        self._spaces = IndexSpaces.from_json(self._description.spaces)
        self._raw = RawParts(self._model, folder, self._spaces.embedded_for)
        self._writable = writable
        known = self._description
        keeper = Keeper.found(known.engine, url, known.place, known.url)
        self._store = MediaStore(folder / MEDIA_FOLDER, writable=writable)
        try:
            self._index = keeper.open(folder, self._maker, writable=writable)
        except BaseException:
            self._store.close()
            raise
        self._originals = Originals(folder, self._description.sources)
        self._answerer = Answerer(
            self._index, self._raw, self._calibration, self._model.modalities, self._maker, self._spaces
        )

    @classmethod
    def open(cls, place: str | Path, *, writable: bool = False, url: str | None = None) -> "Searcher":
        """Open the folder that `diptych index` made.

        Args:
            place: the folder.
            writable: whether items may be added and removed.
            url: the address of the engine's server, if it has one; else that in the environment variable
                DIPTYCH_ENGINE_URL, or the one it was built with, without its password.

        Raises:
            DataError: when it is none, or the model in it is not the one that made its vectors.
        """
        return cls(Path(place), writable=writable, url=url)

    @property
    def modalities(self) -> tuple[str, ...]:
        """What can be searched."""
        return self._model.modalities

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """What a query may look for; empty where the index has a single space."""
        return self._spaces.purposes

    @property
    def calibration(self) -> Calibration:
        """How cosines become probabilities, and how well they do on test items."""
        return self._calibration

    def warm(self) -> None:
        """Make ready for words and pictures now rather than at the first query."""
        self._raw.warm()

    def search(
        self,
        parts: Sequence[QueryPart],
        *,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
    ) -> Answer:
        """Find what belongs to a query: the weighted sum of its parts' directions.

        Args:
            parts: what to look for; items of the index named here are left out of the answer.
            into: the modality to search; None for all.
            k: how many results.
            offset: leave out so many of the best.
            where: only items that meet this condition, such as "split = 'train' and label in ('river', 'pond')".
            min_probability: only items that belong with at least this probability; there may be none.
            purpose: what to look for, where the index has several spaces: things of this kind ("class"), the very item
                ("partner"), or anything alike ("both"); "auto" asks in all spaces of the index.
        """
        options = Query((), into, k, offset, where, min_probability, purpose)
        return self._search([parts], options)[0]

    def search_many(
        self,
        queries: Sequence[Sequence[QueryPart]],
        *,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
    ) -> _List[Answer]:
        """Like `search` for several queries; what is alike is embedded together. The first bad query is an error."""
        return self._search(queries, Query((), into, k, offset, where, min_probability, purpose))

    def _search(self, queries: Sequence[Sequence[QueryPart]], options: Query) -> _List[Answer]:
        answers = self.answer_many([replace(options, parts=tuple(parts)) for parts in queries])
        for answer in answers:
            if isinstance(answer, DiptychError):
                raise answer
        return [answer for answer in answers if isinstance(answer, Answer)]

    def answer_many(self, queries: Sequence[Query]) -> _List[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""
        return self._answerer.answer_many(queries)

    def prepared(self, parts: Sequence[QueryPart]) -> _List[QueryPart]:
        """The parts checked and their pictures decoded, so that later work is quick and cannot fail for them."""
        Query(tuple(parts)).check()
        return [
            part if part.kind == "item" else replace(part, value=self._raw.read(part.kind, part.value))
            for part in parts
        ]

    def similar(
        self,
        id: str,
        *,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
    ) -> Answer:
        """More like this item, which itself is left out."""
        options = Query((), into, k, offset, where, min_probability, purpose)
        return self._search([[QueryPart("item", id)]], options)[0]

    def get(self, id: str) -> Hit | None:
        """One item, with score 1; None if there is none."""
        item = self._index.get([id])[0]
        return None if item is None else _as_hit(item)

    def list(
        self, *, where: str | None = None, modality: str | None = None, after: str = "", limit: int = 100
    ) -> _List[Hit]:
        """Items in the order of their ids, a page at a time: `after` is the last id of the page before."""
        ids = self._index.list_ids(where=where, modality=modality, after=after, limit=limit)
        return [_as_hit(item) for item in self._index.get(ids) if item is not None]

    def count(self, *, where: str | None = None, modality: str | None = None) -> int:
        """How many items there are, or how many meet a condition."""
        return self._index.count(where=where, modality=modality)

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add words and pictures, all or none.

        Args:
            items: what to add.
            replace: whether an item of the same id is replaced; else it is an error.
        """
        return self._changer().add(items, replace=replace)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items; ids that are not there are passed over. Returns how many were there."""
        return self._changer().remove(ids)

    def info(self) -> dict[str, Any]:
        """What the index is: modalities are counted now, classes and splits were counted when it was built."""
        known, identity = self._description, self._index.identity
        counts = {name: self._index.count(modality=name) for name in self.modalities}
        return {
            "dataset": dict(known.dataset),
            "model": {"method": self._model.registry_name, "fingerprint": self._maker.model},
            "pipeline": self._maker.pipeline or None,
            "items": self._index.count(),
            "modalities": counts,
            "classes": dict(known.classes),
            "splits": dict(known.splits),
            "dimension": identity.dimension,
            "engine": known.engine,
            "takes": sorted(self._raw.media()),
            "purposes": [*self.purposes],
            "calibrated": self._calibration.directions,
            "belongs_means": self._calibration.relevance,
            "by_purpose": {
                known.purpose: {"calibrated": known.directions, "belongs_means": known.relevance}
                for known in self._calibration.each()
                if known.purpose is not None
            },
            "attribution": known.attribution,
            "examples": [*known.examples],
        }

    def thumbnail(self, id: str) -> bytes | None:
        """A small WebP picture of an item; None if the item is not in the index or has none."""
        hash = self._picture_of(id)
        return None if hash is None else self._store.thumbnail(id, hash)

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An item's picture as it was indexed, and its media type; None if there is none, or it has changed since."""
        hash = self._picture_of(id)
        stored = None if hash is None else self._store.get(id, hash)
        data = None if stored is None else self._original(stored)
        return None if data is None else (data, media_type(data))

    def projection(self) -> _List[dict[str, Any]] | None:
        """Where the items stood in two dimensions when the index was built; those removed since are left out."""
        known = read_projection(self._folder)
        if known is None:
            return None
        living = set(self._index.list_ids(limit=max(1, self._index.count())))
        columns = zip(known.ids, known.modalities, known.labels, known.positions.tolist(), strict=True)
        return [
            {"id": id, "modality": modality, "label": label, "x": x, "y": y}
            for id, modality, label, (x, y) in columns
            if id in living
        ]

    def close(self) -> None:
        """Give back files; closing twice does no harm."""
        self._index.close()
        self._store.close()
        self._originals.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _changer(self) -> Changer:
        if not self._writable:
            raise ConfigError("this index is open for reading only; open it for writing to change it.")
        return Changer(self._index, self._raw, self._store, self._maker, self._spaces)

    def _picture_of(self, id: str) -> str | None:
        item = self._index.get([id])[0]
        return None if item is None else item.metadata.get("media")

    def _original(self, stored: StoredPicture) -> bytes | None:
        if stored.original is not None or stored.source is None or stored.name is None:
            return stored.original
        return self._originals.read(stored.source, stored.name, stored.hash)


def _as_hit(item: Item) -> Hit:
    return Hit(item.id, item.modality, 1.0, None, public(item.metadata))
