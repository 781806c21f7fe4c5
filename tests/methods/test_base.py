"""The base of all methods: what `fit` hands over, what `embed` checks, what is kept."""

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import DataError, FitError, NotFittedError
from diptych.data import Protocol
from diptych.methods import Method, embedding


class Means(Method):
    """Centres each modality; enough to watch the base at work."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def _fit(self, data, progress) -> None:
        self.data = data
        self.means_ = {
            name: np.asarray(data.train.having(name).features(name).mean(axis=0)) for name in data.modalities
        }
        progress("means", 1, 1)

    def _embed(self, modality, rows):
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        self.seen = [*getattr(self, "seen", []), len(dense)]
        return (dense - self.means_[modality] + self.shift)[:, :4]


class Broken(Means):
    def _fit(self, data, progress) -> None:
        raise FitError("no luck.")


def test_learned_state_is_what_ends_in_an_underscore(counts_dataset) -> None:
    method = Means().fit(counts_dataset)
    assert set(method.learned_state()) == {"record_", "means_"}


def test_the_record_tells_the_conditions_of_the_fit(counts_dataset) -> None:
    protocol = Protocol(unlabelled="test-features", labels_per_class=3, seed=5)
    method = Means().fit(counts_dataset, protocol, modalities=("text", "image"))
    record = method.record_
    assert record["protocol"] == protocol.to_json()
    assert list(record["modalities"]) == ["text", "image"]
    assert record["modalities"]["text"] == {"kind": "counts", "dimension": 20}
    assert record["classes"] == list(counts_dataset.classes)
    assert record["saw"] == "pairs"
    assert record["fit_seconds"] >= 0


@pytest.mark.parametrize(
    ("labels", "unlabelled", "protocol", "words"),
    [
        (False, True, "none", "pairs"),
        (True, False, "test-features", "pairs + labels"),
        (True, True, "train", "pairs + labels + unlabelled training features"),
        (True, True, "train of labelled items only", "pairs + labels"),
        (False, True, "test-features", "pairs + test features"),
    ],
)
def test_what_was_seen_in_words(labels, unlabelled, protocol, words, counts_dataset, gaps_dataset) -> None:
    class Seeing(Means):
        uses_labels = labels
        uses_unlabelled = unlabelled

    dataset = counts_dataset if protocol.endswith("only") else gaps_dataset
    assert Seeing().fit(dataset, Protocol(unlabelled=protocol.split(" ")[0])).record_["saw"] == words


def test_a_second_fit_starts_from_nothing(counts_dataset) -> None:
    method = Means().fit(counts_dataset)
    method.leftover_ = 1
    assert "leftover_" not in method.fit(counts_dataset).learned_state()


def test_a_fit_that_fails_leaves_the_method_unfitted(counts_dataset) -> None:
    method = Broken()
    with pytest.raises(FitError, match="no luck"):
        method.fit(counts_dataset)
    assert not method.is_fitted


def test_progress_is_handed_on(counts_dataset) -> None:
    calls = []
    Means().fit(counts_dataset, progress=lambda *call: calls.append(call))
    assert calls == [("means", 1, 1)]


def test_rows_are_embedded_in_chunks(counts_dataset, monkeypatch) -> None:
    monkeypatch.setattr(embedding, "_EMBED_ROWS", 7)
    method = Means().fit(counts_dataset)
    rows = counts_dataset.split("test").features("text")
    codes = method.embed("text", rows)
    assert method.seen == [7] * 8 + [4]
    np.testing.assert_allclose(codes, (rows.toarray() - method.means_["text"])[:, :4], rtol=1e-6, atol=1e-6)


def test_non_finite_rows_are_found_anywhere(counts_dataset, monkeypatch) -> None:
    monkeypatch.setattr(embedding, "_EMBED_ROWS", 5)
    method = Means().fit(counts_dataset)
    dense = np.zeros((12, 12))
    dense[11, 3] = np.inf
    with pytest.raises(DataError, match="row 11, column 3 of 'image' is inf"):
        method.embed("image", dense)
    sparse = sp.csr_array(np.where(np.arange(60).reshape(3, 20) == 59, np.nan, 1.0))
    with pytest.raises(DataError, match="row 2, column 19 of 'text' is nan"):
        method.embed("text", sparse)


def test_unknown_modalities_are_refused_at_fit(counts_dataset) -> None:
    with pytest.raises(DataError, match="no modality 'smell'; it has image, text"):
        Means().fit(counts_dataset, modalities=("image", "smell"))


@pytest.mark.parametrize("modality", ["image", "text"])
def test_blocks_are_embedded_as_all_rows_at_once_are(counts_dataset, modality) -> None:
    method = Means().fit(counts_dataset)
    part = counts_dataset.split("test")
    blocks = list(method.embed_blocks(modality, part.blocks(modality, 7)))
    assert [len(block) for block in blocks] == [7] * 8 + [4]
    assert {block.dtype for block in blocks} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(np.concatenate(blocks), method.embed(modality, part.features(modality)))


def test_a_large_block_is_embedded_in_chunks(counts_dataset, monkeypatch) -> None:
    monkeypatch.setattr(embedding, "_EMBED_ROWS", 7)
    method = Means().fit(counts_dataset)
    assert [len(codes) for codes in method.embed_blocks("image", [np.ones((16, 12))])] == [16]
    assert method.seen == [7, 7, 2]


def test_blocks_are_read_when_their_codes_are_asked_for(counts_dataset) -> None:
    read = []

    def blocks():
        for number in range(3):
            read.append(number)
            yield np.ones((2, 12))

    codes = Means().fit(counts_dataset).embed_blocks("image", blocks())
    assert read == []
    next(codes)
    assert read == [0]


def test_bad_blocks_are_refused_with_the_row_among_all(counts_dataset) -> None:
    method = Means().fit(counts_dataset)
    bad = np.zeros((5, 12))
    bad[2, 2] = np.nan
    codes = method.embed_blocks("image", [np.zeros((5, 12)), np.zeros((5, 12)), bad])
    assert [len(next(codes)) for _ in range(2)] == [5, 5]
    with pytest.raises(DataError, match="row 12, column 2 of 'image' is nan"):
        next(codes)
    with pytest.raises(DataError, match="this model takes 12 columns"):
        next(method.embed_blocks("image", [np.zeros((5, 3))]))
    with pytest.raises(NotFittedError):
        next(Means().embed_blocks("image", [bad]))


def test_the_row_of_a_bad_count_is_a_row(counts_dataset, monkeypatch) -> None:
    monkeypatch.setattr(embedding, "_EMBED_ROWS", 2)
    counts = np.ones((6, 20))
    counts[5, 3] = np.inf
    with pytest.raises(DataError, match="row 5, column 3 of 'text' is inf: replace it"):
        Means().fit(counts_dataset).embed("text", sp.csr_array(counts))
