"""Ingest: fit features, extract them and assemble the dataset, in steps that a kill cannot undo."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Features, Integers
from diptych._core.cluster import open_executor
from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_folder, explained_writes, write_json
from diptych._core.progress import Progress, silent
from diptych.data import Dataset, Draft, ModalityRows
from diptych.data.dataset_files import PIPELINE_FOLDER
from diptych.data.tables import Problem, ProblemKind
from diptych.data.writing import write_draft
from diptych.features import Pipeline, load_pipeline, save_pipeline
from diptych.features.contract import width
from diptych.ingest.describe import stacked
from diptych.ingest.extract import Units, extract, find_pipeline, fit_features, units_of
from diptych.ingest.items import GatheredItems, nothing_of
from diptych.ingest.options import IngestOptions
from diptych.ingest.plan import Plan, plan_ingest
from diptych.ingest.work_folder import WorkFolder, read_shard, shard_path, work_folder
from diptych.ingest.workers import same_libraries
from diptych.media import media_column

REPORT_FILE = "ingest-report.json"


@dataclass(frozen=True)
class IngestReport:
    """The outcome of an ingest; the same inputs give the same report.

    Attributes:
        items: how many items the dataset holds; several captions of one image count once.
        with_modality: how many of them have each modality.
        columns: which column was read as what.
        problems: all that was left out or read with doubt, in order.
    """

    items: int
    with_modality: dict[str, int]
    columns: dict[str, str | None]
    problems: Sequence[Problem]

    def count(self, kind: ProblemKind) -> int:
        """How many problems there are of a kind."""
        return sum(problem.kind == kind for problem in self.problems)

    def to_json(self) -> dict[str, Any]:
        """The report as it is written beside the dataset."""
        return {
            "items": self.items,
            "with_modality": self.with_modality,
            "columns": self.columns,
            "broken_pictures": self.count("picture"),
            "skipped_rows": self.count("row"),
            "problems": [asdict(problem) for problem in self.problems],
        }


@dataclass(frozen=True)
class Ingested:
    """What an ingest made.

    Attributes:
        dataset: the dataset, opened.
        report: what was left out and why; also in the dataset's folder.
        resumed: whether earlier work was taken up.
        reused: by modality, how many rows an earlier ingest had made already.
    """

    dataset: Dataset
    report: IngestReport
    resumed: bool
    reused: Mapping[str, int] = field(default_factory=dict)


def ingest(
    options: IngestOptions,
    *,
    gathered: GatheredItems | None = None,
    workers: int = 0,
    cluster: str | None = None,
    progress: Progress = silent,
    planned: Callable[[Plan], None] = lambda plan: None,
) -> Ingested:
    """Make a dataset of images, sounds and texts.

    The features are fitted on training items alone, then extracted for all. What is done is kept in a folder beside
    the target until the dataset is whole; the same call goes on from there, and its result is the same to the byte,
    whenever it was interrupted and however many workers there are.

    Args:
        options: what to read and what to make of it.
        gathered: items that were read already, instead of those of `options.pairs`.
        workers: parallel processes; 0 works in this one.
        cluster: the address of a Dask scheduler on whose workers features are extracted, instead of processes of this
            machine; needs the extra "cluster".
        progress: receives the progress.
        planned: told the plan before the work begins.
    """
    if workers < 0:
        raise ConfigError(f"workers is {workers}; it must be 0 or more.")
    with open_executor(workers, cluster, same_libraries) as executor:
        plan = plan_ingest(options, gathered)
        planned(plan)
        refused = [problem for problem in plan.problems if problem.kind == "picture"]
        if refused and options.on_broken == "fatal":
            raise DataError(f"{refused[0]}; mend it, or pass --on-broken skip.")
        given = None if options.pipeline is None else load_pipeline(find_pipeline(options.pipeline))
        with (
            explained_writes(options.out, "run the same command again to continue"),
            work_folder(plan, None if given is None else given.fingerprint) as work,
        ):
            if given is not None and not work.pipeline.exists():
                save_pipeline(given, work.pipeline)
            pipeline = fit_features(plan, work.pipeline, progress)
            everything = units_of(plan, pipeline)
            reused = extract(plan, everything, work, executor, progress)
            dataset, report = _assemble(plan, pipeline, everything, work)
            return Ingested(dataset, report, work.resumed, reused)


@dataclass(frozen=True)
class _Outcome:
    """The outcome of one modality: which items have it, and what was broken."""

    units: Units
    present: Booleans
    problems: list[Problem]


def _assemble(
    plan: Plan, pipeline: Pipeline, everything: Sequence[Units], work: WorkFolder
) -> tuple[Dataset, IngestReport]:
    """Write the dataset from the shards, one of them in memory at a time where rows are dense."""
    outcomes = [_outcome(plan, units, work) for units in everything]
    kept = np.logical_or.reduce([outcome.present for outcome in outcomes])
    if not kept.any():
        first = next(problem for outcome in outcomes for problem in outcome.problems)
        raise DataError(f"no item has a file or a text that can be used; the first problem: {first}.")
    problems = [*plan.problems, *(problem for outcome in outcomes for problem in outcome.problems)]
    problems += [
        Problem("row", item.where, f"{nothing_of(plan.files)} that can be used, and is left out")
        for item, keep in zip(plan.items, kept, strict=True)
        if not keep
    ]
    usable = [outcome for outcome in outcomes if outcome.present.any()]
    modalities = {
        outcome.units.modality: ModalityRows(
            pipeline.of(outcome.units.modality).extractor.kind,
            _rows(pipeline, outcome, work),
            outcome.present[kept],
            origin=f"the {outcome.units.media_type} features",
        )
        for outcome in usable
    }
    report = IngestReport(
        items=_documents(plan, kept),
        with_modality={outcome.units.modality: _documents(plan, outcome.present) for outcome in usable},
        columns=plan.columns.to_json(),
        problems=problems,
    )
    write_json(work.path / REPORT_FILE, report.to_json())
    draft = replace(
        _draft(plan, np.flatnonzero(kept), {outcome.units.media_type: outcome.present for outcome in outcomes}),
        modalities=modalities,
        pipeline_fingerprint=pipeline.fingerprint,
        attachments={PIPELINE_FOLDER: work.pipeline, REPORT_FILE: work.path / REPORT_FILE},
    )
    finished = work.path / "dataset"
    shutil.rmtree(finished, ignore_errors=True)  # what a kill left of it
    return _publish(write_draft(finished, draft), plan), report


def _documents(plan: Plan, marked: Booleans) -> int:
    """How many documents have an item that is marked: several captions of one image are one."""
    return len({plan.items[number].document for number in np.flatnonzero(marked).tolist()})


def _publish(finished: Dataset, plan: Plan) -> Dataset:
    """Move the dataset from the work folder to its target, so that a kill leaves nothing half-written there."""
    with atomic_folder(plan.options.out, overwrite=plan.options.overwrite) as temporary:
        for path in sorted(finished.path.iterdir()):
            path.rename(temporary / path.name)
    return Dataset.open(plan.options.out)


def _outcome(plan: Plan, units: Units, work: WorkFolder) -> _Outcome:
    usable = np.zeros(len(units.units), dtype=np.bool_)
    problems: list[Problem] = []
    at = 0
    for task in units.tasks():
        shard = read_shard(shard_path(work.shards, task.modality, task.number))
        usable[at : at + len(task.units)] = shard.present
        at += len(task.units)
        for unit, reason in zip(task.units, shard.reasons, strict=True):
            if reason and units.media_type != "text":
                problems.append(Problem("picture", unit.name, reason))
            elif reason:
                problems.append(Problem("text", f"the text '{unit[:40]}'", reason))
    has_unit = units.unit_of_item >= 0
    return _Outcome(units, has_unit & usable[units.unit_of_item], problems)


def _rows(pipeline: Pipeline, outcome: _Outcome, work: WorkFolder) -> Features:
    """One row for each item that has the modality, in item order; dense ones in a file that is mapped, not loaded."""
    extractor = pipeline.of(outcome.units.modality).extractor
    wanted = outcome.units.unit_of_item[outcome.present]
    if extractor.kind == "counts":
        return _counts(outcome, wanted, work)
    path = work.path / f"{outcome.units.modality}.npy"
    shape = len(wanted), width(extractor.blocks)
    rows = np.lib.format.open_memmap(path, "w+", np.dtype("<f4"), shape)
    _allocate(path)
    order = np.argsort(wanted, kind="stable")
    at = 0
    for task in outcome.units.tasks():
        shard = read_shard(shard_path(work.shards, task.modality, task.number))
        start, stop = np.searchsorted(wanted[order], [at, at + len(task.units)])
        here = order[start:stop]
        row_of_unit = np.cumsum(shard.present) - 1
        rows[here] = shard.rows[row_of_unit[wanted[here] - at]]
        at += len(task.units)
    rows.flush()
    del rows
    return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]


def _allocate(path: Path) -> None:
    """Allocate a file on the disk: a full disk is an error now rather than a signal that kills the process later."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _counts(outcome: _Outcome, wanted: Integers, work: WorkFolder) -> Features:
    shards = [read_shard(shard_path(work.shards, task.modality, task.number)) for task in outcome.units.tasks()]
    row_of_unit = np.cumsum(np.concatenate([shard.present for shard in shards])) - 1
    return stacked([shard.rows for shard in shards])[row_of_unit[wanted]]


