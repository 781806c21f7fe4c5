"""Rerun a comparison under both protocols, judge the paper's claims and write the page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from diptych._core.files import write_json, write_text
from diptych.data import Dataset
from diptych.experiments.compare import compare_methods
from diptych.experiments.planning import Run
from diptych.experiments.reproduce.content import Findings, assemble, join_parts
from diptych.experiments.reproduce.inputs import compare_inputs
from diptych.experiments.reproduce.opening import open_data
from diptych.experiments.reproduce.page import render_page
from diptych.experiments.reproduce.plans import INDUCTIVE, TRANSDUCTIVE, Plan, make_plan
from diptych.experiments.reproduce.standings import Standings, lay_over, read_standings
from diptych.experiments.reproduce.studies import Part, Study
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
    params: Mapping[str, Mapping[str, Any]] | None = None,
    note: str = "",
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Rerun the comparison of Huang and Peng (ICME 2017) on one dataset; finished runs are kept and not done twice.

    Args:
        study: "wikipedia", "nuswide10k" or "rsicd".
        out: the folder for `reproduction.md`, `reproduction.json`, the comparisons `inductive/` and `transductive/`,
            and the imported `dataset/`; a study of several parts has the last three for each, in a folder of its name.
        data: the released files or an imported dataset; None goes on with what an earlier run imported.
        seeds: of everything random.
        profile: how wide and long networks train.
        methods: names; None for the whole line-up.
        params: parameters by method, on top of each method's defaults.
        note: a sentence for the page, such as where given parameters are from.
        watcher: told what happens.

    Returns:
        The content of `reproduction.json`.
    """
    chosen = study_called(study)
    plan = make_plan(chosen, seeds, profile, methods, params)
    runs = {protocol: plan.runs(protocol) for protocol in plan.recipes}  # a mistake shows before anything is imported
    folder, source = Path(out).resolve(), None if data is None else Path(data).resolve()
    command = _command(study, seeds, profile, methods, params or {})
    inner = watcher or Watcher()
    datasets = open_data(chosen, source, folder, inner.preparing)
    inner.planned(
        [_named_for(run, _words(part, name)) for part in datasets for name, planned in runs.items() for run in planned]
    )
    places = {str(folder): "REPORT"} | ({str(source): "FOLDER"} if source else {})
    found = [
        _run_part(chosen, plan, part, dataset, folder / (part.name if part else ""), command, places, inner)
        for part, dataset in datasets.items()
    ]
    content = found[0] if not chosen.parts else join_parts(chosen, command, found)
    content["note"] = note
    write_json(folder / "reproduction.json", content)
    write_text(folder / "reproduction.md", render_page(content))
    return content


def _run_part(
    study: Study,
    plan: Plan,
    part: Part | None,
    dataset: Dataset,
    folder: Path,
    command: str,
    places: Mapping[str, str],
    watcher: Watcher,
) -> dict[str, Any]:
    """Everything about one description of the items."""
    results = {
        protocol: _without_paths(
            compare_methods(dataset, recipe, folder / protocol, watcher=_Labelled(watcher, _words(part, protocol))),
            places,
        )
        for protocol, recipe in plan.recipes.items()
    }
    return assemble(
        Findings(
            study=study,
            part=part,
            command=command,
            results=results,
            standings=_standings(plan, results, folder),
            inputs=compare_inputs(dataset, study),
            source=_describe_source(dataset),
        )
    )


def _standings(plan: Plan, results: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Standings]:
    read = {name: read_standings(each, folder / name, plan.absent) for name, each in results.items()}
    return {
        INDUCTIVE: read[INDUCTIVE],
        TRANSDUCTIVE: lay_over(read[INDUCTIVE], read.get(TRANSDUCTIVE), plan.pooled),
    }


def _command(
    study: str,
    seeds: Sequence[int],
    profile: str,
    methods: Sequence[str] | None,
    params: Mapping[str, Mapping[str, Any]],
) -> str:
    """The command without the folders of this machine."""
    words = [f"diptych reproduce {study} --data FOLDER --out REPORT --seeds {','.join(map(str, seeds))}"]
    words.append(f"--profile {profile}")
    if methods is not None:
        words.append(f"--methods {','.join(methods)}")
    words += [f"--set {name}.{key}={json.dumps(value)}" for name, each in params.items() for key, value in each.items()]
    return " ".join(words)


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


def _words(part: Part | None, protocol: str) -> str:
    """What to add to a method's name, so that a display tells its runs apart."""
    return ", ".join([*([part.name] if part else []), *([protocol] if protocol != INDUCTIVE else [])])


def _named_for(run: Run, words: str) -> Run:
    """The same run under a name that says what it belongs to, for those who only show it."""
    return replace(run, method=f"{run.method} ({words})") if words else run


class _Labelled(Watcher):
    """Passes on what happens in one of several comparisons that were announced together."""

    def __init__(self, inner: Watcher, words: str) -> None:
        self._inner = inner
        self._words = words

    def started(self, run: Run, because: str | None) -> None:
        self._inner.started(_named_for(run, self._words), because)

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None) -> None:
        self._inner.stage(_named_for(run, self._words), stage, done, total, figures)

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        self._inner.finished(_named_for(run, self._words), average_map, seconds)

    def kept(self, run: Run, average_map: float) -> None:
        self._inner.kept(_named_for(run, self._words), average_map)

    def failed(self, run: Run, reason: str) -> None:
        self._inner.failed(_named_for(run, self._words), reason)
