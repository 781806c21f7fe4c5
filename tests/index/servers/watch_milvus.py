"""Run a command as long as a process that needs it lives: its tests may be killed, and a server must not stay behind.

Arguments: a note with the process ids of those who need it, a folder that goes with it, and the command.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def is_needed(note):
    """Whether anybody needs it; if not, the note goes while nobody else can read it."""
    with note.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            return False
        needed = any(is_alive(process) for process in json.loads(note.read_text())["users"])
        if not needed:
            note.unlink()
        return needed


def main():
    note, folder, command = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    with (folder / "log").open("w") as log:
        # Its command leaves the server itself behind when it ends, so the whole group is ended.
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    while note.parent.exists() and is_needed(note):
        time.sleep(0.5)
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
