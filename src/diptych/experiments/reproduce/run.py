"""Rerun a comparison under both protocols, judge the paper's claims and write the page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from diptych.atomic import write_json, write_text
from diptych.data import Dataset
from diptych.experiments.compare import compare_methods
from diptych.experiments.planning import Run
from diptych.experiments.reproduce.content import Findings, assemble
from diptych.experiments.reproduce.inputs import compare_inputs
from diptych.experiments.reproduce.opening import open_data
from diptych.experiments.reproduce.page import render_page
from diptych.experiments.reproduce.plans import INDUCTIVE, TRANSDUCTIVE, Plan, make_plan
from diptych.experiments.reproduce.standings import Standings, lay_over, read_standings
from diptych.experiments.reproduce.studies import study as study_called
from diptych.experiments.reproduce.wording import without_paths
from diptych.experiments.watching import Watcher

SEEDS = (0, 1, 2, 3, 4)
PROFILE = "standard"


def reproduce_study(
    study: str,
    out: str | Path,
    *,
    data: str | Path | None = None,
    seeds: Sequence[int] = SEEDS,
    profile: str = PROFILE,
    methods: Sequence[str] | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Rerun the comparison of Huang and Peng (ICME 2017) on one dataset; finished runs are kept and not done twice.

    Args:
        study: "wikipedia" or "nuswide10k".
        out: the folder for `reproduction.md`, `reproduction.json`, the comparisons `inductive/` and `transductive/`,
            and the imported `dataset/`.
        data: the released files or an imported dataset; None goes on with what an earlier run imported.
        seeds: of everything random.
        profile: how wide and long networks train.
        methods: names; None for the whole line-up.
        watcher: told what happens.

    Returns:
        The content of `reproduction.json`.
    """
    chosen = study_called(study)
    plan = make_plan(chosen, seeds, profile, methods)
    runs = {protocol: plan.runs(protocol) for protocol in plan.recipes}  # a mistake shows before anything is imported
    folder, source = Path(out).resolve(), None if data is None else Path(data).resolve()
    dataset = open_data(chosen, source, folder / "dataset")
    inner = watcher or Watcher()
    inner.planned([_named_for(run, protocol) for protocol, planned in runs.items() for run in planned])
    places = {str(folder): "REPORT"} | ({str(source): "FOLDER"} if source else {})
    results = {
        protocol: _without_paths(
            compare_methods(dataset, recipe, folder / protocol, watcher=_Part(inner, protocol)), places
        )
        for protocol, recipe in plan.recipes.items()
    }
    content = assemble(
        Findings(
            study=chosen,
            command=_command(study, seeds, profile, methods),
            results=results,
            standings=_standings(plan, results, folder),
            inputs=compare_inputs(dataset, chosen),
            source=_describe_source(dataset),
        )
    )
    write_json(folder / "reproduction.json", content)
    write_text(folder / "reproduction.md", render_page(content))
    return content


def _standings(plan: Plan, results: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Standings]:
    read = {name: read_standings(each, folder / name, plan.absent) for name, each in results.items()}
    return {
        INDUCTIVE: read[INDUCTIVE],
        TRANSDUCTIVE: lay_over(read[INDUCTIVE], read.get(TRANSDUCTIVE), plan.pooled),
    }


def _command(study: str, seeds: Sequence[int], profile: str, methods: Sequence[str] | None) -> str:
    """The command without the folders of this machine."""
    words = f"diptych reproduce {study} --data FOLDER --out REPORT --seeds {','.join(map(str, seeds))}"
    chosen = "" if methods is None else f" --methods {','.join(methods)}"
    return f"{words} --profile {profile}{chosen}"


def _describe_source(dataset: Dataset) -> str:
    """How items were chosen and split, if the dataset says so."""
    parts = []
    for key in ("selection", "split"):
        value = dataset.source.get(key)
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {each}" for name, each in value.items())
        if value:
            parts.append(f"{key}: {value}")
    return "; ".join(parts)


def _without_paths(results: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    failures = {name: without_paths(reason, places) for name, reason in results["failures"].items()}
    return dict(results) | {"failures": failures}


def _named_for(run: Run, protocol: str) -> Run:
    """The same run under a name that says which protocol it belongs to, for those who only show it."""
    return run if protocol == INDUCTIVE else replace(run, method=f"{run.method} ({protocol})")


class _Part(Watcher):
    """Passes on what happens in one of several comparisons that were announced together."""

    def __init__(self, inner: Watcher, protocol: str) -> None:
        self._inner = inner
        self._protocol = protocol

    def started(self, run: Run, because: str | None) -> None:
        self._inner.started(_named_for(run, self._protocol), because)

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None) -> None:
        self._inner.stage(_named_for(run, self._protocol), stage, done, total, figures)

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        self._inner.finished(_named_for(run, self._protocol), average_map, seconds)

    def kept(self, run: Run, average_map: float) -> None:
        self._inner.kept(_named_for(run, self._protocol), average_map)

    def failed(self, run: Run, reason: str) -> None:
        self._inner.failed(_named_for(run, self._protocol), reason)
