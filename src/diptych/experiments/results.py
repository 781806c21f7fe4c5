"""Collect finished runs into the dictionary that becomes `results.json`."""

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Floats
from diptych.data import Dataset, Partition, Protocol
from diptych.evaluation import Comparison, compare, holm
from diptych.experiments.recipe import Recipe, Run
from diptych.experiments.relevance import chance_levels, partner_chance, relevance_judgements
from diptych.experiments.run_store import FinishedRun
from diptych.experiments.score_blocks import fit_block, item_scores, merged_directions, plain_json, score_blocks


class Tally:
    """Collect finished and failed runs, and say at any time what is known."""

    def __init__(
        self, dataset: Dataset, recipe: Recipe, runs: Sequence[Run], left_out: Mapping[str, str] | None = None
    ) -> None:
        self._names = list(recipe.method_names)
        self._waiting = list(runs)
        self._finished: dict[str, list[FinishedRun]] = {}
        self._failed: dict[str, list[str]] = {}
        self._blocks: dict[str, dict[str, Any]] = {}
        self._items: dict[str, np.ndarray] = {}
        self._comparisons = Comparisons()
        modalities = recipe.modalities or tuple(dataset.modalities)
        judgements = relevance_judgements(dataset, recipe.split, modalities)
        self._head = {
            "dataset": _describe_dataset(dataset, recipe.split, modalities),
            "split": recipe.split,
            "chance": chance_levels(judgements)
            | {"mrr": partner_chance(judgements), "relevance": judgements.relevance, "notes": list(judgements.notes)},
            "protocol": _describe_protocol(recipe),
        }
        self._left_out = dict(left_out or {})
        self._environment = describe_environment()

    def finish(self, done: FinishedRun) -> None:
        """Count a finished run in."""
        name = done.run.method
        self._waiting.remove(done.run)
        runs = [*self._finished.get(name, []), done]
        self._finished[name] = runs
        self._blocks[name] = _method_block(runs)
        self._items[name] = item_scores(merged_directions([each.scores for each in runs]))

    def fail(self, run: Run, reason: str) -> None:
        """Count a failed run in."""
        self._waiting.remove(run)
        lead = "" if run.deterministic else f"seed {run.seed}: "
        self._failed.setdefault(run.method, []).append(lead + reason)

    @property
    def failed(self) -> bool:
        """Whether any run failed."""
        return bool(self._failed)

    def results(self) -> dict[str, Any]:
        """All that is known so far; "pending" lists the runs still to come."""
        return self._head | {
            "methods": {name: self._blocks[name] for name in self._names if name in self._blocks},
            "comparisons": self._comparisons.against_best(self._items),
            "failures": {name: "; ".join(dict.fromkeys(self._failed[name])) for name in self._failed},
            "left_out": self._left_out,
            "pending": [run.name for run in self._waiting],
            "environment": self._environment,
        }


def _method_block(runs: Sequence[FinishedRun]) -> dict[str, Any]:
    first = runs[0]
    seeds = [seed for run in runs for seed in run.run.stands_for]
    scores = score_blocks([run.scores for run in runs])
    if first.run.deterministic and len(seeds) > 1:
        scores["average"] |= {"map_std_over_seeds": 0.0, "map@50_std_over_seeds": 0.0}
    about = {
        "seeds": seeds,
        "deterministic": first.run.deterministic,
        "fit_seconds": float(np.mean([run.record["fit_seconds"] for run in runs])),
        "runs": [_run_block(run) for run in runs],
    }
    if "monitoring" in first.record:
        about["monitoring"] = {"seed": first.run.seed} | plain_json(first.record["monitoring"])
    return fit_block(first.params, first.record) | about | scores


def _run_block(run: FinishedRun) -> dict[str, Any]:
    fitted = fit_block(run.params, run.record)
    kept = {name: fitted[name] for name in ("chosen", "fit_seconds", "propagation") if name in fitted}
    folder = f"runs/{run.run.method}/{run.run.seed}"
    return {"seed": run.run.seed, "folder": folder, "average_map": run.scores.average_map} | kept


def _describe_dataset(dataset: Dataset, split: str, modalities: Sequence[str]) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "items": len(dataset),
        "documents": _documents(dataset.everything),
        "classes": list(dataset.classes),
        "splits": {name: int(np.count_nonzero(dataset.splits == name)) for name in ("train", "val", "test")},
        "split_documents": {name: _documents(dataset.split(name)) for name in ("train", "val", "test")},
        "modalities": {
            name: {
                "kind": dataset.modalities[name].kind,
                "dimension": dataset.modalities[name].dimension,
                f"{split}_items": len(dataset.split(split).having(name)),
            }
            for name in modalities
        },
    }


def _documents(part: Partition) -> int:
    """How many things the items are of: an image and its text may be two items of one document."""
    return len(np.unique(part.documents))


def _describe_protocol(recipe: Recipe) -> dict[str, Any]:
    protocol: Protocol = recipe.protocol
    content = {name: value for name, value in protocol.to_json().items() if name != "seed"}
    words = protocol.describe()
    if protocol.withholds_labels:
        seeds = ", ".join(map(str, recipe.seeds))
        words = words.replace(f"(seed {protocol.seed})", f"(seed{'s' * (len(recipe.seeds) > 1)} {seeds})")
    return content | {"seeds": list(recipe.seeds), "words": words}


class Comparisons:
    """Compare with the best method, remembering answers, because a report is written after every run."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, bytes], Comparison] = {}

    def against_best(self, scores: Mapping[str, Floats]) -> dict[str, Any]:
        """Test every method against the one with the highest mean.

        Args:
            scores: one number per item for each method, items in the same order; the mean is what is compared.

        Returns:
            The best method's name, and for each other one the difference to it (negative), its 95% interval, and
            the p-value of a paired sign-flip test, alone and corrected for the number of tests (Holm).
        """
        if not scores:
            return {"best": None, "measure": "average map", "test": _TEST, "against_best": {}}
        best = max(scores, key=lambda name: float(scores[name].mean()))
        found = {name: self._compare(name, each, scores[best]) for name, each in scores.items() if name != best}
        corrected = holm([each.p_value for each in found.values()])
        against = {
            name: each.to_json() | {"p_holm": p} for (name, each), p in zip(found.items(), corrected, strict=True)
        }
        return {"best": best, "measure": "average map", "test": _TEST, "against_best": against}

    def _compare(self, name: str, scores: Floats, best: Floats) -> Comparison:
        key = (name, scores.tobytes(), best.tobytes())
        if key not in self._known:
            self._known[key] = compare(scores, best)
        return self._known[key]


_TEST = "paired sign-flip test over items, two-sided; p_holm is corrected for the number of comparisons (Holm)"


_PACKAGES = ("diptych", "numpy", "scipy", "scikit-learn", "pyarrow", "torch")


def describe_environment() -> dict[str, Any]:
    """Versions of Python and of the packages that compute, and the machine's kind, without any name of it."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {
        "versions": {"python": platform.python_version()} | found,
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"
