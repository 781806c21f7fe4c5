"""What the attacks found: kept as JSON, so that some can be repeated alone, and written as a page."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "faults.md"

_HEAD = """# What the program was attacked with

Written by `make test-faults`, which makes every attack of this page with real processes and counts what came of it.
`make test-faults ARGS="-k kill"` repeats some of them and keeps the other rows.
The attacks are functions of `tests/faults`; smaller forms of them run with every change, in the other tests.

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


def write_rows(rows: dict[str, Row]) -> None:
    """Keep the rows and write the page."""
    known = {"system": f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores"}
    known |= {"rows": {name: asdict(row) for name, row in rows.items()}}
    RESULTS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
    seconds = sum(row.seconds for row in rows.values())
    foot = f"\n{known['system']}; {seconds / 60:.0f} minutes in all.\n"
    PAGE.write_text(_HEAD + markdown(list(rows.values())) + foot)


def markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    lines = ["| attack | times | what must come of it | what came of it | held |", "|---|---:|---|---|---|"]
    for row in rows:
        held = {True: "yes", False: "**no**", None: "not tried"}[row.held]
        lines.append(f"| {row.attack} | {row.times:,} | {row.promise} | {row.found} | {held} |")
    return "\n".join(lines) + "\n"
