"""Start-up time of the command line: trivial commands compared with `import typer, rich` in the same run.

Every command runs in a new process, followed by the plain import in another, so that other work on the machine affects
both alike. A ratio is the median over all rounds, a time the smallest.
"""

import statistics
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
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, words in COMMANDS.items():
            times[name].append((seconds([sys.executable, "-m", "diptych.cli", *words]), seconds(PLAIN)))
    plain = min(after for pairs in times.values() for _, after in pairs)
    figures: dict[str, Any] = {"rounds": ROUNDS, "typer_rich_s": plain}
    for name, pairs in times.items():
        figures[f"{name}_s"] = min(own for own, _ in pairs)
        figures[f"{name}_ratio"] = statistics.median(own / after for own, after in pairs)
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
