"""Interrupted work goes on where it was, and the result does not show it."""

import errno
import json
import os
import stat
from dataclasses import replace

import pytest

from diptych._core.errors import DataError
from diptych.ingest import ingest
from diptych.ingest.plan import plan_ingest
from diptych.ingest.work_folder import inputs_key, work_folder

pytestmark = pytest.mark.usefixtures("small_shards")


class StopError(Exception):
    """Stands for whatever ends a process."""


def stop_after(stage, done):
    """Progress that ends the work at some point."""

    def progress(what, so_far, total, figures=None):
        if what == stage and so_far >= done:
            raise StopError

    return progress


def recorded():
    seen = []
    return seen, lambda stage, done, total, figures=None: seen.append((stage, done, total))


@pytest.mark.parametrize(
    ("stage", "done"), [("visual words", 1), ("image features", 0), ("image features", 13), ("text features", 14)]
)
def test_the_result_is_the_same_to_the_byte(options, tmp_path, folder_content, stage, done) -> None:
    undisturbed = replace(options, out=tmp_path / "undisturbed", name="x")
    ingest(undisturbed)
    stopped = replace(options, out=tmp_path / "stopped", name="x")
    with pytest.raises(StopError):
        ingest(stopped, progress=stop_after(stage, done))
    assert not stopped.out.exists()
    seen, progress = recorded()
    made = ingest(stopped, progress=progress)
    assert made.resumed
    assert folder_content(stopped.out) == folder_content(undisturbed.out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw", "stopped", "undisturbed"]
    first = {name: so_far for name, so_far, _ in reversed(seen)}
    if stage == "image features" and done:
        assert "visual words" not in first and first["image features"] == 16
    if stage == "text features":
        assert "image features" not in first and first["text features"] == 14


@pytest.mark.slow
def test_the_number_of_workers_does_not_show(options, tmp_path, folder_content) -> None:
    results = []
    for workers in (0, 1, 3):
        made = replace(options, out=tmp_path / f"made{workers}", name="x")
        ingest(made, workers=workers)
        results.append(folder_content(made.out))
    assert results[0] == results[1] == results[2]


def test_other_inputs_start_anew(options, tmp_path) -> None:
    with pytest.raises(StopError):
        ingest(options, progress=stop_after("image features", 13))
    changed = replace(options, features={"image": "colour-histogram", "text": "bow:12"})
    made = ingest(changed)
    assert not made.resumed
    assert made.dataset.modalities["image"].dimension == 64


def test_what_the_result_depends_on_is_in_the_key(options, tmp_path) -> None:
    def key(**changes):
        return inputs_key(plan_ingest(replace(options, **changes)), None)

    first = key()
    assert key() == first == key(on_broken="fatal")
    others = [
        key(seed=1),
        key(captions="first"),
        key(max_pixels=5),
        key(fit_images=3),
        key(features={"image": "gist", "text": "bow:12"}),
        inputs_key(plan_ingest(options), "another pipeline"),
    ]
    (tmp_path / "raw" / "images" / "004.png").write_bytes(b"other")
    others.append(key())
    lines = options.pairs.read_text().splitlines()
    options.pairs.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"captions": ["new"]})]))
    others.append(key())
    assert len({first, *others}) == len(others) + 1


def test_two_at_a_time_are_refused(options) -> None:
    with work_folder(plan_ingest(options), None), pytest.raises(DataError, match="another ingest is making"):
        ingest(options)


def test_half_a_shard_is_none(options, tmp_path, folder_content) -> None:
    """What a killed process leaves half-written has another name and is not taken for a shard."""
    ingest(replace(options, out=tmp_path / "undisturbed", name="made"))
    with pytest.raises(StopError):
        ingest(options, progress=stop_after("image features", 4))
    shards = tmp_path / ".made.ingest" / "shards"
    (shards / ".image-000002.npz.abc.npz").write_bytes(b"PK half")
    ingest(options)
    assert folder_content(options.out) == folder_content(tmp_path / "undisturbed")


class FullDisk:
    """Lets so many files be written, and has no room for the next."""

    def __init__(self, monkeypatch) -> None:
        self.room = 0
        self._written = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            if self.room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room -= 1
        self._written(descriptor)


def test_a_full_disk_ends_in_one_sentence_and_the_same_call_goes_on(
    options, tmp_path, folder_content, monkeypatch
) -> None:
    undisturbed = replace(options, out=tmp_path / "undisturbed", name="made")
    ingest(undisturbed)
    disk = FullDisk(monkeypatch)
    messages = set()
    for room in range(100):
        disk.room = room
        try:
            made = ingest(options)
            break
        except DataError as error:
            messages.add(str(error))
            assert not options.out.exists()
    assert made.resumed and room > 5
    assert messages == {
        f"the disk of {options.out} is full; free space or choose another folder, then run the same command again to "
        "continue."
    }
    assert folder_content(options.out) == folder_content(undisturbed.out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "raw", "undisturbed"]


def test_a_folder_that_cannot_be_written_is_named(options, monkeypatch) -> None:
    def refused(path, *_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("diptych.ingest.workers.write_shard", refused)
    with pytest.raises(DataError, match=r"made cannot be written \(Permission denied for .*image-000000.npz\); mend"):
        ingest(options)


def test_broken_notes_of_earlier_work_start_anew(options, tmp_path) -> None:
    with pytest.raises(StopError):
        ingest(options, progress=stop_after("image features", 4))
    (tmp_path / ".made.ingest" / "inputs.json").write_text("{")
    assert not ingest(options).resumed
