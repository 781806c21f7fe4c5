"""Locks are tried by processes, for that is whom they part."""

import subprocess
import sys

from diptych._core.locks import file_lock

HOLD = """
import sys, pathlib
from diptych._core.locks import file_lock
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
