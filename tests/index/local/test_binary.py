"""Binary codes in the local engine: searched as brute force would, scored by vectors or by what codes stand for."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.index import EmbedderId, Identity, create_index, open_index, restore_index
from diptych.index.local.binary import CodedVectors, HammingCodes, as_singles, concatenated
from diptych.index.local.graph import Settings
from diptych.methods.binary_codes import learn_codes

DIMENSION = 24
IDENTITY = Identity(EmbedderId("model"), DIMENSION)


def clustered(count, seed=0):
    """Vectors around a few directions, as embeddings are."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((12, DIMENSION))
    vectors = centres[draw.integers(12, size=count)] + 0.6 * draw.standard_normal((count, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def ids_of(count, start=0):
    return [f"{number:05d}" for number in range(start, start + count)]


@pytest.mark.parametrize("allowed_share", [None, 0.9, 0.3, 0.01])
def test_hamming_search_is_brute_force(allowed_share) -> None:
    vectors, queries = clustered(700), clustered(5, seed=1)
    how = learn_codes(vectors, 64)
    codes = HammingCodes(how.encode(vectors), how, 700, Settings(bits=64, shortlist=20))
    allowed = None if allowed_share is None else np.random.default_rng(2).random(700) < allowed_share
    found = codes.search(queries, 2, allowed)
    may = np.arange(700) if allowed is None else np.flatnonzero(allowed)
    for query, positions in zip(how.encode(queries), found, strict=True):
        distances = np.unpackbits(how.encode(vectors) ^ query, axis=1).sum(axis=1)
        real = positions[positions >= 0]
        assert len(set(real)) == len(real) == min(20, len(may)) and set(real) <= set(may)
        np.testing.assert_array_equal(np.sort(distances[real]), np.sort(distances[may])[: len(real)])


def test_results_are_those_of_the_floats_where_candidates_cover(tmp_path) -> None:
    vectors, queries = clustered(400), clustered(8, seed=1)
    plain = create_index(tmp_path / "plain", IDENTITY, structure="flat")
    binary = create_index(tmp_path / "binary", IDENTITY, bits=128, shortlist=200)
    for index in (plain, binary):
        index.add(ids_of(400), vectors, modality="image")
        index.optimise()
    (segment,) = binary._view.last.partitions["image"]
    assert isinstance(segment.graph, HammingCodes)
    candidates = [set(ids_of(400)[place] for place in row) for row in segment.graph.search(queries, 10, None).tolist()]
    covered = 0
    for few, expected, found in zip(candidates, plain.search(queries, 10), binary.search(queries, 10), strict=True):
        assert set(found.ids) <= few
        if set(expected.ids) <= few:
            covered += 1
            assert found.ids == expected.ids
            np.testing.assert_array_equal(found.scores, expected.scores)
    assert covered >= 7


def test_codes_are_taken_over_and_learned_anew_when_vectors_have_doubled(tmp_path) -> None:
    vectors = clustered(700)
    with create_index(tmp_path / "i", IDENTITY, bits=64, shortlist=50, fold_at=10_000) as index:
        index.add(ids_of(200), vectors[:200], modality="image")
        index.optimise()
        first = index._view.last.partitions["image"][0].graph
        index.delete(ids_of(50))
        index.add(ids_of(100, 200), vectors[200:300], modality="image")
        index.optimise()
        second = index._view.last.partitions["image"][0].graph
        np.testing.assert_array_equal(second.codes[:150], first.codes[50:])
        np.testing.assert_array_equal(second.codes[150:], first.how.encode(vectors[200:300]))
        assert second.trained_on == first.trained_on == 200
        index.add(ids_of(400, 300), vectors[300:], modality="image")
        index.optimise()
        assert index._view.last.partitions["image"][0].graph.trained_on == 650
        assert index.search(vectors[[60, 500]], 1)[1].ids == ("00500",)
    with open_index(tmp_path / "i") as again:
        assert [hits.ids for hits in again.search(vectors[[60, 500]], 1)] == [("00060",), ("00500",)]


class TestWithoutFloats:
    @pytest.fixture
    def vectors(self):
        return clustered(600)

    @pytest.fixture
    def how(self, vectors):
        return learn_codes(vectors, 256)

    @pytest.fixture
    def index(self, tmp_path, vectors, how):
        with create_index(tmp_path / "i", IDENTITY, bits=256, keep_float=False, shortlist=100, codes=how) as made:
            made.add(ids_of(600), vectors, modality="image", metadata=[{"odd": n % 2} for n in range(600)])
            yield made

    @pytest.mark.parametrize("folded", [False, True])
    def test_scores_are_those_of_the_vectors_that_codes_stand_for(self, index, vectors, how, folded) -> None:
        if folded:
            index.optimise()
        decoded = how.decode(how.encode(vectors))
        np.testing.assert_allclose(np.linalg.norm(decoded, axis=1), 1.0, atol=1e-5)
        for query, hits in zip(vectors[:4], index.search(vectors[:4], 5), strict=True):
            scores = decoded @ query
            assert hits.ids == tuple(f"{n:05d}" for n in np.argsort(-scores)[:5])
            np.testing.assert_allclose(hits.scores, np.sort(scores)[::-1][:5], atol=1e-5)
        exact = index.search(vectors[:4], 5, exact=True)
        assert [hits.ids for hits in exact] == [hits.ids for hits in index.search(vectors[:4], 5)]
        odd = index.search(vectors[:1], 5, where="odd = 1", with_metadata=True)[0]
        assert len(odd.ids) == 5 and all(known["odd"] == 1 for known in odd.metadata)
        np.testing.assert_allclose(index.get(["00003"])[0].vector, decoded[3], atol=1e-6)

    def test_an_item_takes_its_code_and_no_more(self, index, tmp_path) -> None:
        index.optimise()
        sizes = [len(blob) for (blob,) in index._connections.reader().connection.execute("SELECT vector FROM vectors")]
        assert set(sizes) == {32}
        (folder,) = (tmp_path / "i" / "derived").iterdir()
        assert (folder / "0" / "codes.u8").stat().st_size == 600 * 32
        assert not (folder / "0" / "vectors.f32").exists()

    def test_changes_and_opening_again_keep_codes(self, index, tmp_path, vectors, how) -> None:
        index.optimise()
        index.delete(["00000"])
        index.update(["00001"], vectors[[5]], modality="image")
        assert index.search(vectors[[5]], 2)[0].ids == ("00001", "00005")
        index.optimise()
        index.close()
        with open_index(tmp_path / "i") as again:
            assert again.count() == 599 and again.verify() == []
            assert again.search(vectors[[5]], 2)[0].ids == ("00001", "00005")
            again.backup(tmp_path / "file")
        restore_index(tmp_path / "file", tmp_path / "restored")
        with open_index(tmp_path / "restored") as restored:
            assert restored.search(vectors[[5]], 2)[0].ids == ("00001", "00005")

    def test_a_damaged_projection_is_noticed(self, index, tmp_path) -> None:
        with index._connections.writing() as connection:
            connection.execute("UPDATE binary_codes SET numbers = zeroblob(length(numbers)) WHERE name = 'rotation'")
        index.close()
        with pytest.raises(DataError, match="how its vectors become codes is not as it was written"):
            open_index(tmp_path / "i")


def test_coded_vectors_are_decoded_where_they_are_looked_at() -> None:
    vectors = clustered(100)
    how = learn_codes(vectors, 64)
    coded = CodedVectors(how.encode(vectors), how)
    whole = as_singles(coded)
    assert coded.shape == whole.shape == (100, DIMENSION)
    np.testing.assert_array_equal(coded.take(np.array([3, 7])), whole[[3, 7]])
    np.testing.assert_array_equal(as_singles(coded[10:20]), whole[10:20])
    np.testing.assert_array_equal(as_singles(concatenated([coded[:5], coded[5:]])), whole)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bits": 60}, "bits is 60; it must be a multiple of 8 between 32 and 1024"),
        ({"bits": 64, "structure": "hnsw"}, "structure is 'hnsw' and bits are given"),
        ({"keep_float": False}, "bits is 0; it must be a multiple of 8"),
        ({"bits": 64, "keep_float": False}, "an index without floats must be told how vectors become codes"),
        ({"bits": 64, "keep_float": "no"}, "keep_float is 'no'; it must be true or false"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path, options, words) -> None:
    with pytest.raises(ConfigError, match=words):
        create_index(tmp_path / "i", IDENTITY, **options)
    assert not (tmp_path / "i").exists()


def test_codes_of_other_vectors_are_refused(tmp_path) -> None:
    how = learn_codes(clustered(100)[:, :20], 64)
    with pytest.raises(ConfigError, match="have 64 bits of 20 columns, and the index has 64 bits of 24"):
        create_index(tmp_path / "i", IDENTITY, bits=64, codes=how)
