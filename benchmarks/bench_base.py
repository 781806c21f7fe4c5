"""Time and memory of the whole base network of CDMLMR on the Wikipedia features, standard profile, cold cache.

Needs the Wikipedia feature release in `shared/data/wikipedia` beside the checkout.
"""

import resource
import tempfile
import time
from pathlib import Path

from diptych.data.importers.wikipedia import import_wikipedia
from diptych.methods import create

SOURCE = Path(__file__).parents[2] / "shared" / "data" / "wikipedia"


def run() -> dict[str, object]:
    """Fit `base` once without a cache."""
    if not SOURCE.exists():
        return {"skipped": "the Wikipedia features are not beside the checkout"}
    with tempfile.TemporaryDirectory() as folder:
        dataset = import_wikipedia(SOURCE, Path(folder) / "wikipedia")
        before = _peak_mib()
        started = time.perf_counter()
        model = create("base", profile="standard", cache=None).fit(dataset)
        seconds = time.perf_counter() - started
    stages = {f"{stage['stage']}_s": stage["seconds"] for stage in model.record_["stages"]}
    return {"seconds": seconds, **stages, "peak_rss_mib": _peak_mib(), "peak_rss_before_mib": before}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
