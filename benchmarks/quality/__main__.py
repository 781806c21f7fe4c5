"""Measure search quality: build an index of every set with every system, ask all queries, print, and write the page."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine
from benchmarks.quality.asking import ask, judge
from benchmarks.quality.building import built_index
from benchmarks.quality.npm import UnavailableError
from benchmarks.quality.page import RESULTS, shown_gain, three, with_interval, write_page
from benchmarks.quality.sets import SETS, SearchedSet
from benchmarks.quality.systems import MODES, SYSTEMS, System
from diptych._core.errors import DiptychError
from diptych._core.files import read_json, write_json


def main() -> int:
    """Measure what is asked for; figures measured before are kept in the page."""
    options = _options()
    kept: dict[str, Any] = read_json(RESULTS)["sets"] if RESULTS.exists() and not options.anew else {}
    status = 0
    for name in options.sets:
        try:
            searched = SETS[name](options.folder)
        except UnavailableError as reason:
            print(f"{name}: skipped, {reason}")
            continue
        measured = kept.setdefault(name, {"systems": {}})
        measured.update(about=searched.about, items=len(searched.fields), queries=len(searched.queries))
        for system in (one for one in SYSTEMS if one.part in options.parts):
            try:
                measured["systems"][system.name] = _measured(searched, system, options.folder, options.workers)
            except DiptychError as error:
                print(f"{name}, {system.name}: failed, {error}")
                status = 1
            else:
                _print(name, system, measured["systems"][system.name])
            _write(kept)
    return status


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS), help="which sets; all by default")
    parts = ["defaults", "encoders", "methods"]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="which systems; all by default")
    parser.add_argument("--folder", type=Path, default=Path("runs/quality"), help="where sets and indexes are kept")
    parser.add_argument("--workers", type=int, default=2, help="processes that extract features")
    parser.add_argument("--anew", action="store_true", help="forget the figures that were measured before")
    return parser.parse_args()


def _measured(searched: SearchedSet, system: System, folder: Path, workers: int) -> dict[str, Any]:
    started = time.perf_counter()
    index = built_index(searched, system, folder, workers=workers)
    described = {
        "part": system.part,
        "image": system.image,
        "text": system.text,
        "method": system.method,
        "chosen": json.loads((index / "model" / "model.json").read_text(encoding="utf-8"))["method"],
        "build_s": time.perf_counter() - started,
    }
    return described | judge(searched, ask(index, searched.queries))


def _print(name: str, system: System, figures: dict[str, Any]) -> None:
    print(f"\n{name}, {system.name}: {figures['chosen']}, built in {figures['build_s']:.0f} s")
    for mode in MODES:
        if mode in figures["modes"]:
            one = figures["modes"][mode]
            gain = figures.get("hybrid_gain") if mode == "hybrid" else None
            print(
                f"  {mode:8} nDCG@10 {with_interval(one['ndcg'], one['ndcg_ci95'])}  success@10 {three(one['success'])}"
                f"  {one['ms']:4.0f} ms  nothing close: {one['absent_flagged']} of {one['absent']} absent, "
                f"{one['present_flagged']} of {one['present']} present" + (f"  {shown_gain(gain)}" if gain else ""),
                flush=True,
            )


def _write(sets: dict[str, Any]) -> None:
    """Write figures and page after every system, so that an interrupted run loses nothing."""
    in_order = {name: {**one, "systems": _in_order(one["systems"])} for name, one in sets.items()}
    write_json(RESULTS, {"machine": machine(), "sets": in_order})
    write_page()


def _in_order(systems: dict[str, Any]) -> dict[str, Any]:
    """The systems that are compared today, the defaults first."""
    return {system.name: systems[system.name] for system in SYSTEMS if system.name in systems}


if __name__ == "__main__":
    sys.exit(main())
