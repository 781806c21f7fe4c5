"""Keep matrix products that already run side by side from starting threads of their own.

Idle threads of a BLAS wait by spinning for a while, and take the cores from whoever sorts meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


class _Limiter:
    """Holds the limit while anybody inside needs it; limits nested across threads would restore each other's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._controller = ThreadpoolController()
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _limiter() -> _Limiter:
    return _Limiter()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let every product in here run on the thread that asked for it."""
    limiter = _limiter()
    limiter.enter()
    try:
        yield
    finally:
        limiter.leave()
