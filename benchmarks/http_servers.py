"""The two servers that `bench_http` compares."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from diptych._core.processes import settle_memory
from diptych.index import EmbedderId, Identity, create_index
from diptych.search.answers import Answerer
from diptych.search.listing import Lister
from diptych.search.probability import ProbabilityMap
from diptych.search.probability.calibration import Calibration
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Suggester
from diptych.serving import create_app

VECTORS = "vectors.npy"


def serve(kind: str, folder: str, port: int) -> None:
    """Run one of the servers until it is told to stop."""
    faiss.omp_set_num_threads(1)
    rows = np.load(Path(folder) / VECTORS, allow_pickle=False)
    ids = [f"image:{row:07d}" for row in range(len(rows))]
    app = bare(rows, ids) if kind == "bare" else create_app(VectorSearcher(Path(folder) / "index", rows, ids))  # type: ignore[arg-type]
    settle_memory()
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
    """The searcher's way from a query to its answer, over vectors that no model had to make."""

    def __init__(self, folder: Path, rows: np.ndarray, ids: list[str]) -> None:
        embedder = EmbedderId("benchmark")
        self._index = create_index(folder, Identity(embedder, rows.shape[1]))
        known = [{"split": ("train", "test")[place % 2], "label": f"class {place % 10}"} for place in range(len(ids))]
        for start in range(0, len(ids), 10_000):
            part = slice(start, start + 10_000)
            self._index.add(ids[part], rows[part], modality="image", metadata=known[part])
        self._index.optimise()
        calibration = Calibration(maps={("image", "image"): ProbabilityMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]))})
        words_are_not_asked: Any = None
        lister = Lister(self._index, None, embedder, IndexSpaces())
        suggester = Suggester(words_are_not_asked, None, None)
        answerer = Answerer(lister, words_are_not_asked, calibration, ("image",), suggester)
        self.answer_many = answerer.answer_many

    def close(self) -> None:
        """Give back files."""
        self._index.close()