def _draft(plan: Plan, kept: Integers, present: dict[str, Booleans]) -> Draft:
    """Everything but the rows."""
    items = [plan.items[number] for number in kept]
    labels = [plan.labels[number] for number in kept]
    used = {name for names in labels for name in names}
    named = {media_column(kind): _names(plan, kind, kept, present.get(kind)) for kind in ("image", *plan.files)}
    others = {
        name: [item.metadata.get(name) for item in items]
        for name in dict.fromkeys(name for item in plan.items for name in item.metadata)
    }
    return Draft(
        name=plan.options.name or plan.options.out.resolve().name,
        ids=[item.id for item in items],
        splits=[plan.splits[number] for number in kept],
        labels=[list(names) for names in labels],
        classes=[name for name in plan.classes if name in used],
        modalities={},
        documents=[item.document for item in items],
        metadata={**named, "text": [item.texts[0] if item.texts else None for item in items], **others},
        source=_source(plan),
        origin=plan.options.pairs.name,
    )


def _names(plan: Plan, kind: str, kept: Integers, present: Booleans | None) -> list[str | None]:
    """The name of each item's file of a kind, None where it has none that can be used."""
    places = [plan.place(kind, number) if present is not None and present[number] else None for number in kept]
    return [None if place is None else place.name for place in places]


def _source(plan: Plan) -> dict[str, Any]:
    """Where everything came from, so that images and sounds can be shown later."""
    options = plan.options
    return {
        "importer": "ingest",
        "pairs": _as_seen_from(options.out, options.pairs),
        "images": _as_seen_from(options.out, plan.source_path),
        "images_kind": plan.source_kind,
        "columns": plan.columns.to_json(),
        "captions": options.captions,
        "seed": options.seed,
        **options.about,
    }


def _as_seen_from(folder: Path, path: Path) -> str:
    """A path relative to the dataset's folder where they share more than the machine's root, else in full."""
    here, there = folder.resolve(), path.resolve()
    shared = Path(os.path.commonpath([here, there])) if here.anchor == there.anchor else None
    if shared is None or shared == Path(here.anchor):
        return there.as_posix()
    return Path(os.path.relpath(there, here)).as_posix()
