"""What is said of a cluster that cannot be used, and the loop that keeps workers busy."""

import sys
import time

import pytest

from cluster import Negated
from diptych._core import cluster
from diptych._core.cluster import ClusterExecutor, check_environment, folder_content, open_executor, write_content
from diptych._core.errors import ConfigError, DataError, optional_package
from diptych._core.processes import ProcessExecutor, run_ahead


def none() -> dict[str, str]:
    return {}


def test_a_scheduler_that_does_not_answer_is_a_sentence(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.5)
    began = time.monotonic()
    with pytest.raises(DataError, match=r"^no Dask scheduler answers at tcp://127\.0\.0\.1:9; start one"):
        ClusterExecutor("tcp://127.0.0.1:9", none)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("address", ["", "localhost", "localhost:8786", "http://localhost:8786", "tcp://localhost"])
def test_an_address_that_is_none_is_refused(address) -> None:
    with pytest.raises(ConfigError, match="write it as tcp://HOST:8786"):
        ClusterExecutor(address, none)


def test_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    optional_package.cache_clear()
    with pytest.raises(ConfigError, match=r"^--cluster needs distributed; .*'diptych\[cluster\]'"):
        ClusterExecutor("tcp://localhost:8786", none)


class FakeClient:
    """Workers that answer as they are told to."""

    def __init__(self, *answers, scheduler=True) -> None:
        self._answers, self._scheduler = list(answers), scheduler

    def run_on_scheduler(self, function, *arguments):
        if not self._scheduler:
            raise ModuleNotFoundError("diptych")
        return function(*arguments)

    def nthreads(self):
        return {}

    def run(self, function, *arguments, on_error):
        return {"tcp://worker:1": self._answers.pop(0)}


def executor_with(client) -> ClusterExecutor:
    made = ClusterExecutor.__new__(ClusterExecutor)
    made._address, made._libraries, made._client = "tcp://host:1", none, client
    return made


def test_a_worker_without_diptych_and_a_cluster_without_workers_are_sentences(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "_WORKERS_S", 0.0)
    with pytest.raises(ConfigError, match=r"^the worker tcp://worker:1 has no diptych; install diptych \d\S* where it"):
        executor_with(FakeClient(ModuleNotFoundError("diptych")))._check_workers()
    with pytest.raises(ConfigError, match=r"cannot use diptych \(No module named 'numpy'\); install diptych"):
        executor_with(FakeClient(cluster.version("diptych"), ImportError("No module named 'numpy'")))._check_workers()
    with pytest.raises(ConfigError, match=r"^the scheduler tcp://host:1 does not run this version of diptych; install"):
        executor_with(FakeClient(scheduler=False))._check_workers()
    with pytest.raises(DataError, match=r"^the Dask scheduler at tcp://host:1 has no workers; start some with `dask w"):
        executor_with(FakeClient())._wait_for_workers()
    dies = FakeClient(cluster.version("diptych"), OSError("Stream is closed"))
    executor_with(dies)._check_workers()  # its tasks go to the others


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"pillow": "12"}, "has pillow 12 and this machine has pillow 13; install the same version on both"),
        ({}, "has no pillow and this machine has pillow 13"),
        ({"pillow": "13", "torch": "2"}, "has torch 2 and this machine has no torch"),
        ({"pillow": "13", cluster._CODE: "b"}, "runs other code of diptych .* install the same on both"),
    ],
)
def test_what_differs_on_a_worker_is_named(there, said) -> None:
    here = {"pillow": "13"} | ({cluster._CODE: "a"} if cluster._CODE in there else {})
    check_environment("w", here, here)
    with pytest.raises(ConfigError, match=f"^the worker w {said}"):
        check_environment("w", here, there)


def test_a_folder_arrives_as_it_was(tmp_path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"1")
    (tmp_path / "a" / "b" / "two").write_bytes(b"2")
    write_content(folder_content(tmp_path / "a"), tmp_path / "c")
    assert folder_content(tmp_path / "c") == {"b/two": b"2", "one": b"1"}


def test_without_a_cluster_work_is_done_here() -> None:
    with open_executor(0, None, none) as executor:
        assert executor is None
    with open_executor(2, None, none) as executor:
        assert isinstance(executor, ProcessExecutor) and executor.shares_files


@pytest.mark.parametrize("ordered", [True, False])
def test_tasks_run_ahead_as_far_as_there_is_room(ordered) -> None:
    most = 0

    def has_room(running, task):
        nonlocal most
        most = max(most, len(running))
        return len(running) < 3

    def latest(pending):
        return [pending[-1]]

    done = list(run_ahead(range(7), lambda task: -task, latest, has_room, ordered=ordered))
    assert sorted(done) == [(task, -task) for task in range(7)]
    assert ([task for task, _ in done] == list(range(7))) is ordered
    assert most == 3


def test_processes_keep_the_order_that_is_asked_for() -> None:
    assert list(ProcessExecutor(1).run(Negated, range(5), ordered=True)) == [(task, -task) for task in range(5)]
