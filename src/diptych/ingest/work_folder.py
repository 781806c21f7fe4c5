"""The work folder beside the target: what is done so far, and for which inputs it was done."""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diptych._core.code_version import code_version
from diptych._core.errors import DataError
from diptych._core.files import read_json, write_json
from diptych._core.state_folder import versions
from diptych.ingest.plan import Plan
from diptych.ingest.row_cache import features_code, library_versions
from diptych.media import hash_places

_KEY_FILE = "inputs.json"


class WorkFolder:
    """Where an ingest keeps the fitted pipeline and its shards until the dataset is whole.

    Attributes:
        path: the folder.
        resumed: whether it held work of the same inputs and options.
    """

    def __init__(self, path: Path, *, resumed: bool) -> None:
        self.path = path
        self.resumed = resumed

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
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be made ({error.strerror}); choose another place for the dataset.") from None
    with (path / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"another ingest is making {target}; wait for it to end.") from None
        key = inputs_key(plan, pipeline_fingerprint)
        known = path / _KEY_FILE
        resumed = known.exists() and read_json(known) == {"key": key}
        if not resumed:
            _clear(path)
            write_json(known, {"key": key})
        (path / "shards").mkdir(exist_ok=True)
        yield WorkFolder(path, resumed=resumed)
        shutil.rmtree(path)


def inputs_key(plan: Plan, pipeline_fingerprint: str | None) -> str:
    """One hash of all that the result depends on; the number of workers is no part of it."""
    options = plan.options
    content: dict[str, Any] = {
        "items": [asdict(item) for item in plan.items],
        "splits": list(plan.splits),
        "source": [plan.source_kind, plan.source_stamp, hash_places(plan.places)],
        "features": dict(options.features),
        "pipeline": pipeline_fingerprint,
        "seed": options.seed,
        "limits": [options.fit_pictures, options.max_pixels, options.max_bytes],
        "code": [code_version("diptych.ingest.run"), features_code()],
        "versions": [versions(), library_versions()],
    }
    written = json.dumps(content, sort_keys=True, default=str).encode()
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def _clear(path: Path) -> None:
    for entry in path.iterdir():
        if entry.name == "lock":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
