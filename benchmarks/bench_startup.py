"""How soon the command line answers: the time of trivial commands over that of `import typer, rich` in the same run.

Every command runs in a new process, and the plain import in another right after it, so that whatever else the machine
does falls on both. The smallest of several times is taken of each.
"""

import subprocess
import sys
import time
from typing import Any

ROUNDS = 15
PLAIN = [sys.executable, "-c", "import typer, rich"]
COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "search_help": ["search", "--help"],
    "compare_help": ["compare", "--help"],
    "features": ["features"],
    "methods": ["methods"],
}
MODULES = """
import sys
from diptych.cli.main import run
sys.argv = ["diptych", "--help"]
try:
    run()
except SystemExit:
    print("modules", len(sys.modules))
"""


def run() -> dict[str, Any]:
    """Measure all, and return the figures."""
    times: dict[str, list[float]] = {name: [] for name in ("plain", *COMMANDS)}
    for _ in range(ROUNDS):
        for name, words in COMMANDS.items():
            times[name].append(seconds([sys.executable, "-m", "diptych.cli", *words]))
            times["plain"].append(seconds(PLAIN))
    best = {name: min(found) for name, found in times.items()}
    figures: dict[str, Any] = {"rounds": ROUNDS, "typer_rich_s": best["plain"]}
    for name in COMMANDS:
        figures |= {f"{name}_s": best[name], f"{name}_ratio": best[name] / best["plain"]}
    figures["help_modules"] = modules()
    return figures


def seconds(command: list[str]) -> float:
    """The time of one command, its process included."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def modules() -> int:
    """How many modules `diptych --help` imports."""
    done = subprocess.run([sys.executable, "-c", MODULES], check=True, capture_output=True, text=True)
    return int(done.stdout.rpartition("modules")[2])
