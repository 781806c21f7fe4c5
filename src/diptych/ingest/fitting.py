"""Learn the features from items of the training split alone."""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych._core.errors import DataError
from diptych._core.progress import Progress
from diptych._core.seeding import generator
from diptych.data.fingerprint import hash_records
from diptych.features import FittedModality, Pipeline, fit_pipeline, load_pipeline, make_feature, save_pipeline
from diptych.features.composition import learns
from diptych.ingest.plan import Plan
from diptych.ingest.row_cache import features_code, library_versions, rows_folder
from diptych.media import Place, hash_places

_MOST_FITTED = 20


def fit_features(plan: Plan, folder: Path, progress: Progress) -> Pipeline:
    """Fit the features of all media that some item has, and keep them in a folder; what is there is not fitted again.

    One thread does the sums, so that the result is the same on machines with any number of cores.
    """
    if folder.exists():
        return load_pipeline(folder)
    there = {"image": bool(len(plan.places)), "text": bool(plan.texts)}
    features = {name: (name, written) for name, written in plan.options.features.items() if there[name]}
    if not features:
        raise DataError(f"{plan.options.pairs} gives neither a picture nor a text to make features of.")
    if "train" not in plan.splits:
        raise DataError(f"{plan.options.pairs} has no training item to learn features from; see --split-shares.")
    parts = {name: _fitted(plan, name, written, progress) for name, (_, written) in features.items()}
    pipeline = Pipeline(parts)
    save_pipeline(pipeline, folder)
    return pipeline


def _fitted(plan: Plan, medium: str, written: str, progress: Progress) -> FittedModality:
    """Fit one medium's features; what was learned of the same images before is taken from the cache."""
    kept = fitted_folder(plan, written) if medium == "image" and learns(make_feature(medium, written)) else None
    if kept is not None and kept.exists():
        with suppress(DataError):
            return load_pipeline(kept).of(medium)
    items: Iterable[Any] = _training_pictures(plan) if medium == "image" else _training_texts(plan)
    with threadpool_limits(1):
        fitted = fit_pipeline({medium: (medium, written)}, {medium: items}, seed=plan.options.seed, progress=progress)
    if kept is not None:
        with suppress(OSError, DataError):
            save_pipeline(fitted, kept, overwrite=True)
            _trim(kept.parent)
    return fitted.of(medium)


def fitted_folder(plan: Plan, written: str) -> Path | None:
    """Where image features that were learned from these very images are kept; None where nothing is kept."""
    root = rows_folder() if plan.options.reuse else None
    if root is None:
        return None
    options = plan.options
    read = [str(plan.source_path), plan.source_stamp, hash_places(training_places(plan))]
    decided = [written, read, options.seed, options.max_pixels, options.max_bytes, library_versions(), features_code()]
    return root.parent / "features" / hash_records(decided)


def _trim(folder: Path) -> None:
    """Keep what was learned last."""
    entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[_MOST_FITTED:]:
        shutil.rmtree(path, ignore_errors=True)


def find_pipeline(folder: Path) -> Path:
    """The pipeline's folder in a dataset, in a model, or itself."""
    for candidate in (folder, folder / "pipeline"):
        if (candidate / "pipeline.json").is_file():
            return candidate
    raise DataError(f"{folder} holds no pipeline; give a dataset that was ingested, or a model fitted on one.")


def _training_texts(plan: Plan) -> list[str]:
    pairs = zip(plan.items, plan.splits, strict=True)
    return [item.texts[0] for item, split in pairs if split == "train" and item.texts]


def _training_pictures(plan: Plan) -> Iterable[Any]:
    from diptych.ingest.picture_reading import PictureStream
    from diptych.media.decoding import Limits

    limits = Limits(plan.options.max_pixels, plan.options.max_bytes)
    return PictureStream(plan.source_path, plan.source_kind, training_places(plan), limits)


def training_places(plan: Plan) -> Sequence[Place]:
    """The training pictures that features learn from: all, or a sample of the number asked for."""
    is_training = np.array([split == "train" for split in plan.splits])
    elsewhere = np.unique(plan.place_of_item[~is_training])
    numbers = np.setdiff1d(plan.place_of_item[is_training & (plan.place_of_item >= 0)], elsewhere)
    most = plan.options.fit_pictures
    if len(numbers) > most:
        numbers = np.sort(generator(plan.options.seed, "ingest", "fit").choice(numbers, most, replace=False))
    return [plan.places[number] for number in numbers]
