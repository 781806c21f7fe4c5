"""Build an index: embed every item of a dataset by a model, and store what searching it needs."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Singles
from diptych._core.code_version import code_version
from diptych._core.errors import ConfigError, DataError
from diptych._core.processes import Executor
from diptych._core.progress import Progress, silent
from diptych.data import Dataset, Partition
from diptych.index import EmbedderId, EngineLocation, Identity, Index, engines_with_codes
from diptych.media import KINDS
from diptych.methods import Method, load_model, model_fingerprint
from diptych.methods.binary_codes import learn_codes
from diptych.methods.parallel import embed_blocks_by
from diptych.methods.purposes import Purpose
from diptych.search.browse.projection import Projection, ProjectionChoice, project, write_projection
from diptych.search.entries import describe_dataset, describe_items, entry_id, media_names
from diptych.search.handover import take_over_changes
from diptych.search.index_folder import CALIBRATION_FILE, MEDIA_FOLDER, MODEL_FOLDER, WorkFolder, work_folder
from diptych.search.index_folder import FILE as DESCRIPTION_FILE
from diptych.search.listing import Lister
from diptych.search.media_store import MediaStore, media_importer
from diptych.search.probability.calibration import Calibration, write_calibration
from diptych.search.probability.calibrator import calibrate
from diptych.search.probability.rank_learning import DocumentLearner
from diptych.search.raw_embedder import RawEmbedder, media_type_of
from diptych.search.spaces import IndexSpaces, check_indexable
from diptych.search.texts import FOLDER as TEXTS_FOLDER
from diptych.search.texts import Texts, TextsPlan, create_texts, open_texts, plan_texts

_BLOCK = 1_024
_Take = Callable[[Sequence[str], Sequence[str | None]], dict[str, str]]
"""Stores the files of entries by their ids and names; returns hashes by id."""


@dataclass(frozen=True)
class Built:
    """What was built.

    Attributes:
        entries: how many of each modality are in the index.
        without_direction: how many items had the zero vector, which cannot be found, and were left out.
        images: how many have an image or a sound to show.
        calibration: how cosines become probabilities.
        resumed: whether earlier work was taken up.
        seconds: what it took.
        purposes: what a query may ask for, where the model has several spaces.
        taken_over: how many entries were taken over from the index that was replaced, where they had been changed.
    """

    entries: dict[str, int]
    without_direction: int
    images: int
    calibration: Calibration
    resumed: bool
    seconds: float
    purposes: tuple[Purpose, ...] = ()
    taken_over: int = 0


def build_index(
    model_folder: str | Path,
    dataset: Dataset,
    out: str | Path,
    *,
    engine: str = "local",
    url: str | None = None,
    engine_options: Mapping[str, Any] | None = None,
    bits: int | None = None,
    purpose: Purpose = "auto",
    projection: ProjectionChoice | Projection = "auto",
    thumbnails: bool = True,
    keep_originals: bool = False,
    overwrite: bool = False,
    keep_changes: bool = True,
    former: Path | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Built:
    """Build an index of a dataset's items; the folder appears when it is whole.

    Work that was interrupted is kept beside the target, and the same call goes on from there.

    Args:
        model_folder: a saved model; it is copied into the index.
        dataset: the items, of all splits.
        out: the index's folder.
        engine: which engine stores the vectors.
        url: the URL of the engine's server, if it has one.
        engine_options: options of that engine for the vectors, such as how many neighbours its structure links.
        bits: length of the binary codes that are searched before vectors are scored; 0 for none. None takes the
            model's, where it has some. Codes of another length are learned from the items.
        purpose: which spaces of the model to index, if it has several; "auto" takes all.
        projection: how positions for the explore view are made; or those of an earlier index of the same items.
        thumbnails: whether images are copied small.
        keep_originals: whether images are copied as they are, so that the index can be moved without them.
        overwrite: replace an existing index, which may be searched and changed meanwhile.
        keep_changes: whether what was added, replaced or removed since that index was built is taken over.
        former: where to keep the index that is replaced; None deletes it.
        seed: of what is drawn for calibration and projection.
        executor: where items are embedded, such as a cluster; None for this process.
        progress: called with the progress.
    """
    started = time.perf_counter()
    model = load_model(model_folder)
    model.check_rows_of(dataset)
    _check_modalities(model, dataset)
    check_indexable(model, dataset)
    spaces = IndexSpaces.of(model, dataset, purpose)
    bits = model.bits if bits is None else bits
    if bits and engine not in engines_with_codes():
        able = ", ".join(engines_with_codes())
        raise ConfigError(f"the engine {engine} searches no binary codes; choose one of {able}, or --bits 0.")
    embedder = EmbedderId(model_fingerprint(model_folder), model.record_.get("pipeline") or "")
    inputs = {
        "model": embedder.model,
        "dataset": dataset.fingerprint,
        "source": dict(dataset.source),
        "options": [engine, EngineLocation(engine, url).public_url, thumbnails, keep_originals, spaces.purpose, bits],
        "code": code_version("diptych.search.build"),
    } | ({"engine_options": dict(engine_options)} if engine_options else {})
    target = Path(out)
    with work_folder(target, inputs, overwrite=overwrite, former=former) as work:
        location = replace(EngineLocation.found(engine, url, work.server_name), options=engine_options or {})
        plan = plan_texts(model, location) if "text" in dataset.metadata_columns else None
        with ExitStack() as opened:
            index = opened.enter_context(_opened(work, model, dataset, spaces, embedder, location, bits, seed))
            texts = None if plan is None else Texts(plan, opened.enter_context(_texts(work, plan, location, embedder)))
            embed = partial(embed_blocks_by, executor, model, Path(model_folder), purpose=spaces.embedded_for)
            build = _Build(model, embed, dataset, index, texts, spaces, work, thumbnails, keep_originals, progress)
            build.add_everything()
            for each in (index, *([] if texts is None else [texts.index])):
                each.optimise()
            entries = {name: index.count(modality=name) for name in model.modalities}
            lister = Lister(index, texts, embedder, spaces)
            calibration = calibrate(model, dataset, spaces=spaces, lister=lister, seed=seed, progress=progress)
            raw = RawEmbedder(model, spaces.embedded_for)
            learner = DocumentLearner(lister, raw, dataset, model.modalities, seed)
            calibration = learner.learn(calibration, progress)
            progress("laying out", 0, 1)
            layout = projection if isinstance(projection, Projection) else project(index, projection, seed=seed)
            progress("laying out", 1, 1)
        write_calibration(calibration, work.path / CALIBRATION_FILE)
        if layout is not None:
            write_projection(layout, work.path)
        _copy_model(Path(model_folder), work.path / MODEL_FOLDER)
        described = describe_dataset(dataset, model.modalities, target, location)
        written = {} if plan is None else plan.to_json()
        replace(described, spaces=spaces.to_json(), texts=written, entries=entries).write(work.path)
        resumed, taken_over = work.resumed, 0
        if keep_changes and (target / DESCRIPTION_FILE).is_file():
            taken_over = take_over_changes(work, target, url, progress)
    wanted = sum(len(dataset.everything.having(name)) for name in model.modalities)
    return Built(
        entries=entries,
        without_direction=wanted - sum(entries.values()),
        images=build.images,
        calibration=calibration,
        resumed=resumed,
        seconds=time.perf_counter() - started,
        purposes=spaces.purposes,
        taken_over=taken_over,
    )


@dataclass
class _Build:
    """The work of one build."""

    model: Method
    embed: Callable[[str, Iterator[Features]], Iterator[Singles]]
    dataset: Dataset
    index: Index
    texts: Texts | None
    spaces: IndexSpaces
    work: WorkFolder
    thumbnails: bool
    keep_originals: bool
    progress: Progress
    images: int = 0

    def add_everything(self) -> None:
        """Bring in all modalities, block by block."""
        store = MediaStore(self.work.path / MEDIA_FOLDER, create=True)
        try:
            with media_importer(self.dataset, store, keep_originals=self.keep_originals) as importer:
                for modality in self.model.modalities:
                    kind = media_type_of(self.model, modality)
                    take = None
                    if self.thumbnails and importer is not None and kind is not None and kind in KINDS:
                        take = partial(importer.take, kind=kind)
                    self._add(modality, take)
            self.images = store.count()
        finally:
            store.close()

    def _add(self, modality: str, take: _Take | None) -> None:
        everything = self.dataset.everything.having(modality)
        start, total = self.work.done(modality), len(everything)
        rest = everything.take(np.arange(start, total))
        began = time.perf_counter()
        embeddings = self.embed(modality, rest.blocks(modality, _BLOCK))
        for part, block in zip(_parts(rest), embeddings, strict=True):
            self._add_block(modality, part, block, take)
            start += len(part)
            self.work.mark(modality, start)
            rate = (start - total + len(rest)) / (time.perf_counter() - began)
            self.progress(f"indexing {modality}", start, total, {"per second": rate})

    def _add_block(self, modality: str, part: Partition, embeddings: Any, take: _Take | None) -> None:  # noqa: ANN401
        usable = self.spaces.complete(embeddings)
        kept, rows = part.take(usable), embeddings[usable]
        ids = [entry_id(modality, str(item)) for item in kept.ids]
        metadata = list(describe_items(self.dataset, kept.index))
        kind = media_type_of(self.model, modality) or ""
        hashes = take(ids, media_names(self.dataset, kept.index, kind)) if take is not None else {}
        for id, known in zip(ids, metadata, strict=True):
            if id in hashes:
                known["media"] = hashes[id]
        if self.texts is not None and modality == self.texts.plan.modality and ids:
            self.texts.write(ids, kept.features(modality), metadata)
        # An update, for a kill may have come between the last block and the note that it is in.
        self.index.update(ids, rows, modality=modality, metadata=metadata)


def _opened(
    work: WorkFolder,
    model: Method,
    dataset: Dataset,
    spaces: IndexSpaces,
    embedder: EmbedderId,
    location: EngineLocation,
    bits: int,
    seed: int,
) -> Index:
    """The index to fill: a new one, or the one that an interrupted build left."""
    if work.resumed:
        return location.open(work.path, embedder)
    name = model.modalities[0]
    one = dataset.everything.having(name)
    dimension = model.embed(name, one.take(np.arange(1)).features(name), spaces.embedded_for).shape[1]
    if bits:
        own = model.bits == bits and len(model.codes_.centre) == dimension
        codes = model.codes_ if own else learn_codes(spaces.some_embeddings(model, dataset, seed), bits, seed=seed)
        location = replace(location, options={**location.options, "bits": bits, "codes": codes})
    index = location.create(work.path, Identity(embedder, dimension), parts_searched=len(spaces.widths) > 1)
    work.path.mkdir(exist_ok=True)
    work.begin()
    return index


def _texts(work: WorkFolder, plan: TextsPlan, location: EngineLocation, embedder: EmbedderId) -> Index:
    """The index of the texts to fill; one that an interruption left before anything was noted is made anew."""
    if work.has_texts:
        return open_texts(plan, location, work.path, embedder, writable=True)
    shutil.rmtree(work.path / TEXTS_FOLDER, ignore_errors=True)
    try:
        index = create_texts(plan, location, work.path, embedder)
    except DataError:
        if plan.place is None:
            raise
        index = open_texts(plan, location, work.path, embedder, writable=True)  # made on a server just before a kill
    work.note_texts()
    return index


def _parts(part: Partition) -> Iterator[Partition]:
    for start in range(0, len(part), _BLOCK):
        yield part.take(np.arange(start, min(start + _BLOCK, len(part))))


def _check_modalities(model: Method, dataset: Dataset) -> None:
    for name in model.modalities:
        if name not in dataset.modalities or not dataset.modalities[name].items:
            raise DataError(f"{dataset.path} has no {name}, which the model was fitted on; give another dataset.")


def _copy_model(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)  # what a kill left of it
    shutil.copytree(source, target)
