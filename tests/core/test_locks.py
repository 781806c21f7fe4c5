"""Locks are tried by processes, for that is whom they part."""

import subprocess
import sys
import threading
import time

from diptych._core.locks import claim, claim_new, file_lock

HOLD = """
import sys, pathlib
from diptych._core.locks import claim, claim_new, file_lock
with file_lock(pathlib.Path(sys.argv[1])) as held:
    print(held, flush=True)
    sys.stdin.readline()
"""


def test_a_lock_is_had_by_one_process_and_freed_when_it_is_killed(tmp_path) -> None:
    path = tmp_path / "folder" / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "True\n"
        with file_lock(path, timeout_s=0) as held:
            assert not held
        with file_lock(path, timeout_s=0.1) as held:
            assert not held
    finally:
        holder.kill()
        holder.communicate()
    with file_lock(path, timeout_s=5) as held:
        assert held


def test_whoever_waits_is_not_starved_by_others_that_take_the_lock_again_and_again(tmp_path):
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            with file_lock(tmp_path / "lock", timeout_s=10):
                time.sleep(0.02)
            time.sleep(0.0005)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            with file_lock(tmp_path / "lock", timeout_s=4) as mine:
                assert mine
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_temporary_file_that_another_process_sweeps_up_at_once_is_made_again(tmp_path):
    made = []

    def make():
        path = tmp_path / str(len(made))
        path.touch()
        made.append(path)
        if len(made) == 1:
            path.unlink()  # as `sweep_abandoned` of another process does between the making and the claim
        return path

    with claim_new(make) as path:
        assert path == made[1] and path.exists()
        with claim(path) as taken:
            assert not taken
