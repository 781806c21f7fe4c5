"""What the attacks found: kept as JSON, so that some can be repeated alone, and written as a page."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.promises import PROMISES

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "faults.md"

_HEAD = """# What the program was attacked with

Written by `make test-faults`, which makes every attack of this page with real processes and counts what came of it.
`make test-faults ARGS="-k kill"` repeats some of them and keeps the other rows.
The attacks are functions of `tests/faults`; smaller forms of them run with every change, in the other tests.
[Below](#promises-and-their-tests) are the promises and the tests that would notice if one were broken.

"""
_PROMISES = """
## Promises and their tests

Each test is a function of the file before it, under `tests`. Those under `faults` make the attacks of the table above.

"""


@dataclass(frozen=True)
class Row:
    """One attack.

    Attributes:
        attack: what was done.
        times: how often.
        promise: what must come of it.
        found: what came of it.
        held: whether the promise was kept; None where the attack could not be made here.
        seconds: how long it took.
    """

    attack: str
    times: int
    promise: str
    found: str
    held: bool | None
    seconds: float


def read_rows() -> dict[str, Row]:
    """The rows that were found before, by the name of their test."""
    if not RESULTS.exists():
        return {}
    return {name: Row(**row) for name, row in json.loads(RESULTS.read_text())["rows"].items()}


def write_rows(rows: dict[str, Row], load: float) -> None:
    """Keep the rows, with how busy the machine was when the first attack began, and write the page."""
    machine = f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    nice = os.nice(0)
    known = {"system": f"{machine} with a load of {load:.1f} by other work when it began"}
    known["system"] += f", at priority {nice}" if nice else ""
    known |= {"rows": {name: asdict(row) for name, row in rows.items()}}
    RESULTS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
    PAGE.write_text(page())


def page() -> str:
    """The page of what was found last."""
    rows = list(read_rows().values())
    system = json.loads(RESULTS.read_text())["system"]
    foot = f"\n{system}; {sum(row.seconds for row in rows) / 60:.0f} minutes in all.\n"
    return _HEAD + markdown(rows) + foot + _PROMISES + promises()


def markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    lines = ["| attack | times | what must come of it | what came of it | held |", "|---|---:|---|---|---|"]
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
