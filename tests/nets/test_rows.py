from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diptych._core.errors import ConfigError, DataError
from diptych.nets import SparseRows, in_chunks
from diptych.nets.rows import EpochStream, MixedBatches, same_length


def test_sparse_rows_become_the_same_dense_rows():
    dense = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0], [4, 5, 6]])
    source = SparseRows(sp.csr_array(dense), torch.float64)
    rows = torch.tensor([3, 0, 3, 2])
    assert len(source) == 4
    assert torch.equal(source[rows], torch.from_numpy(dense).double()[rows])


def test_unpaired_sources_are_refused():
    with pytest.raises(DataError, match=r"\[3, 2\] rows"):
        same_length([torch.zeros(3, 1), torch.zeros(2, 1)])


@pytest.mark.parametrize("size", [1, 4, 10, 100])
def test_chunks_cover_every_row_once_and_in_order(size):
    rows = torch.arange(10.0).reshape(10, 1)
    assert torch.equal(in_chunks(lambda x: 2 * x, rows, size), 2 * rows)


def same(left, right):
    return torch.equal(left.labelled, right.labelled) and all(
        torch.equal(left.unlabelled[name], right.unlabelled[name]) for name in left.unlabelled
    )


@pytest.mark.parametrize(
    ("labelled", "unlabelled", "expected"),
    [(2173, 462, (82, 18)), (8000, 1000, (89, 11)), (500, 0, (100, 0)), (9999, 1, (99, 1)), (1, 9999, (1, 99))],
)
def test_parts_have_the_proportion_of_their_pools(labelled, unlabelled, expected):
    batches = MixedBatches(labelled, {"sound": unlabelled, "text": unlabelled}, 100, 0)
    assert batches.sizes == expected
    batch = batches(3)
    assert (len(batch.labelled), *(len(rows) for rows in batch.unlabelled.values())) == (*expected, expected[1])


def test_small_pools_give_small_batches_without_repeats():
    batches = MixedBatches(8, {"sound": 4, "text": 4}, 100, 0)
    batch = batches(5)
    assert sorted(batch.labelled.tolist()) == list(range(8))
    assert all(sorted(rows.tolist()) == list(range(4)) for rows in batch.unlabelled.values())


def test_every_epoch_shows_every_row_once():
    batches = MixedBatches(20, {"sound": 10, "text": 10}, 6, 1)
    assert batches.sizes == (4, 2)
    epoch = [batches(step) for step in range(5)]
    assert sorted(torch.cat([batch.labelled for batch in epoch]).tolist()) == list(range(20))
    for name in ("sound", "text"):
        assert sorted(torch.cat([batch.unlabelled[name] for batch in epoch]).tolist()) == list(range(10))


def test_unlabelled_modalities_are_drawn_independently():
    batches = MixedBatches(50, {"sound": 50, "text": 50}, 20, 2)
    agree = sum(int((b.unlabelled["sound"] == b.unlabelled["text"]).sum()) for b in map(batches, range(500)))
    assert 40 < agree < 180  # 5000 rows agree by chance one time in 50


def test_pools_of_unlike_sizes_and_a_modality_without_any():
    batch = MixedBatches(20, {"sound": 20, "text": 3, "smell": 0}, 10, 0)(4)
    assert [len(batch.unlabelled[name]) for name in ("sound", "text", "smell")] == [5, 3, 0]
    assert len(MixedBatches(20, {}, 10, 0)(0).labelled) == 10


@pytest.mark.parametrize("balanced", [False, True])
def test_batches_depend_on_seed_and_step_alone(balanced):
    classes = np.arange(30) % 4 if balanced else None

    def make(seed):
        return MixedBatches(30, {"sound": 10, "text": 12}, 8, seed, classes)

    forward, backward = make(1), make(1)
    ahead = [forward(step) for step in range(12)]
    behind = [backward(step) for step in reversed(range(12))][::-1]
    assert all(same(a, b) for a, b in zip(ahead, behind, strict=True))
    assert not any(same(a, b) for a, b in pairwise(ahead))
    assert not any(same(a, make(2)(step)) for step, a in enumerate(ahead))


