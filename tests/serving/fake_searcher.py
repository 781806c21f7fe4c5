"""A searcher over a real index whose embedding can be worked out by hand."""

from __future__ import annotations  # `list` is a method here

import math
import threading
import time
from collections import Counter
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from diptych._core.errors import ConfigError, DataError, DiptychError, UnknownItemError
from diptych.index import EmbedderId, Identity, create_index
from diptych.search import Answer, Hit, NewItem, Projection, Query, QueryPart
from diptych.search.browse import Catalogue, count_hits, in_order
from diptych.search.thumbnails import signature
from diptych.serving.service import SearchBackend
from serving import coloured_shapes as shapes
from serving import fake_ranking as ranking

NOWHERE = np.full(shapes.DIMENSION, 1e-3)
"""Where words lead that say nothing."""


class FakeSearcher(SearchBackend):
    """The methods of `Searcher`; `pause` and `batches` let tests look at how it is asked."""

    generation: object = 0

    def __init__(self, folder: Path) -> None:
        self.index = create_index(folder / "index", Identity(EmbedderId("toy"), shapes.DIMENSION))
        self.images: dict[str, bytes] = {}
        self.batches: list[int] = []
        self.threads: set[str] = set()
        self.pause = 0.0
        self.closed = False
        self.attribution = "Shapes drawn for this test."
        self.purposes: list[str] = []
        self.modes = ["hybrid", "vector", "lexical"]
        self.asked: list[Query] = []

    def answer_many(self, queries) -> list[Answer | DiptychError]:
        self.batches.append(len(queries))
        self.asked.extend(queries)
        self.threads.add(threading.current_thread().name)
        time.sleep(self.pause)
        return [self._sorted(query) for query in queries]

    def _sorted(self, query: Query) -> Answer | DiptychError:
        if query.sort == "score":
            return self._answered(query)
        found = self._answered(replace(query, k=1000, offset=0))
        return found if isinstance(found, DiptychError) else in_order(found, query)

    def _answered(self, query: Query) -> Answer | DiptychError:
        started = time.perf_counter()
        try:
            if query.into not in (None, "image", "text"):
                raise ConfigError(f"there is no modality {query.into!r}; choose image or text.")
            named = {self._item_of(part.value) for part in query.parts if part.kind == "item"}
            row = self._mixed(query.parts)
            asked = max(1, self.index.count())
            found = self.index.search(row, asked, where=query.where, modality=query.into, with_metadata=True)[0]
        except DiptychError as error:
            return error
        columns = zip(found.ids, found.modalities, found.scores, found.metadata, strict=True)
        sides = [ranking.Side(id, name, float(score), about) for id, name, score, about in columns]
        hits = [hit for hit in ranking.ranked(query, sides, self._entries()) if hit.item not in named]
        typed = " ".join(part.value for part in query.parts if part.kind == "text")
        ignored, correction = ranking.corrected(typed, self._vocabulary())
        known = [word for word in ranking.words_of(typed) if word not in ignored]
        credible = any(hit.why.words or hit.probability > 0.03 for hit in hits)
        far = bool(hits) and (not credible or (bool(typed) and not known))
        page = hits[query.offset : query.offset + query.k]
        closest = max((hit.probability for hit in page), default=None)
        good = tuple(hit for hit in page if hit.probability >= query.min_probability)
        total = sum(hit.probability >= query.min_probability for hit in hits)
        if query.correct and correction and not known:  # no text holds any of the words
            better = replace(query, parts=(QueryPart("text", correction),), correct=False)
            return replace(self._answered(better), did_you_mean=correction, corrected=True)
        mode = query.mode if typed else "vector"
        taken = time.perf_counter() - started
        return Answer(good, closest, taken, None, mode, ignored, correction, total, far)

    def suggest(self, prefix: str, limit: int = 8) -> list[str]:
        self.threads.add(threading.current_thread().name)
        before, _, last = prefix.lower().rpartition(" ")
        begun = [word for word in self._vocabulary() if last and word.startswith(last) and word != last]
        return [f"{before} {word}".strip() for word in begun][:limit]

    def get(self, id: str) -> Hit | None:
        item = self.index.get([id])[0]
        return None if item is None else _as_hit(item, self._entries())

    def list(self, *, where=None, modality=None, after="", limit=100) -> list[Hit]:
        ids = self.index.list_ids(where=where, modality=modality, after=after, limit=limit)
        entries = self._entries()
        return [_as_hit(item, entries) for item in self.index.get(ids) if item]

    def browse(self, *, where=None, sort="name", offset=0, k=100) -> tuple[list[Hit], int]:
        ids, total = self._catalogue().page(where, sort, offset, k)
        entries = self._entries()
        return [_as_hit(item, entries) for item in self.index.get(ids) if item], total

    def facets(self, query: Query, keys):
        if not query.parts:
            known = self._catalogue()
            return known.facets(keys, query.where), known.count(query.where)
        found = self._answered(replace(query, k=1000, offset=0))
        if isinstance(found, DiptychError):
            raise found
        return count_hits(found.hits, keys), len(found.hits)

    def signatures(self, ids) -> list[str | None]:
        pixels = [Image.open(BytesIO(self.images[id])).convert("RGB") if id in self.images else None for id in ids]
        return [None if image is None else signature(np.asarray(image)) for image in pixels]

    def edit(self, id, *, text=None, metadata=None) -> int:
        changed = self._catalogue().entries_of([id])
        for item in self.index.get(changed):
            known = {key: value for key, value in (item.metadata | (metadata or {})).items() if value is not None}
            known |= {"text": text} if text is not None else {}
            vector = self._row(QueryPart("text", text)) if text is not None and item.modality == "text" else item.vector
            self.index.update([item.id], [vector], modality=[item.modality], metadata=[known])
        return len(changed)

    def _catalogue(self) -> Catalogue:
        return Catalogue(self.index, "text")

    def add(self, items, *, replace: bool = False) -> int:
        rows = [self._row(QueryPart(item.kind, item.value)) for item in items]
        known = [dict(item.metadata) | {"has_media": item.kind == "image"} for item in items]
        for item, metadata in zip(items, known, strict=True):
            metadata.setdefault("item", item.id)
            if item.kind == "text":
                metadata.setdefault("text", item.value)
        write = self.index.update if replace else self.index.add
        count = write(
            [item.id for item in items], np.stack(rows), modality=[item.kind for item in items], metadata=known
        )
        self.images |= {item.id: item.value for item in items if item.kind == "image"}
        return count

    def remove(self, ids, *, whole: bool = False, missing_ok: bool = True) -> int:
        missing = [id for id in ids if self.index.get([id])[0] is None]
        if missing and not missing_ok:
            raise UnknownItemError(f"there is no item {missing[0]!r}.")
        ids = self._catalogue().entries_of(ids) if whole else list(dict.fromkeys(ids))
        for id in ids:
            self.images.pop(id, None)
        return self.index.delete(ids)

    def info(self) -> dict[str, Any]:
        everything = self.list(limit=1000)
        items = list({hit.item: hit for hit in everything}.values())
        return {
            "dataset": {"name": "coloured shapes"},
            "model": {"method": "toy", "fingerprint": "0"},
            "dimension": shapes.DIMENSION,
            "engine": "local",
            "calibrated": ["text->image", "image->text"],
            "takes": ["image", "text"],
            "purposes": self.purposes,
            "sorts": ["score", "name", "date"],
            "modes": self.modes,
            "items": len(items),
            "entries": len(everything),
            "modalities": dict(Counter(hit.modality for hit in everything)),
            "classes": _counted(items, "label"),
            "splits": _counted(items, "split"),
            "attribution": self.attribution,
            "examples": ["a red circle", "blue", "yellow triangle"],
        }

    def thumbnail(self, id: str) -> bytes | None:
        if id not in self.images:
            return None
        out = BytesIO()
        Image.open(BytesIO(self.images[id])).convert("RGB").resize((64, 64)).save(out, "WEBP")
        return out.getvalue()

    def original(self, id: str) -> tuple[bytes, str] | None:
        return (self.images[id], "image/png") if id in self.images else None

    def projection(self):
        turns = {name: 2 * math.pi * place / len(shapes.COLOURS) for place, name in enumerate(shapes.COLOURS)}
        found = []
        for place, hit in enumerate(self.list(limit=1000)):
            label = hit.metadata.get("label", "grey")
            turn, away = turns.get(label, 0.0), 1 + 0.03 * (place % 7)
            shift = 0.12 if hit.modality == "text" else 0.0
            x, y = math.cos(turn + shift) * away, math.sin(turn + shift) * away
            found.append({"id": hit.id, "modality": hit.modality, "label": label, "x": x, "y": y})
        return found

    def map(self) -> Projection | None:
        points = {point["id"]: point for point in self.projection()}
        shown = [points[id] for id in self._catalogue().documents()]
        columns = ([point[name] for point in shown] for name in ("id", "modality", "label"))
        return Projection("pca", *columns, np.array([[point["x"], point["y"]] for point in shown], np.float32))

    def backup(self, target: str | Path) -> Path:
        written = Path(target)
        written.parent.mkdir(exist_ok=True)
        written.write_bytes(b"everything")
        return written

    def close(self) -> None:
        self.closed = True
        self.index.close()

    def _mixed(self, parts) -> np.ndarray:
        total = sum(part.weight * self._row(part) for part in parts)
        if not np.any(np.abs(total) > 1e-6):
            raise ConfigError("the parts of the query cancel each other; change a weight.")
        return np.asarray(total)

    def _row(self, part: QueryPart) -> np.ndarray:
        if part.kind == "item":
            item = self.index.get([part.value])[0]
            if item is None:
                raise DataError(f"there is no item {part.value!r} in the index.")
            return item.vector
        if part.kind == "image":
            try:
                return shapes.vector_of_image(part.value)
            except Exception:
                raise DataError("the given bytes cannot be decoded; give an image.") from None
        if part.kind == "audio":
            raise DataError("this index holds no sounds; ask by text or image.")
        row = shapes.vector_of_words(part.value)
        return NOWHERE if row is None else row / np.linalg.norm(row)

    def _item_of(self, id: str) -> str | None:
        item = self.index.get([id])[0]
        return None if item is None else item.metadata["item"]

    def _everything(self):
        return [item for item in self.index.get(self.index.list_ids(limit=1000)) if item]

    def _entries(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for item in self._everything():
            found.setdefault(item.metadata["item"], {})[item.modality] = item.id
        return found

    def _vocabulary(self) -> list[str]:
        counts = Counter(
            word for item in self._everything() for word in ranking.words_of(item.metadata.get("text", ""))
        )
        return [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]


def _as_hit(item, entries: dict[str, dict[str, str]]) -> Hit:
    name = item.metadata["item"]
    return Hit(item.id, item.modality, 1.0, None, item.metadata, name, entries.get(name, {}))


def _counted(items, key: str) -> dict[str, int]:
    return dict(sorted(Counter(hit.metadata[key] for hit in items if key in hit.metadata).items()))


def filled(folder: Path) -> FakeSearcher:
    """A searcher over the whole world: an image and a sentence of everything."""
    searcher, items = FakeSearcher(folder), []
    for thing in shapes.world():
        known = {"item": thing.name, "label": thing.colour, "split": thing.split, "text": thing.sentence}
        items.append(NewItem(f"image:{thing.name}", "image", shapes.image(thing), known))
        items.append(NewItem(f"text:{thing.name}", "text", thing.sentence, known))
    searcher.add(items)
    return searcher
