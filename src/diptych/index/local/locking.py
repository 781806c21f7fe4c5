"""One at a time: a lock on a file that the system releases when its holder ends, however it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may then derive the same files; the later one is in force
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock if it is to be had; yields False, at once, if it is not and `wait` is false."""
    with path.open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
        yield True
