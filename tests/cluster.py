"""A real Dask cluster in processes of this machine, for tests."""

import os
import pickle
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


class Negated:
    """A worker that negates numbers, for tests of executors."""

    def __call__(self, task):
        return -task

    def close(self):
        """Nothing is open."""


class Cluster:
    """A scheduler and its workers, each a process that can be killed."""

    def __init__(self, folder):
        self._folder = folder
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = str(taken.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self._begin("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        self.workers = []

    def add_worker(self, *path):
        """Start a worker, with folders that come first where it imports from."""
        words = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--local-directory", str(self._folder / str(len(self.workers)))]
        self.workers.append(self._begin(*words, path=path))
        return self.workers[-1]

    def wait(self):
        """Wait until all workers are there."""
        from distributed import Client

        end = time.monotonic() + 60
        with Client(self.address, timeout=60, set_as_default=False) as client:
            while len(client.nthreads()) < len(self.workers):
                assert time.monotonic() < end, "the workers never came"
                time.sleep(0.05)
        return self

    def end(self):
        """End every process."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _begin(self, *words, path=()):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*path, SOURCE))), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env=environment,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def running_cluster(folder, workers=2):
    """A cluster that ends with the block."""
    cluster = Cluster(folder)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster.wait()
    finally:
        cluster.end()


class PickledExecutor:
    """Does tasks in this process, but takes and gives nothing that is not pickled, as a cluster does."""

    shares_files = False

    def run(self, start, tasks, *, ordered=False):
        """Do tasks; see `Executor`."""
        worker = _sent(start)()
        try:
            for task in tasks:
                yield task, _sent(worker(_sent(task)))
        finally:
            worker.close()


def _sent(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - what was pickled here
