"""The work folder beside the target: the shards that are done so far, and the inputs they were made of.

A shard holds the rows of some items as one file, written whole or not at all, so that an ingest goes on after any end.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych import features, media
from diptych._core.arrays import Booleans, Features
from diptych._core.code_version import code_version
from diptych._core.errors import DataError
from diptych._core.files import atomic_file, read_json, write_json
from diptych._core.locks import file_lock
from diptych._core.state import versions
from diptych.ingest.plan import Plan
from diptych.ingest.row_cache import library_versions
from diptych.media import hash_places

_KEY_FILE, _LOCK_FILE = "inputs.json", "lock"


@dataclass(frozen=True)
class Shard:
    """The rows of some items, or why there is none.

    Attributes:
        rows: one for each item that could be described, in order.
        present: which items could.
        reasons: for each that could not, why; empty strings for the others.
    """

    rows: Features
    present: Booleans
    reasons: tuple[str, ...]


def write_shard(path: Path, shard: Shard) -> None:
    """Write a shard; a reader sees all of it or nothing."""
    facts = {"present": shard.present, "reasons": np.array(shard.reasons, dtype=np.str_)}
    rows = shard.rows
    if isinstance(rows, np.ndarray):
        parts = {"rows": rows}
    else:
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **facts, **parts)


def read_shard(path: Path) -> Shard:
    """Read a shard that was written."""
    with np.load(path, allow_pickle=False) as stored:
        reasons = tuple(str(reason) for reason in stored["reasons"])
        if "rows" in stored:
            return Shard(stored["rows"], stored["present"], reasons)
        rows = sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
        return Shard(rows, stored["present"], reasons)


def shard_path(folder: Path, modality: str, number: int) -> Path:
    """Where a modality's shard lies in the folder of shards."""
    return folder / f"{modality}-{number:06d}.npz"


@dataclass(frozen=True)
class WorkFolder:
    """Where an ingest keeps the fitted pipeline and its shards until the dataset is whole.

    Attributes:
        path: the folder.
        resumed: whether it held work of the same inputs and options.
    """

    path: Path
    resumed: bool

    @property
    def pipeline(self) -> Path:
        """The fitted pipeline, once there is one."""
        return self.path / "pipeline"

    @property
    def shards(self) -> Path:
        """The folder of shards."""
        return self.path / "shards"


@contextmanager
def work_folder(plan: Plan, pipeline_fingerprint: str | None) -> Iterator[WorkFolder]:
    """Yield the work folder of a plan, for this process alone; it goes when the block succeeds and stays when not.

    Work of other inputs, options or another version of the code is thrown away.
    """
    target = plan.options.out.resolve()
    path = target.with_name(f".{target.name}.ingest")
    with file_lock(path / _LOCK_FILE, timeout_s=0) as mine:
        if not mine:
            raise DataError(f"another ingest is making {target}; wait for it to end.")
        key = {"key": inputs_key(plan, pipeline_fingerprint)}
        resumed = _known_inputs(path) == key
        if not resumed:
            _clear(path)
            write_json(path / _KEY_FILE, key)
        (path / "shards").mkdir(exist_ok=True)
        yield WorkFolder(path, resumed)
        shutil.rmtree(path)


def inputs_key(plan: Plan, pipeline_fingerprint: str | None) -> str:
    """Hash all that the result depends on; the number of workers is no part of it."""
    options = plan.options
    content: dict[str, Any] = {
        "items": [asdict(item) for item in plan.items],
        "splits": list(plan.splits),
        "source": [plan.source_kind, plan.source_stamp],
        "files": {kind: hash_places(files.places) for kind, files in plan.files.items()},
        "features": dict(options.features),
        "pipeline": pipeline_fingerprint,
        "seed": options.seed,
        "limits": [options.fit_images, options.max_pixels, options.max_bytes, options.max_seconds],
        "code": [code_version("diptych.ingest.run"), features_code()],
        "versions": [versions(), library_versions()],
    }
    written = json.dumps(content, sort_keys=True, default=str).encode()
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def features_code() -> str:
    """Hash the code of all feature extractors and of all that decodes, whichever are used."""
    digest = hashlib.blake2b(digest_size=16)
    for package in (features, media):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _known_inputs(path: Path) -> Any:  # noqa: ANN401 - what the file holds
    """What the work in a folder was made of; None where there is none."""
    with suppress(DataError):
        return read_json(path / _KEY_FILE)
    return None


def _clear(path: Path) -> None:
    for entry in path.iterdir():
        if entry.name == _LOCK_FILE:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
