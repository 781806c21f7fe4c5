"""The house rules that a machine can check: who may import whom, how long a file may be, what it may be called."""

import ast
import statistics
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "diptych"
ROOMS = [
    "data",
    "features",
    "ingest",
    "evaluation",
    "index",
    "nets",
    "training",
    "methods",
    "search",
    "serving",
    "experiments",
    "export",
    "up",
    "cli",
]
"""From left to right: a room imports from rooms to its left, and the command line from all."""

LOBBY = {path.stem for path in SOURCE.glob("*.py")}
TORCH_ROOMS = {"nets", "training", "methods"}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The package a file belongs to; the modules at the top are the lobby everyone passes."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "lobby"


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever in the file it does so."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module or ""} | {f"{node.module}.{name.name}" for name in node.names}
    return found


def diptych_room(module: str) -> str | None:
    """The room a diptych module lives in, None for other packages."""
    parts = module.split(".")
    if parts[0] != "diptych" or len(parts) == 1:
        return None
    return parts[1] if parts[1] in ROOMS else "lobby"


def test_every_package_is_a_known_room() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms <= set(ROOMS), f"give {rooms - set(ROOMS)} a place in the order of rooms"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_dependence_runs_one_way(path: Path) -> None:
    room = room_of(path)
    allowed = {"lobby"} if room == "lobby" else {"lobby", *ROOMS[: ROOMS.index(room) + 1]}
    if path == SOURCE / "__init__.py":
        allowed |= {"data", "evaluation", "methods"}
    for module in imports(path):
        target = diptych_room(module)
        assert target is None or target in allowed, f"{path.name} in '{room}' imports {module}"


def test_nets_and_training_are_known_to_methods_only() -> None:
    for path in FILES:
        if room_of(path) not in TORCH_ROOMS:
            assert not {diptych_room(m) for m in imports(path)} & {"nets", "training"}, path


def test_torch_stays_in_its_rooms() -> None:
    for path in FILES:
        if any(module.split(".")[0] == "torch" for module in imports(path)):
            assert room_of(path) in TORCH_ROOMS, f"{path} imports torch"


def test_files_are_small_and_named_for_what_they_hold() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert max(lengths.values()) <= 300, max(lengths, key=lengths.__getitem__)
    assert statistics.median(lengths.values()) <= 110
    assert not {path.stem for path in FILES} & {"utils", "helpers", "common", "misc"}
