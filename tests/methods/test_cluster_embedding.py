"""Embedding on a cluster: the bytes of embedding here, whatever happens to workers."""

import signal

import numpy as np
import pytest

from cluster import PickledExecutor, running_cluster
from diptych._core.cluster import open_executor
from diptych._core.errors import DataError
from diptych.ingest.workers import same_libraries
from diptych.methods import create, load_model, save_model
from diptych.methods.parallel import RowBlock, embed_blocks_by


@pytest.fixture(params=["image", "text"])
def modality(request):
    return request.param


@pytest.fixture
def model_folder(tmp_path, gaps_dataset):
    folder = tmp_path / "model"
    save_model(create("cca").fit(gaps_dataset), folder)
    return folder


def embedded(executor, folder, dataset, modality, rows=7, seen=lambda block: None):
    """The embeddings of all items, in small blocks."""
    blocks = dataset.everything.having(modality).blocks(modality, rows)
    found = []
    for block in embed_blocks_by(executor, load_model(folder), folder, modality, blocks):
        found.append(block)
        seen(len(found))
    return np.concatenate(found).tobytes()


def test_blocks_come_back_in_order_with_the_same_bytes(model_folder, gaps_dataset, modality) -> None:
    here = embedded(None, model_folder, gaps_dataset, modality)
    assert embedded(PickledExecutor(), model_folder, gaps_dataset, modality) == here


def test_a_bad_row_is_named_as_it_is_here(model_folder, gaps_dataset) -> None:
    rows = np.array(gaps_dataset.everything.having("image").features("image"))
    rows[40] = np.nan
    blocks = [rows[:20], rows[20:40], rows[40:]]
    for executor in (None, PickledExecutor()):
        with pytest.raises(DataError, match="row 40, column 0 of 'image' is nan"):
            list(embed_blocks_by(executor, load_model(model_folder), model_folder, "image", blocks))


def test_the_size_of_rows_is_that_of_their_numbers(gaps_dataset, modality) -> None:
    rows = gaps_dataset.everything.having(modality).features(modality)
    assert RowBlock(rows, 0).nbytes >= rows.shape[0]


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(tmp_path, model_folder, gaps_dataset) -> None:
    here = {name: embedded(None, model_folder, gaps_dataset, name, rows=2) for name in ("image", "text")}
    (tmp_path / "cluster").mkdir()
    with (
        running_cluster(tmp_path / "cluster") as cluster,
        open_executor(0, cluster.address, same_libraries) as executor,
    ):
        assert embedded(executor, model_folder, gaps_dataset, "image", rows=2) == here["image"]
        victim = cluster.workers[0]

        def kill(block):
            if block == 3:
                victim.send_signal(signal.SIGKILL)

        assert embedded(executor, model_folder, gaps_dataset, "text", rows=2, seen=kill) == here["text"]
        assert victim.wait(timeout=10) == -signal.SIGKILL
