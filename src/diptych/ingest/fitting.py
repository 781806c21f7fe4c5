"""Learn the features from items of the training split alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych.errors import DataError
from diptych.features import Pipeline, fit_pipeline, load_pipeline, save_pipeline
from diptych.ingest.picture_sources import Place
from diptych.ingest.plan import Plan
from diptych.progress import Progress
from diptych.seeding import generator


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
    items: dict[str, Iterable[Any]] = {}
    for name in features:
        items[name] = _training_pictures(plan) if name == "image" else _training_texts(plan)
    with threadpool_limits(1):
        pipeline = fit_pipeline(features, items, seed=plan.options.seed, progress=progress)
    save_pipeline(pipeline, folder)
    return pipeline


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
    from diptych.features.image.decoding import Limits
    from diptych.ingest.picture_reading import PictureStream

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
