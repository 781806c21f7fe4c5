"""Where diptych keeps what it can compute again."""

import os
from pathlib import Path


def default_cache_root() -> Path:
    """Return `$DIPTYCH_CACHE`, or `~/.cache/diptych` where it is not set."""
    chosen = os.environ.get("DIPTYCH_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "diptych"
