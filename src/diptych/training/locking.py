"""One process at a time: a lock that the system releases when its holder ends, however it ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may then do the same work twice, and neither harms the other
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)


@contextmanager
def exclusive(path: Path, waiting_for: str) -> Iterator[None]:
    """Hold the lock file at `path`; wait, and say for what, while another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _log.info("Waiting for another process: %s.", waiting_for)
                fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back; the file stays, because others may wait on it
