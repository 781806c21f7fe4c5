"""Rerun a published comparison and judge which of its claims hold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DiptychError
from diptych._core.files import write_json, write_text
from diptych.data import Dataset, Protocol
from diptych.experiments.compare import Callbacks, compare_methods
from diptych.experiments.recipe import Recipe, Run, plan, with_params
from diptych.experiments.reproduce.findings import (
    APPENDIX,
    Findings,
    assemble,
    join_parts,
    parts_of,
    render_appendix,
    render_page,
)
from diptych.experiments.reproduce.preparation import (
    Sizes,
    check_raw,
    compare_inputs,
    describe_plan,
    existing_dataset,
    finished_runs,
    imported_to,
    open_data,
    run_seconds,
)
from diptych.experiments.reproduce.standings import INDUCTIVE, TRANSDUCTIVE, Standings, lay_over, read_standings
from diptych.experiments.reproduce.studies import LINEUP, STUDIES, Part, Study, row_of
from diptych.experiments.reproduce.studies import study as study_called
from diptych.methods import registry

__all__ = [
    "PROFILE",
    "SEEDS",
    "STUDIES",
    "Study",
    "parts_of",
    "render_appendix",
    "render_page",
    "reproduce_study",
]


@dataclass(frozen=True)
class Plan:
    """The comparisons of one reproduction.

    Attributes:
        recipes: by protocol; transductive is left out when no method reads a pool.
        pooled: the methods that read a pool.
        absent: methods of the line-up that are not part of this version, with the reason.
    """

    recipes: Mapping[str, Recipe]
    pooled: tuple[str, ...]
    absent: Mapping[str, str]

    def runs(self, protocol: str) -> list[Run]:
        """The runs under a protocol, in order."""
        return plan(self.recipes[protocol])


def make_plan(
    study: Study,
    seeds: Sequence[int],
    profile: str | None,
    methods: Sequence[str] | None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """Plan a reproduction.

    Args:
        study: what is reproduced.
        seeds: of everything random.
        profile: how long and wide networks train.
        methods: names; None for the whole line-up, of which what this version lacks is reported as failed.
        params: parameters by method, on top of each method's defaults.

    Raises:
        ConfigError: for a name given that nobody knows, or no name at all.
    """
    known = registry.names()
    wanted = tuple(row.method for row in LINEUP) if methods is None else tuple(methods)
    absent = {} if methods is not None else {m: "it is not part of this version" for m in wanted if m not in known}
    chosen = tuple(name for name in wanted if name not in absent)
    if not chosen:  # a recipe without names would mean every method there is
        raise ConfigError("there is no method to run; name at least one.")
    first = with_params(
        Recipe(methods=chosen, seeds=tuple(seeds), modalities=study.modalities, profile=profile), params or {}
    )
    pooled = tuple(name for name in chosen if _reads_pools(name))
    recipes = {INDUCTIVE: first}
    if pooled:
        recipes[TRANSDUCTIVE] = replace(
            first,
            methods=pooled,
            params={name: values for name, values in first.params.items() if name in pooled},
            protocol=Protocol(unlabelled="test-features"),
        )
    return Plan(recipes, pooled, absent)


def _reads_pools(name: str) -> bool:
    try:
        return registry.method_class(name).uses_unlabelled
    except (DiptychError, ImportError):
        return False  # it will be reported as failed by the inductive comparison


SEEDS = (0, 1, 2, 3, 4)
PROFILE = "standard"


def reproduce_study(
    study: str,
    out: str | Path,
    *,
    data: str | Path | None = None,
    raw: str | Path | None = None,
    seeds: Sequence[int] = SEEDS,
    profile: str = PROFILE,
    methods: Sequence[str] | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    note: str = "",
    callbacks: Callbacks | None = None,
) -> dict[str, Any]:
    """Rerun the comparison of Huang and Peng (ICME 2017) on one dataset; finished runs are kept and not done twice.

    Args:
        study: "wikipedia", "nuswide10k" or "rsicd".
        out: the folder for `reproduction.md`, its appendix with every table, `reproduction.json`, the comparisons
            `inductive/` and `transductive/`, and the imported `dataset/`; a study of several parts has the last three
            for each, in a folder of its name.
        data: the released files or an imported dataset; None goes on with what an earlier run imported.
        raw: released images and texts instead, which are described as in the paper first ("wikipedia" only).
        seeds: of everything random.
        profile: how wide and long networks train.
        methods: names; None for the whole line-up.
        params: parameters by method, on top of each method's defaults.
        note: a sentence for the page, such as where given parameters are from.
        callbacks: called as the comparison proceeds.

    Returns:
        The content of `reproduction.json`.
    """
    chosen = study_called(study)
    plan = make_plan(chosen, seeds, profile, methods, params)
    runs = {protocol: plan.runs(protocol) for protocol in plan.recipes}  # a mistake shows before anything is imported
    given_data, given_raw = (None if given is None else Path(given).resolve() for given in (data, raw))
    check_raw(chosen, given_data, given_raw)
    folder, source = Path(out).resolve(), given_raw or given_data
    command = _command(study, seeds, profile, methods, params or {}, raw=raw is not None)
    inner = callbacks or Callbacks()
    outline, seconds = _outline(chosen, runs, source, folder, profile, raw=raw is not None)
    if imported_to(folder, None).exists() or (source is not None and source.is_dir()):
        inner.outlined(outline)
    datasets = open_data(chosen, source, folder, inner.preparing, raw=raw is not None)
    inner.planned(
        [run.in_part(_words(part, name)) for part in datasets for name, planned in runs.items() for run in planned]
    )
    inner.estimated(seconds)
    places = {str(folder): "REPORT"} | ({str(source): "FOLDER"} if source else {})
    found = [
        _run_part(chosen, plan, part, dataset, folder / (part.name if part else ""), command, places, inner)
        for part, dataset in datasets.items()
    ]
    content = found[0] if not chosen.parts else join_parts(chosen, command, found)
    content["note"] = note
    write_json(folder / "reproduction.json", content)
    write_text(folder / "reproduction.md", render_page(content))
    write_text(folder / APPENDIX, render_appendix(content))
    return content


def _outline(
    study: Study, runs: Mapping[str, list[Run]], source: Path | None, folder: Path, profile: str, *, raw: bool
) -> tuple[str, list[float]]:
    """The plan in a sentence, and about how many seconds each run will take, in order."""
    every, seconds, importing = list[Run](), list[float](), 0.0
    for part in study.parts or (None,):
        there = existing_dataset(part, source, imported_to(folder, part))
        sizes = Sizes.expected(study, part, raw) if there is None else Sizes.of(there, study)
        importing += sizes.importing_s
        done = finished_runs(folder / (part.name if part else ""))
        for protocol, planned in runs.items():
            for run in planned:
                every.append(run)
                kept = (protocol, run.method, run.seed) in done
                deep = row_of(run.method).deep
                each = run_seconds(run.method, deep, sizes.pairs, sizes.columns, profile)
                seconds.append(0.0 if kept else each)
    kept_count = seconds.count(0.0)
    return describe_plan(study.title, every, seconds, importing, kept_count), seconds


def _run_part(
    study: Study,
    plan: Plan,
    part: Part | None,
    dataset: Dataset,
    folder: Path,
    command: str,
    places: Mapping[str, str],
    callbacks: Callbacks,
) -> dict[str, Any]:
    """Everything about one description of the items."""
    results = {}
    for protocol, recipe in plan.recipes.items():
        found = compare_methods(dataset, recipe, folder / protocol, callbacks=callbacks, part=_words(part, protocol))
        failures = {name: without_paths(reason, places) for name, reason in found["failures"].items()}
        results[protocol] = found | {"failures": failures}
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
    *,
    raw: bool = False,
) -> str:
    """The command without the folders of this machine."""
    source = "--raw" if raw else "--data"
    parts = [f"diptych reproduce {study} {source} FOLDER --out REPORT --seeds {','.join(map(str, seeds))}"]
    parts.append(f"--profile {profile}")
    if methods is not None:
        parts.append(f"--methods {','.join(methods)}")
    parts += [f"--set {name}.{key}={json.dumps(value)}" for name, each in params.items() for key, value in each.items()]
    return " ".join(parts)


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


def _words(part: Part | None, protocol: str) -> str:
    """What to add to a method's name, so that its runs can be told apart in a display."""
    return ", ".join([*([part.name] if part else []), *([protocol] if protocol != INDUCTIVE else [])])


def without_paths(text: str, places: Mapping[str, str]) -> str:
    """Put a word in the place of every folder of this machine, the longest first.

    >>> without_paths("/home/me/out/dataset is empty", {"/home/me/out": "REPORT"})
    'REPORT/dataset is empty'
    """
    for path in sorted((path for path in places if path not in ("", ".", "/")), key=len, reverse=True):
        text = text.replace(path, places[path])
    return text
