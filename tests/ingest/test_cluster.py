"""Ingest on a real Dask cluster: the same bytes as in one process, whatever happens to its workers."""

import signal
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from cluster import PickledExecutor, running_cluster
from diptych._core.errors import ConfigError, DataError
from diptych.features import pipeline_of
from diptych.ingest import ingest
from diptych.ingest.workers import check_usable

slow = pytest.mark.slow  # a cluster takes seconds to start


@pytest.fixture
def cluster(tmp_path):
    """Two workers, which a test may kill."""
    (tmp_path / "cluster").mkdir()
    with running_cluster(tmp_path / "cluster") as started:
        yield started


@pytest.fixture
def local(with_options, tmp_path, folder_content):
    """What one process makes."""
    ingest(with_options(out=tmp_path / "here" / "made", reuse=False))
    return folder_content(tmp_path / "here" / "made")


@pytest.fixture
def elsewhere(with_options, tmp_path):
    """The same options with another folder, of the same name."""
    return with_options(out=tmp_path / "there" / "made", reuse=False)


def at_image(number, act):
    """A progress display that acts once so many images are done."""
    acted = []

    def progress(stage, done, total, figures=None):
        if stage == "image features" and done >= number and not acted:
            acted.append(done)
            act()

    return progress


def interrupt():
    raise KeyboardInterrupt


def test_shards_of_images_that_are_sent_are_the_same(
    with_options, small_shards, folder_content, tmp_path, monkeypatch
) -> None:
    images = tmp_path / "raw" / "images"
    (images / "003.png").write_bytes(b"no image")
    (images / "007.png").write_bytes(b"x" * 100_000)
    made = [with_options(out=tmp_path / name / "made", reuse=False, max_bytes=50_000) for name in ("here", "there")]
    assert ingest(made[0]).report.count("picture") == 2
    monkeypatch.setattr("diptych.ingest.run.open_executor", lambda *_: nullcontext(PickledExecutor()))
    ingest(made[1])
    assert folder_content(made[0].out) == folder_content(made[1].out)


def test_an_encoder_that_a_worker_lacks_is_an_error_rather_than_broken_images(with_options, tmp_path) -> None:
    made = ingest(with_options(out=tmp_path / "made")).dataset
    pipeline = pipeline_of(made)
    image = pipeline.of("image")

    def refuse(items):
        raise DataError("there is no file encoder.onnx")

    lacking = SimpleNamespace(media_type="image", features=image.features, extractor=refuse)
    with pytest.raises(DataError, match=r"encoder\.onnx"):
        check_usable(SimpleNamespace(modalities={"image": lacking}))
    check_usable(pipeline)


@slow
def test_two_workers_make_the_bytes_of_one_process(cluster, local, elsewhere, small_shards, folder_content) -> None:
    ingest(elsewhere, cluster=cluster.address)
    assert folder_content(elsewhere.out) == local


@slow
def test_a_killed_worker_changes_nothing(cluster, local, elsewhere, small_shards, folder_content) -> None:
    victim = cluster.workers[0]
    ingest(elsewhere, cluster=cluster.address, progress=at_image(4, lambda: victim.send_signal(signal.SIGKILL)))
    assert victim.wait(timeout=10) == -signal.SIGKILL
    assert folder_content(elsewhere.out) == local


@slow
def test_an_interrupted_ingest_goes_on_here_or_there(cluster, local, elsewhere, small_shards, folder_content) -> None:
    with pytest.raises(KeyboardInterrupt):
        ingest(elsewhere, cluster=cluster.address, progress=at_image(4, interrupt))
    shards = elsewhere.out.parent / ".made.ingest" / "shards"
    done = {path: path.stat().st_mtime_ns for path in shards.glob("image-*.npz")}
    assert 1 <= len(done) < 8
    with pytest.raises(KeyboardInterrupt):
        ingest(elsewhere, cluster=cluster.address, progress=at_image(12, interrupt))
    assert done.items() <= {path: path.stat().st_mtime_ns for path in shards.glob("image-*.npz")}.items()
    assert ingest(elsewhere).resumed
    assert folder_content(elsewhere.out) == local


@slow
def test_a_lost_scheduler_is_a_sentence_and_the_work_stays(
    cluster, local, elsewhere, small_shards, folder_content
) -> None:
    with pytest.raises(DataError, match=r"scheduler at tcp://\S+ is gone; .* the same command goes on"):
        ingest(elsewhere, cluster=cluster.address, progress=at_image(4, cluster.scheduler.kill))
    assert ingest(elsewhere).resumed
    assert folder_content(elsewhere.out) == local


@slow
@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("diptych", r"has diptych 99\.9 and this machine has diptych \d\S*; install the same version on both\.$"),
        ("pillow", r"has pillow 99\.9 and this machine has pillow \d\S*; install the same version on both\.$"),
    ],
)
def test_a_worker_that_is_set_up_otherwise_is_refused(cluster, elsewhere, tmp_path, package, sentence) -> None:
    described = tmp_path / "other" / f"{package}-99.9.dist-info" / "METADATA"
    described.parent.mkdir(parents=True)
    described.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 99.9\n")
    cluster.add_worker(tmp_path / "other")
    cluster.wait()
    with pytest.raises(ConfigError, match=rf"^the worker tcp://\S+ {sentence}"):
        ingest(elsewhere, cluster=cluster.address)
