"""What a result was computed with: versions and the kind of machine, but not whose."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("diptych", "numpy", "scipy", "scikit-learn", "pyarrow", "torch")


def describe_environment() -> dict[str, Any]:
    """Versions of Python and of the packages that compute, and the machine's kind, without any name of it."""
    return {
        "versions": {"python": platform.python_version()} | _versions(),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"
