"""Run every benchmark, or those named on the command line, each in a process of its own.

A benchmark is a module `bench_<name>.py` with a function `run()` that returns a dictionary of figures.
Results go to `benchmarks/results/<name>.json` together with a description of the machine, and from there to
`docs/results/benchmarks.md`.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.page import HERE, RESULTS, write_page


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _cpu_lines() if line.startswith("model name")), platform.processor()
    )
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def run_one(name: str) -> int:
    """Run one benchmark and write its figures."""
    script = f"import json; from benchmarks.bench_{name} import run; print(json.dumps(run()))"
    done = subprocess.run([sys.executable, "-c", script], cwd=HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: failed\n{done.stderr}", file=sys.stderr)
        return 1
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), "figures": figures}, indent=2) + "\n")
    print(f"\n{name}")
    for key, value in figures.items():
        print(f"  {key:32} {value:.4g}" if isinstance(value, float) else f"  {key:32} {value}")
    return 0


def main() -> int:
    """Run the named benchmarks; all of them when none is named."""
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    status = max(run_one(name) for name in names)
    write_page()
    return status


if __name__ == "__main__":
    sys.exit(main())
