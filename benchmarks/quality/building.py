"""Indexes of the sets, built as a user builds them and kept until code or data change."""

import hashlib
from pathlib import Path

from benchmarks.quality.sets import SearchedSet
from benchmarks.quality.systems import System
from diptych._core.code_version import code_version
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, model_fingerprint, save_model
from diptych.search import build_index


def built_index(
    searched: SearchedSet, system: System, folder: Path, *, workers: int = 0, progress: Progress = silent
) -> Path:
    """The folder of an index of a set.

    Args:
        searched: the set.
        system: features and method.
        folder: where datasets, models and indexes are kept.
        workers: parallel processes that extract features.
        progress: told how far it is.
    """
    dataset = _dataset(searched, system, folder, workers, progress)
    model = _model(dataset, system, folder, progress)
    code = code_version("diptych.search.build")
    out = folder / "indexes" / _key(searched.name, model_fingerprint(model), dataset.fingerprint, code)
    if not out.exists():
        build_index(model, dataset, out, thumbnails=False, projection="none", progress=progress)
    return out


def _dataset(searched: SearchedSet, system: System, folder: Path, workers: int, progress: Progress) -> Dataset:
    table = hashlib.sha256(searched.pairs.read_bytes()).hexdigest()
    code = code_version("diptych.ingest.run")
    out = folder / "datasets" / _key(searched.name, system.image, system.text, table, code)
    if not out.exists():
        features = {"image": system.image, "text": system.text}
        options = IngestOptions(searched.pairs, out, searched.images, features, name=searched.name)
        ingest(options, workers=workers, progress=progress)
    return Dataset.open(out)


def _model(dataset: Dataset, system: System, folder: Path, progress: Progress) -> Path:
    method = create(system.method)
    code = code_version(type(method).__module__)
    out = folder / "models" / _key(dataset.name, system.method, dataset.fingerprint, code)
    if not out.exists():
        save_model(method.fit(dataset, progress=progress), out)
    return out


def _key(name: str, *parts: str) -> str:
    """A name for what was made of some parts."""
    return f"{name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"
