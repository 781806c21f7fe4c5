"""The two servers that `bench_http` compares."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from diptych.errors import ConfigError, DiptychError
from diptych.index import Identity, Index, Maker, create_index
from diptych.search import Answer, Hit, Query
from diptych.serving import create_app

VECTORS = "vectors.npy"


def serve(kind: str, folder: str, port: int) -> None:
    """Run one of the servers until it is told to stop."""
    faiss.omp_set_num_threads(1)
    rows = np.load(Path(folder) / VECTORS, allow_pickle=False)
    ids = [f"image:{row:07d}" for row in range(len(rows))]
    app = bare(rows, ids) if kind == "bare" else create_app(VectorSearcher(Path(folder) / "index", rows, ids))  # type: ignore[arg-type]
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


class Asked(BaseModel):
    """A query of the bare server."""

    id: str
    k: int = 10


class Near(BaseModel):
    """A result of the bare server."""

    id: str
    score: float


class Nearest(BaseModel):
    """The answer of the bare server."""

    hits: list[Near]


def bare(rows: np.ndarray, ids: list[str]) -> FastAPI:
    """As little as there can be between FastAPI and faiss: a handler in FastAPI's own threads, as it advises."""
    app = FastAPI()
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    places = {id: place for place, id in enumerate(ids)}

    @app.post("/v1/search")
    def search(asked: Asked) -> Nearest:
        scores, found = index.search(rows[places[asked.id]][None], asked.k)
        return Nearest(
            hits=[Near(id=ids[place], score=score) for place, score in zip(found[0], scores[0].tolist(), strict=True)]
        )

    return app


class VectorSearcher:
    """What the server asks of a searcher, over an index of our own filled with given vectors; no model is needed."""

    def __init__(self, folder: Path, rows: np.ndarray, ids: list[str]) -> None:
        self._index: Index = create_index(folder, Identity(Maker("benchmark"), rows.shape[1]))
        known = [{"split": ("train", "test")[place % 2], "label": f"class {place % 10}"} for place in range(len(ids))]
        for start in range(0, len(ids), 10_000):
            part = slice(start, start + 10_000)
            self._index.add(ids[part], rows[part], modality="image", metadata=known[part])
        self._index.optimise()

    def answer_many(self, queries: Sequence[Query]) -> list[Answer | DiptychError]:
        """Answer queries by items, together."""
        started = time.perf_counter()
        items = self._index.get([str(query.parts[0].value) for query in queries])
        missing = ConfigError("there is no such item.")
        wanted = [item.vector for item in items if item is not None]
        pages = iter(self._index.search(np.stack(wanted), queries[0].k, with_metadata=True) if wanted else [])
        return [missing if item is None else self._answer(next(pages), started) for item in items]

    def close(self) -> None:
        """Give back files."""
        self._index.close()

    def _answer(self, found: Any, started: float) -> Answer:  # noqa: ANN401
        columns = zip(found.ids, found.modalities, found.scores.tolist(), found.metadata, strict=True)
        hits = tuple(Hit(id, modality, score, None, metadata) for id, modality, score, metadata in columns)
        return Answer(hits, None, time.perf_counter() - started)
