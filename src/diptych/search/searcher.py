"""Search an index by text, by image, by an item it holds, or by any mixture of these."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from diptych._core.errors import ConfigError, DiptychError
from diptych.index import EmbedderId
from diptych.media import THUMBNAIL_TYPE, media_type
from diptych.methods import load_model, model_fingerprint
from diptych.methods.purposes import Purpose
from diptych.search.answers import Answerer
from diptych.search.build import CALIBRATION_FILE, MEDIA_FOLDER, MODEL_FOLDER
from diptych.search.calibration import Calibration, read_calibration
from diptych.search.engine_location import EngineLocation
from diptych.search.entries import DocumentCount, MetadataKeys
from diptych.search.hits import Answer, Hit, plain_hits
from diptych.search.index_folder import Description
from diptych.search.listing import Lister
from diptych.search.media_store import MediaStore, Originals, StoredImage
from diptych.search.projection import living_points
from diptych.search.query import MODES, ImageSource, Mode, Query, QueryPart, query_parts
from diptych.search.raw_embedder import RawEmbedder, medium_of
from diptych.search.spaces import IndexSpaces
from diptych.search.suggestions import Suggester
from diptych.search.texts import Texts, TextsPlan, open_texts
from diptych.search.writer import IndexWriter, NewItem

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
        self._embedder = EmbedderId(fingerprint, self._model.record_.get("pipeline") or "")
        self._calibration = read_calibration(folder / CALIBRATION_FILE)
        self._spaces = IndexSpaces.from_json(self._description.spaces)
        self._raw = RawEmbedder(self._model, folder, self._spaces.embedded_for)
        self._writable = writable
        known = self._description
        location = EngineLocation.found(known.engine, url, known.place, known.url)
        with ExitStack() as opened:
            self._store = MediaStore(folder / MEDIA_FOLDER, writable=writable)
            opened.callback(self._store.close)
            self._originals = Originals(folder, known.sources)
            opened.callback(self._originals.close)
            self._index = opened.enter_context(location.open(folder, self._embedder, writable=writable))
            plan = TextsPlan.from_json(known.texts)
            self._texts = (
                None
                if plan is None
                else Texts(plan, open_texts(plan, location, folder, self._embedder, writable=writable))
            )
            if self._texts is not None:
                opened.enter_context(self._texts.index)
                if writable:
                    self._texts.repair(self._index, self._raw)
            self._opened = opened.pop_all()
        lister = Lister(self._index, self._texts, self._embedder, self._spaces)
        of_text = [name for name in self._model.modalities if medium_of(self._model, name) == "text"]
        text_modality = of_text[0] if len(of_text) == 1 else None
        self._wording = Suggester(self._raw, text_modality, self._texts, tuple(known.classes))
        self._documents = DocumentCount(self._index, known.entries, known.documents, own_documents=known.own_documents)
        self._keys = MetadataKeys(folder, self._index, known.keys)
        self._answerer = Answerer(
            lister, self._raw, self._calibration, self._model.modalities, self._wording, self._documents
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
        """Load encoders now rather than at the first query."""
        self._raw.warm()

    def search(
        self,
        parts: Sequence[QueryPart] = (),
        *,
        text: str | None = None,
        image: ImageSource | None = None,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
        mode: Mode = "hybrid",
        correct: bool = True,
    ) -> Answer:
        """Find what belongs to a query: the weighted sum of its parts' directions.

        Args:
            parts: what to look for; items of the index named here are left out of the answer.
            text: a text to look for, as a further part.
            image: an image to look for, as a further part: a path, the bytes of a file, or decoded pixels.
            into: the modality whose entries are the hits; None: a hit is an item with all its sides.
            k: how many results.
            offset: leave out so many of the best.
            where: only items that meet this condition, such as "split = 'train' and label in ('river', 'pond')".
            min_probability: only items that belong with at least this probability; there may be none.
            purpose: what to look for, where the index has several spaces: things of this kind ("class"), the very item
                ("partner"), or anything alike ("both"); "auto" is "partner" for texts that ask for items, else "both".
            mode: by which evidence typed words are ranked: embeddings and matching words ("hybrid"), embeddings alone
                ("vector"), or matching words alone ("lexical").
            correct: whether to answer for the corrected words where no text holds the words as typed.
        """
        options = Query((), into, k, offset, where, min_probability, purpose, mode, correct)
        return self._search([query_parts(parts, text=text, image=image)], options)[0]

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
        mode: Mode = "hybrid",
        correct: bool = True,
    ) -> _List[Answer]:
        """Like `search` for several queries; what is alike is embedded together. The first bad query is an error."""
        return self._search(queries, Query((), into, k, offset, where, min_probability, purpose, mode, correct))

    def _search(self, queries: Sequence[Sequence[QueryPart]], options: Query) -> _List[Answer]:
        answers = self.answer_many([replace(options, parts=tuple(parts)) for parts in queries])
        for answer in answers:
            if isinstance(answer, DiptychError):
                raise answer
        return [answer for answer in answers if isinstance(answer, Answer)]

    def answer_many(self, queries: Sequence[Query]) -> _List[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""
        wrong = {place: error for place, query in enumerate(queries) if (error := self._keys.problem(query.where))}
        answers = iter(self._answerer.answer_many([query for place, query in enumerate(queries) if place not in wrong]))
        return [wrong[place] if place in wrong else next(answers) for place in range(len(queries))]

    def suggest(self, prefix: str, limit: int = 8) -> _List[str]:
        """How what is being typed may go on: labels, short texts and words of the index that begin so."""
        return self._wording.suggest(prefix, limit)

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
        mode: Mode = "hybrid",
        correct: bool = True,
    ) -> Answer:
        """More like this item, which itself is left out."""
        options = Query((), into, k, offset, where, min_probability, purpose, mode)
        return self._search([[QueryPart("item", id)]], options)[0]

    def get(self, id: str) -> Hit | None:
        """One item, with score 1; None if there is none."""
        item = self._index.get([id])[0]
        return None if item is None else plain_hits(self._index, [item], self.modalities)[0]

    def list(
        self, *, where: str | None = None, modality: str | None = None, after: str = "", limit: int = 100
    ) -> _List[Hit]:
        """Items in the order of their ids, a page at a time: `after` is the last id of the page before."""
        ids = self._index.list_ids(where=where, modality=modality, after=after, limit=limit)
        return plain_hits(self._index, [item for item in self._index.get(ids) if item is not None], self.modalities)

    def count(self, *, where: str | None = None, modality: str | None = None) -> int:
        """How many items there are, or how many meet a condition."""
        return self._index.count(where=where, modality=modality)

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add texts and images, all or none.

        Args:
            items: what to add.
            replace: whether an item of the same id is replaced; else it is an error.
        """
        done = self._writer().add(items, replace=replace)
        self._keys.note(key for item in items for key in item.metadata)
        return done

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items; ids that are not there are passed over. Returns how many were there."""
        return self._writer().remove(ids)

    def info(self) -> dict[str, Any]:
        """What the index is: modalities are counted now, classes and splits were counted when it was built."""
        known, identity = self._description, self._index.identity
        counts = {name: self._index.count(modality=name) for name in self.modalities}
        return {
            "dataset": dict(known.dataset),
            "model": {"method": self._model.registry_name, "fingerprint": self._embedder.model},
            "pipeline": self._embedder.pipeline or None,
            "items": self._documents() or max(counts.values(), default=0),
            "entries": self._index.count(),
            "modalities": counts,
            "classes": {name: max(of.values(), default=0) for name, of in known.classes.items()},
            "splits": {name: max(of.values(), default=0) for name, of in known.splits.items()},
            "modes": [*MODES] if self._texts is not None else ["vector"],
            "dimension": identity.dimension,
            "engine": known.engine,
            "takes": sorted(self._raw.media()),
            "purposes": [*self.purposes],
            **self._calibration.summary(),
            "attribution": known.attribution,
            "examples": [*known.examples],
        }

    def thumbnail(self, id: str) -> bytes | None:
        """A small WebP image of an item; None if the item is not in the index or has none."""
        hash = self._image_of(id)
        return None if hash is None else self._store.thumbnail(id, hash)

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An item's image as it was indexed, and its media type; None if it has none.

        Where the original is gone or has changed since, as in an index that was copied without its images, it is the
        thumbnail.
        """
        hash = self._image_of(id)
        stored = None if hash is None else self._store.get(id, hash)
        if stored is None:
            return None
        data = self._original(stored)
        return (stored.thumbnail, THUMBNAIL_TYPE) if data is None else (data, media_type(data))

    def projection(self) -> _List[dict[str, Any]] | None:
        """Where the items stood in two dimensions when the index was built; those removed since are left out."""
        return living_points(self._folder, self._index)

    def close(self) -> None:
        """Give back files; closing twice does no harm."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _writer(self) -> IndexWriter:
        if not self._writable:
            raise ConfigError("this index is open for reading only; open it for writing to change it.")
        return IndexWriter(self._index, self._raw, self._store, self._embedder, self._spaces, self._texts)

    def _image_of(self, id: str) -> str | None:
        item = self._index.get([id])[0]
        return None if item is None else item.metadata.get("media")

    def _original(self, stored: StoredImage) -> bytes | None:
        if stored.original is not None or stored.source is None or stored.name is None:
            return stored.original
        return self._originals.read(stored.source, stored.name, stored.hash)