def test_balanced_batches_show_classes_equally_often_and_their_members_too():
    classes = np.array([5] * 2 + [1] * 7 + [3] * 21)
    batches = MixedBatches(30, {}, 7, 3, classes)
    stream = torch.cat([batches(step).labelled for step in range(18)]).numpy()  # 126 places: 42 for each class
    assert len(stream) == 126
    for label, size in ((5, 2), (1, 7), (3, 21)):
        members = np.flatnonzero(classes == label)
        assert np.isin(stream, members).sum() == 42
        assert all((stream == member).sum() == 42 // size for member in members)
    for step in range(18):
        counts = [(classes[batches(step).labelled.numpy()] == label).sum() for label in (5, 1, 3)]
        assert max(counts) - min(counts) <= 1


def test_changing_what_was_returned_changes_no_later_batch():
    batches = MixedBatches(6, {"sound": 3}, 9, 0)
    before = batches(0)
    batches(0).labelled.zero_()
    batches(0).unlabelled["sound"].zero_()
    assert same(before, batches(0))


def test_a_stream_is_the_same_however_it_is_cut():
    stream = EpochStream(5, 0, "cuts")
    whole = stream.between(0, 23)
    assert all(np.array_equal(whole[a:b], stream.between(a, b)) for a in range(23) for b in range(a, 23))
    assert all(sorted(whole[start : start + 5]) == list(range(5)) for start in (0, 5, 10, 15))
    assert not np.array_equal(whole, EpochStream(5, 0, "others").between(0, 23))


def test_impossible_batches_are_refused():
    with pytest.raises(ConfigError, match="no labelled documents to train on"):
        MixedBatches(0, {"sound": 5}, 10, 0)
    with pytest.raises(ConfigError, match="batch_size is 1; a batch needs at least two items"):
        MixedBatches(5, {"sound": 5}, 1, 0)


@pytest.mark.parametrize(
    ("labelled", "pool", "share", "expected"),
    [
        (60, 2000, None, (3, 97)),
        (60, 2000, 0.3, (30, 70)),
        (20, 2000, 0.3, (20, 80)),
        (2173, 462, 0.5, (50, 50)),
        (2173, 0, 0.5, (100, 0)),
        (2173, 462, 0.001, (1, 99)),
    ],
)
def test_the_labelled_share_can_be_given(labelled, pool, share, expected):
    batches = MixedBatches(labelled, {"sound": pool, "text": pool}, 100, 0, labelled_share=share)
    assert batches.sizes == expected
    batch = batches(2)
    assert (len(batch.labelled), *(len(rows) for rows in batch.unlabelled.values())) == (*expected, expected[1])


def test_paired_batches_show_the_same_documents_in_every_modality():
    batches = MixedBatches(50, {"sound": 50, "text": 50}, 20, 2, paired=True)
    epoch = [batches(step) for step in range(5)]
    for batch in epoch:
        assert torch.equal(batch.unlabelled["sound"], batch.unlabelled["text"])
    assert sorted(torch.cat([batch.unlabelled["text"] for batch in epoch]).tolist()) == list(range(50))
    assert not torch.equal(
        epoch[0].unlabelled["text"], MixedBatches(50, {"text": 50}, 20, 3, paired=True)(0)[1]["text"]
    )


def test_pairing_does_not_change_which_labelled_documents_are_shown():
    one, other = (MixedBatches(50, {"sound": 50, "text": 50}, 20, 2, paired=paired)(3) for paired in (False, True))
    assert torch.equal(one.labelled, other.labelled)


def test_impossible_shares_are_refused():
    for share in (0.0, 1.0, -0.1, 1.5):
        with pytest.raises(ConfigError, match=f"labelled_share is {share}; it must lie between 0 and 1"):
            MixedBatches(5, {"sound": 5}, 4, 0, labelled_share=share)
