"""One generation of an index, opened: everything in its folder, until another folder takes its place."""

import logging
import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from diptych._core.errors import DiptychError
from diptych._core.files import interpreting
from diptych.index import EmbedderId, EngineLocation
from diptych.media import content_type
from diptych.methods import load_model, model_fingerprint
from diptych.search.answers import Answerer
from diptych.search.browse import Catalogue
from diptych.search.browse.cluster_names import ClusterNames
from diptych.search.entries import DocumentCount, MetadataKeys
from diptych.search.index_folder import (
    CALIBRATION_FILE,
    MEDIA_FOLDER,
    MODEL_FOLDER,
    REBUILD,
    Description,
    generation_of,
)
from diptych.search.index_folder import FILE as DESCRIPTION
from diptych.search.listing import Lister
from diptych.search.media_store import MediaStore, Originals, StoredFile
from diptych.search.probability.calibration import read_calibration
from diptych.search.query import MODES, SORTS
from diptych.search.raw_embedder import RawEmbedder, media_type_of
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Suggester, Texts, TextsPlan, open_texts
from diptych.search.thumbnails import Signatures
from diptych.search.writer import IndexWriter

_log = logging.getLogger(__name__)


class Generation:
    """What was opened of an index's folder.

    It is used between `enter` and `leave`; after `retire` it is closed when the last one has left.

    Attributes:
        token: tells this generation from others at the same path.
        description: what the index says of itself.
        model: embeds queries and new items.
        spaces: of the vectors.
        calibration: how scores become probabilities.
        index: the vectors.
        raw: reads texts and images.
        suggester: completes and corrects typed queries.
        keys: what can be conditioned on.
        answerer: answers queries.
        catalogue: every document, to browse, sort and count.
        cluster_names: words for what lies together on the map.
        signatures: tell near-duplicates.
    """

    def __init__(
        self,
        folder: Path,
        *,
        writable: bool = False,
        url: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        Description.read(folder)  # says so where there is no index
        self.token = generation_of(folder)
        self.folder = folder
        self.description = known = Description.read(folder)
        self.model = load_model(folder / MODEL_FOLDER)
        self._embedder = EmbedderId(model_fingerprint(folder / MODEL_FOLDER), self.model.record_.get("pipeline") or "")
        self.calibration = read_calibration(folder / CALIBRATION_FILE)
        with interpreting(folder / DESCRIPTION, REBUILD):
            self.spaces = IndexSpaces.from_json(known.spaces)
            plan = TextsPlan.from_json(known.texts)
        self.raw = RawEmbedder(self.model, self.spaces.embedded_for)
        location = EngineLocation.found(known.engine, url, known.place, known.url)
        with ExitStack() as opened:
            self.store = MediaStore(folder / MEDIA_FOLDER, writable=writable)
            opened.callback(self.store.close)
            self._originals = Originals(folder, known.sources)
            opened.callback(self._originals.close)
            opening = location.open(folder, self._embedder, writable=writable, options=options)
            self.index = opened.enter_context(opening)
            self.texts = self._open_texts(plan, location, writable=writable, options=options)
            if self.texts is not None:
                opened.enter_context(self.texts.index)
                if writable:
                    self.texts.repair(self.index, self.raw)
            self._opened = opened.pop_all()
        of_text = [name for name in self.model.modalities if media_type_of(self.model, name) == "text"]
        self.suggester = Suggester(
            self.raw, of_text[0] if len(of_text) == 1 else None, self.texts, tuple(known.classes)
        )
        self._documents = DocumentCount(self.index, known.entries, known.documents, own_documents=known.own_documents)
        self.keys = MetadataKeys(folder, self.index, known.keys)
        self.catalogue = Catalogue(self.index, self.suggester.modality, self.store.changes)
        self.cluster_names = ClusterNames(self.index, self.catalogue)
        self.signatures = Signatures(self.index, self.store)
        lister = Lister(self.index, self.texts, self._embedder, self.spaces)
        self.answerer = Answerer(
            lister, self.raw, self.calibration, self.model.modalities, self.suggester, self._count, self.keys
        )
        places = {str(folder), str(folder.absolute()), str(folder.resolve())} - {".", ""}
        self._places = re.compile("|".join(map(re.escape, sorted(places, key=len, reverse=True))))
        self._using = threading.Lock()
        self._users, self._retired = 0, False

    @property
    def is_current(self) -> bool:
        """Whether the folder at the path is still the one that was opened."""
        return generation_of(self.folder) == self.token

    @property
    def writer(self) -> IndexWriter:
        """Changes this generation."""
        return IndexWriter(self.index, self.raw, self.store, self._embedder, self.spaces, self.texts)

    def warm(self) -> None:
        """Load encoders, and begin to read what is known of every document, which may take seconds, beside all else."""
        self.raw.warm()
        threading.Thread(target=self._read_catalogue, name="diptych-catalogue", daemon=True).start()

    def info(self) -> dict[str, Any]:
        """Facts about the index; modalities are counted now, classes and splits when it was built."""
        known = self.description
        counts = {name: self.index.count(modality=name) for name in self.model.modalities}
        return {
            "dataset": dict(known.dataset),
            "model": {"method": self.model.registry_name, "fingerprint": self._embedder.model},
            "pipeline": self._embedder.pipeline or None,
            "items": self._count(None) or max(counts.values(), default=0),
            "entries": self.index.count(),
            "modalities": counts,
            "classes": {name: max(of.values(), default=0) for name, of in known.classes.items()},
            "splits": {name: max(of.values(), default=0) for name, of in known.splits.items()},
            "sorts": [*SORTS],
            "modes": [*MODES] if self.texts is not None else ["vector"],
            "dimension": self.index.identity.dimension,
            "engine": known.engine,
            "takes": sorted(self.raw.media()),
            "media_types": {name: kind for kind, names in self.raw.media().items() for name in names},
            "purposes": [*self.spaces.purposes],
            **self.calibration.summary(),
            "attribution": known.attribution,
            "examples": [*known.examples],
        }

    def thumbnail(self, id: str) -> bytes | None:
        """A small image of an entry's image or sound; None if the entry is not in the index or has none."""
        hash = self._image_of(id)
        return None if hash is None else self.store.thumbnail(id, hash)

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An entry's file as it was indexed, else its thumbnail, and the media type; None if it has none."""
        hash = self._image_of(id)
        stored = None if hash is None else self.store.get(id, hash)
        if stored is None:
            return None
        data = self._original(stored)
        shown = stored.thumbnail if data is None else data
        return shown, content_type(shown)

    def check(self, where: str | None) -> None:
        """Refuse a condition on a key that no entry has."""
        problem = self.keys.problem(where)
        if problem is not None:
            raise problem

    def _read_catalogue(self) -> None:
        if not self.enter():
            return
        try:
            self.catalogue.view()
        except DiptychError as error:  # whoever needs it reads it again and is told
            _log.warning("The documents of the index could not be read: %s", error)
        finally:
            self.leave()

    def _count(self, where: str | None) -> int | None:
        """How many documents there are, or meet a condition; None where that is not known yet."""
        if self.catalogue.is_ready:
            return self.catalogue.count(where)
        return self._documents() if where is None else None

    def public(self, error: DiptychError) -> DiptychError:
        """The same error without the place of the index, so that it may be sent to a client."""
        message = self._places.sub("the index", str(error))
        return error if message == str(error) else type(error)(message)

    def enter(self) -> bool:
        """Begin to use it; False if it is retired."""
        with self._using:
            if not self._retired:
                self._users += 1
            return not self._retired

    def leave(self) -> None:
        """End a use."""
        with self._using:
            self._users -= 1
            last = self._retired and self._users == 0
        if last:
            self._opened.close()

    def retire(self) -> None:
        """Close it as soon as nobody uses it; retiring twice does no harm."""
        with self._using:
            first, self._retired = not self._retired, True
            free = first and self._users == 0
        if free:
            self._opened.close()

    def _open_texts(
        self, plan: TextsPlan | None, location: EngineLocation, *, writable: bool, options: Mapping[str, Any] | None
    ) -> Texts | None:
        if plan is None:
            return None
        opened = open_texts(plan, location, self.folder, self._embedder, writable=writable, options=options)
        return Texts(plan, opened)

    def _image_of(self, id: str) -> str | None:
        item = self.index.get([id])[0]
        return None if item is None else item.metadata.get("media")

    def _original(self, stored: StoredFile) -> bytes | None:
        if stored.original is not None or stored.source is None or stored.name is None:
            return stored.original
        return self._originals.read(stored.source, stored.name, stored.hash)
