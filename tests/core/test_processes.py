import json
import os
import subprocess
import sys

from diptych._core.processes import roomy_allocator, usable_cores

NAMES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


def seen_by_a_child() -> list[str]:
    code = f"import json, os; print(json.dumps([os.environ.get(name) for name in {NAMES!r}]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


def test_children_keep_freed_memory_and_the_environment_is_put_back(monkeypatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    with roomy_allocator():
        assert seen_by_a_child() == [str(2**32)] * 2
    assert not set(NAMES) & set(os.environ)


def test_what_the_user_decided_stays(monkeypatch) -> None:
    monkeypatch.setenv(NAMES[0], "1234")
    monkeypatch.delenv(NAMES[1], raising=False)
    with roomy_allocator():
        assert seen_by_a_child() == ["1234", str(2**32)]
    assert os.environ[NAMES[0]] == "1234" and NAMES[1] not in os.environ


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
