"""Ingest: from files to a dataset with fitted features, in steps that a kill cannot undo."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import explained_writes
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.features import load_pipeline, save_pipeline
from diptych.ingest.assemble import IngestReport, assemble
from diptych.ingest.extract import extract, find_pipeline, fit_features, units_of
from diptych.ingest.items import GatheredItems
from diptych.ingest.options import IngestOptions
from diptych.ingest.plan import Plan, plan_ingest
from diptych.ingest.work_folder import work_folder


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
    progress: Progress = silent,
    planned: Callable[[Plan], None] = lambda plan: None,
) -> Ingested:
    """Make a dataset of images and texts.

    The features are fitted on training items alone, then extracted for all. What is done is kept in a folder beside
    the target until the dataset is whole; the same call goes on from there, and its result is the same to the byte,
    whenever it was interrupted and however many workers there are.

    Args:
        options: what to read and what to make of it.
        gathered: items that were read already, instead of those of `options.pairs`.
        workers: parallel processes; 0 works in this one.
        progress: receives the progress.
        planned: told the plan before the work begins.
    """
    if workers < 0:
        raise ConfigError(f"workers is {workers}; it must be 0 or more.")
    plan = plan_ingest(options, gathered)
    planned(plan)
    refused = [problem for problem in plan.problems if problem.kind == "picture"]
    if refused and options.on_broken == "fatal":
        raise DataError(f"{refused[0]}; mend it, or pass --on-broken skip.")
    given = None if options.pipeline is None else load_pipeline(find_pipeline(options.pipeline))
    with (
        explained_writes(options.out, "run the same command again, which goes on from here"),
        work_folder(plan, None if given is None else given.fingerprint) as work,
    ):
        if given is not None and not work.pipeline.exists():
            save_pipeline(given, work.pipeline)
        pipeline = fit_features(plan, work.pipeline, progress)
        everything = units_of(plan, pipeline)
        reused = extract(plan, everything, work, workers, progress)
        dataset, report = assemble(plan, pipeline, everything, work)
        return Ingested(dataset, report, work.resumed, reused)
