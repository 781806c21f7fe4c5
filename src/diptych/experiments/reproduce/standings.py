"""Every method's scores under a protocol, read back from finished runs, item by item and seed by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from diptych._core.arrays import Floats
from diptych.evaluation import DirectionScores, seed_spread
from diptych.experiments.model_scores import ModelScores
from diptych.experiments.reproduce.claims import Evidence
from diptych.experiments.run_store import read_scores
from diptych.experiments.score_blocks import item_scores, merge_seeds

INDUCTIVE, TRANSDUCTIVE = "inductive", "transductive"
"""The protocols: training sees the training split alone, or the features of test items too."""

Variant = Literal["plain", "z-scored"]
VARIANTS: Final[tuple[Variant, ...]] = ("plain", "z-scored")
MEASURES: Final = ("map", "map@50")


@dataclass(frozen=True)
class Standing:
    """One method under one protocol.

    Attributes:
        block: its part of `results.json`.
        runs: the scores of every run, in the order of seeds.
        shared: whether the protocol does not change it, so that the run is that of the inductive protocol.
    """

    block: Mapping[str, Any]
    runs: tuple[ModelScores, ...]
    shared: bool = False

    def items(self, variant: Variant, measure: str) -> Floats:
        """One number per item, averaged over seeds and directions."""
        every = [_directions(run, variant) for run in self.runs]
        return item_scores({name: merge_seeds([each[name] for each in every]) for name in every[0]}, measure)

    def figures(self, variant: Variant) -> dict[str, dict[str, Any]]:
        """By direction and on average: each MAP, its 95% interval and its standard deviation over seeds."""
        blocks = self.block if variant == "plain" else self.block["znorm"]
        columns = [*self.runs[0].directions, "average"]
        return {column: self._column(blocks[column], variant, column) for column in columns}

    def _column(self, block: Mapping[str, Any], variant: Variant, column: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for measure in MEASURES:
            by_seed = [_mean(_directions(run, variant), column, measure) for run in self.runs]
            spread = None if self.block["deterministic"] else seed_spread(np.array(by_seed)[:, None])
            found |= {measure: block[measure], f"{measure}_ci95": block[f"{measure}_ci95"], f"{measure}_std": spread}
        return found


@dataclass(frozen=True)
class Standings:
    """All methods under one protocol.

    Attributes:
        methods: those with a result, in the order they were run.
        missing: why others have none, or not one for every seed, as the end of a sentence.
        chance: the level of a random ranking, as in `results.json`.
    """

    methods: Mapping[str, Standing]
    missing: Mapping[str, str]
    chance: Mapping[str, Any]

    def evidence(self, variant: Variant, inputs_differ: str = "") -> Evidence:
        """What the rules may use."""
        return Evidence(
            items={
                measure: {name: each.items(variant, measure) for name, each in self.methods.items()}
                for measure in MEASURES
            },
            missing=self.missing,
            figures={name: each.figures(variant) for name, each in self.methods.items()},
            chance={measure: self.chance[measure] for measure in MEASURES},
            inputs_differ=inputs_differ,
        )


def read_standings(results: Mapping[str, Any], folder: Path, absent: Mapping[str, str]) -> Standings:
    """Read a comparison's runs back.

    Args:
        results: the content of its `results.json`.
        folder: where it is.
        absent: methods that could not even be planned, with the reason.
    """
    methods = {
        name: Standing(block, tuple(read_scores(folder / run["folder"]) for run in block["runs"]))
        for name, block in results["methods"].items()
    }
    failed = {name: f"failed: {reason}" for name, reason in {**results["failures"], **absent}.items()}
    return Standings(methods, failed, results["chance"])


def lay_over(inductive: Standings, transductive: Standings | None, pooled: Sequence[str]) -> Standings:
    """All methods under the transductive protocol: those that read no pool share their inductive run."""
    shared = {
        name: Standing(each.block, each.runs, shared=True)
        for name, each in inductive.methods.items()
        if name not in pooled
    }
    missing = {name: why for name, why in inductive.missing.items() if name not in pooled}
    if transductive is None:
        return Standings(shared, missing, inductive.chance)
    found = {**shared, **transductive.methods}
    order = dict.fromkeys([*inductive.methods, *found])
    missing |= transductive.missing
    return Standings({name: found[name] for name in order if name in found}, missing, inductive.chance)


def across(standings: Mapping[str, Standings], names: Mapping[tuple[str, str], str], variant: Variant) -> Evidence:
    """Evidence in which one method under two protocols counts as two; `names` gives (protocol, method) a name."""
    items: dict[str, dict[str, Floats]] = {measure: {} for measure in MEASURES}
    missing: dict[str, str] = {}
    for (protocol, method), name in names.items():
        found = standings[protocol]
        if method in found.missing:
            missing[name] = found.missing[method]
        if method in found.methods:
            for measure in MEASURES:
                items[measure][name] = found.methods[method].items(variant, measure)
    return Evidence(items=items, missing=missing)


def _directions(run: ModelScores, variant: Variant) -> Mapping[str, DirectionScores]:
    return run.directions if variant == "plain" else run.normalised


def _mean(directions: Mapping[str, DirectionScores], column: str, measure: str) -> float:
    chosen = directions.values() if column == "average" else [directions[column]]
    return float(np.mean([each.mean(measure) for each in chosen]))
