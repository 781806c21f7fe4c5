"""A searcher over a real index whose embedding can be worked out by hand."""

from __future__ import annotations  # `list` is a method here

import math
import threading
import time
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from diptych.errors import ConfigError, DataError, DiptychError
from diptych.index import Identity, Maker, create_index
from diptych.search import Answer, Hit, NewItem, Query, QueryPart
from serving import coloured_shapes as shapes


class FakeSearcher:
    """The methods of `Searcher`; `pause` and `batches` let tests look at how it is asked."""

    def __init__(self, folder: Path) -> None:
        self.index = create_index(folder / "index", Identity(Maker("toy"), shapes.DIMENSION))
        self.pictures: dict[str, bytes] = {}
        self.batches: list[int] = []
        self.threads: set[str] = set()
        self.pause = 0.0
        self.closed = False
        self.attribution = "Shapes drawn for this test."
        self.purposes: list[str] = []
        self.asked: list[Query] = []

    def answer_many(self, queries) -> list[Answer | DiptychError]:
        self.batches.append(len(queries))
        self.asked.extend(queries)
        self.threads.add(threading.current_thread().name)
        time.sleep(self.pause)
        return [self._answered(query) for query in queries]

    def _answered(self, query: Query) -> Answer | DiptychError:
        started = time.perf_counter()
        try:
            if query.into not in (None, "image", "text"):
                raise ConfigError(f"there is no modality {query.into!r}; choose image or text.")
            named = [part.value for part in query.parts if part.kind == "item"]
            asked = query.k + query.offset + len(named)
            row = self._mixed(query.parts)
            found = self.index.search(row, asked, where=query.where, modality=query.into, with_metadata=True)[0]
        except DiptychError as error:
            return error
        hits = [hit for hit in self._hits(found) if hit.id not in named][query.offset : query.offset + query.k]
        closest = max((hit.probability for hit in hits), default=None)
        good = tuple(hit for hit in hits if hit.probability >= query.min_probability)
        return Answer(good, closest, time.perf_counter() - started)

    def get(self, id: str) -> Hit | None:
        item = self.index.get([id])[0]
        return None if item is None else Hit(id, item.modality, 1.0, None, item.metadata)

    def list(self, *, where=None, modality=None, after="", limit=100) -> list[Hit]:
        ids = self.index.list_ids(where=where, modality=modality, after=after, limit=limit)
        return [Hit(item.id, item.modality, 1.0, None, item.metadata) for item in self.index.get(ids) if item]

    def add(self, items, *, replace: bool = False) -> int:
        rows = [self._row(QueryPart(item.kind, item.value)) for item in items]
        known = [dict(item.metadata) | {"has_media": item.kind == "image"} for item in items]
        for item, metadata in zip(items, known, strict=True):
            if item.kind == "text":
                metadata.setdefault("text", item.value)
        write = self.index.update if replace else self.index.add
        count = write(
            [item.id for item in items], np.stack(rows), modality=[item.kind for item in items], metadata=known
        )
        self.pictures |= {item.id: item.value for item in items if item.kind == "image"}
        return count

    def remove(self, ids) -> int:
        for id in ids:
            self.pictures.pop(id, None)
        return self.index.delete(ids)

    def info(self) -> dict[str, Any]:
        everything = self.list(limit=1000)
        return {
            "dataset": {"name": "coloured shapes"},
            "model": {"method": "toy", "fingerprint": "0"},
            "dimension": shapes.DIMENSION,
            "engine": "local",
            "calibrated": ["text->image", "image->text"],
            "takes": ["image", "text"],
            "purposes": self.purposes,
            "items": len(everything),
            "modalities": dict(Counter(hit.modality for hit in everything)),
            "classes": _counted(everything, "label"),
            "splits": _counted(everything, "split"),
            "attribution": self.attribution,
            "examples": ["a red circle", "blue", "yellow triangle"],
        }

    def thumbnail(self, id: str) -> bytes | None:
        if id not in self.pictures:
            return None
        out = BytesIO()
        Image.open(BytesIO(self.pictures[id])).convert("RGB").resize((64, 64)).save(out, "WEBP")
        return out.getvalue()

    def original(self, id: str) -> tuple[bytes, str] | None:
        return (self.pictures[id], "image/png") if id in self.pictures else None

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
                return shapes.vector_of_picture(part.value)
            except Exception:
                raise DataError("the given bytes cannot be decoded; give a picture.") from None
        row = shapes.vector_of_words(part.value)
        if row is None:
            raise DataError(f"this index knows none of the words {part.value[:40]!r}; use others.")
        return row / np.linalg.norm(row)

    def _hits(self, found) -> list[Hit]:
        columns = zip(found.ids, found.modalities, found.scores, found.metadata, strict=True)
        return [
            Hit(id, modality, float(score), 1 / (1 + math.exp(-14 * (float(score) - 0.75))), metadata)
            for id, modality, score, metadata in columns
        ]


def _counted(hits, key: str) -> dict[str, dict[str, int]]:
    values = sorted({hit.metadata[key] for hit in hits if key in hit.metadata})
    return {value: dict(Counter(hit.modality for hit in hits if hit.metadata.get(key) == value)) for value in values}


def filled(folder: Path) -> FakeSearcher:
    """A searcher over the whole world: a picture and a sentence of everything."""
    searcher, items = FakeSearcher(folder), []
    for thing in shapes.world():
        known = {"item": thing.name, "label": thing.colour, "split": thing.split, "text": thing.sentence}
        items.append(NewItem(f"image:{thing.name}", "image", shapes.picture(thing), known))
        items.append(NewItem(f"text:{thing.name}", "text", thing.sentence, known))
    searcher.add(items)
    return searcher
