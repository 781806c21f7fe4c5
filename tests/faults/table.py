"""Results of the fault tests: kept as JSON, so that single tests can be repeated, and written as a page."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.promises import PROMISES

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "faults.md"

_HEAD = """# Fault tests

This page shows how Diptych behaves when processes are killed, disks fill up, bits flip, databases disappear or clients
are hostile, and lists [what it promises](#promises-and-their-tests) with the tests of each promise.

`make test-faults` runs these tests with real processes and writes this page. `make test-faults ARGS="-k kill"` repeats
some of them and keeps the other rows. They are in `tests/faults`; smaller versions run with every change, in the other
tests.

"""
_PROMISES = """
## Promises and their tests

Test functions are listed after their file, relative to `tests`. Those under `faults` are the tests of the table above.

"""


@dataclass(frozen=True)
class Row:
    """One attack.

    Attributes:
        attack: the fault.
        times: how often it was caused.
        promise: the expected result.
        found: the observed result.
        held: whether it was as expected; None if the test could not run here.
        seconds: the duration.
    """

    attack: str
    times: int
    promise: str
    found: str
    held: bool | None
    seconds: float


def read_rows() -> dict[str, Row]:
    """The rows of earlier runs, by the name of their test."""
    if not RESULTS.exists():
        return {}
    return {name: Row(**row) for name, row in json.loads(RESULTS.read_text())["rows"].items()}


def write_rows(rows: dict[str, Row], load: float) -> None:
    """Store the rows and the load of the machine at the start, and write the page."""
    machine = f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    nice = os.nice(0)
    known = {"system": f"{machine}, with a load of {load:.1f} from other work at the start"}
    known["system"] += f", at priority {nice}" if nice else ""
    known |= {"rows": {name: asdict(row) for name, row in rows.items()}}
    RESULTS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
    PAGE.write_text(page())


def page() -> str:
    """The page of the stored results."""
    rows = list(read_rows().values())
    system = json.loads(RESULTS.read_text())["system"]
    foot = f"\n{system}; {sum(row.seconds for row in rows) / 60:.0f} minutes in total.\n"
    return _HEAD + markdown(rows) + foot + _PROMISES + promises()


def markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    lines = ["| fault | times | expected | observed | passed |", "|---|---:|---|---|---|"]
    for row in rows:
        held = {True: "yes", False: "**no**", None: "not tried"}[row.held]
        lines.append(f"| {row.attack} | {row.times:,} | {row.promise} | {row.found} | {held} |")
    return "\n".join(lines) + "\n"


def promises() -> str:
    """The promises and their tests as a table."""
    lines = ["| promise | tests |", "|---|---|"]
    for promise, tests in PROMISES.items():
        files: dict[str, list[str]] = {}
        for test in tests:
            file, _, name = test.partition("::")
            files.setdefault(file, []).append(f"`{name}`")
        listed = "; ".join(f"`{file}`: " + ", ".join(names) for file, names in files.items())
        lines.append(f"| {promise} | {listed} |")
    return "\n".join(lines) + "\n"
