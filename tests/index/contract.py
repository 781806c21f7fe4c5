"""What every engine must do. A test file of an engine subclasses `EngineContract` and says how an index is made."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, Index
from index.brute_force import BruteForce, check_found

DIMENSION = 7
EMBEDDER = EmbedderId("model-one", "pipeline-one")
IDENTITY = Identity(EMBEDDER, DIMENSION)
WORDS = ("river", "pond", "wood")


def drawn(count, seed=0, dimension=DIMENSION):
    return generator(seed, "index", "contract").normal(size=(count, dimension)).astype(np.float32)


def described(count):
    return [
        {"split": ("train", "test")[n % 2], "label": WORDS[n % 3], "year": 2000 + n, "tags": [WORDS[n % 3], "all"]}
        for n in range(count)
    ]


class EngineContract:
    """Subclasses give `new` and `again`; everything else is inherited."""

    def new(self, place, identity=IDENTITY) -> Index:
        """An empty index at a place that a test has for itself."""
        raise NotImplementedError

    def again(self, place, embedder=None) -> Index:
        """The index at that place, opened once more."""
        raise NotImplementedError

    @pytest.fixture
    def index(self, tmp_path):
        with self.new(tmp_path / "index") as made:
            yield made

    @pytest.fixture
    def filled(self, index):
        """Sixty items of two modalities, and the model that knows them."""
        model, vectors = BruteForce(), drawn(60)
        names = ["image" if n % 2 else "text" for n in range(60)]
        ids, metadata = [f"item-{n:02d}" for n in range(60)], described(60)
        assert index.add(ids, vectors, modality=names, metadata=metadata) == 60
        model.put(ids, vectors, names, metadata)
        return index, model

    def test_an_empty_index_finds_nothing(self, index):
        assert index.count() == 0
        assert [len(found) for found in index.search(drawn(2))] == [0, 0]
        assert index.get(["a"]) == [None]
        assert index.delete(["a"]) == 0
        assert index.list_ids() == []

    def test_no_items_and_no_queries_are_no_errors(self, index):
        assert index.add([], np.empty((0, DIMENSION)), modality="image") == 0
        assert index.update([], [], modality="image") == 0
        assert index.delete([]) == 0
        assert index.search(np.empty((0, DIMENSION))) == []

    def test_what_is_added_comes_back(self, index):
        vector = drawn(1)[0] * 3
        index.add(["ä/1"], [vector], modality="image", metadata=[{"label": ["a", "b"], "deep": {"x": None}}])
        item, none = index.get(["ä/1", "other"])
        assert none is None
        assert (item.id, item.modality) == ("ä/1", "image")
        assert item.metadata == {"label": ["a", "b"], "deep": {"x": None}}
        np.testing.assert_allclose(item.vector, vector / np.linalg.norm(vector), atol=1e-7)
        assert item.vector.dtype == np.float32

    def test_search_agrees_with_brute_force(self, filled):
        index, model = filled
        queries = drawn(5, seed=1)
        for k, offset in ((1, 0), (10, 0), (10, 55), (100, 0), (5, 100)):
            for query, found in zip(queries, index.search(queries, k, offset=offset), strict=True):
                check_found(found, model, query, k, offset=offset)

    def test_exact_search_of_some_columns_agrees_with_brute_force(self, filled):
        index, model = filled
        queries = drawn(5, seed=7)
        queries[:, 2:] = 0.0
        for where, modality in ((None, None), ("split = 'train'", None), (None, "image")):
            options = {"where": where, "modality": modality}
            for query, found in zip(queries, index.search(queries, 8, exact=True, **options), strict=True):
                check_found(found, model, query, 8, **options)

    def test_one_query_may_be_a_vector(self, filled):
        index, _ = filled
        query = drawn(1)[0]
        alone, row, far = index.search(query), index.search(query[None]), index.search(query.astype(np.float64) * 1e6)
        assert alone[0].ids == row[0].ids == far[0].ids
        assert alone[0].metadata is None

    @pytest.mark.parametrize(
        "where",
        [
            "split = 'train'",
            "label in ('river', 'pond') and year < 2030",
            "not (tags = 'river') or id = 'item-03'",
            "modality != 'text' and year >= 2050",
            "missing is null",
            "missing = 1",
            "label like 'P%'",
            "year = 2007",
        ],
    )
    def test_filters_leave_k_whenever_k_exist(self, filled, where):
        index, model = filled
        assert index.count(where=where) == len(model.fitting(where))
        for modality in (None, "image", "audio"):
            assert index.count(where=where, modality=modality) == len(model.fitting(where, modality))
            for query in drawn(3, seed=2):
                (found,) = index.search(query, 7, where=where, modality=modality, with_metadata=True, offset=1)
                check_found(found, model, query, 7, where=where, modality=modality, offset=1)

    def test_equal_vectors_get_equal_scores_and_come_by_id(self, tmp_path):
        for dimension in (3, 33, 257):
            with self.new(tmp_path / str(dimension), Identity(EMBEDDER, dimension)) as index:
                same, other = drawn(1, seed=3, dimension=dimension), drawn(30, seed=4, dimension=dimension)
                ids = [f"{n * 37 % 101:03d}" for n in range(101)]
                index.add(ids, np.repeat(same, 101, axis=0), modality="a")
                index.update([f"x{n}" for n in range(30)], other, modality="b")
                for queries in (same, np.vstack([same, other[:2], same])):
                    first = index.search(queries, 40, offset=3, modality="a")[0]
                    assert list(first.ids) == sorted(ids)[3:43]
                    assert len(set(first.scores.tolist())) == 1

    def test_the_answer_does_not_depend_on_the_company(self, filled):
        index, _ = filled
        queries = drawn(40, seed=5)
        for query, found in zip(queries, index.search(queries, 12), strict=True):
            (alone,) = index.search(query, 12)
            assert (alone.ids, alone.scores.tolist()) == (found.ids, found.scores.tolist())

    def test_a_delete_takes_effect_at_once(self, filled):
        index, model = filled
        for _ in range(6):
            query = drawn(1, seed=6)[0]
            best = index.search(query, 5)[0].ids
            assert index.delete([*best, "never there"]) == 5
            model.delete(best)
            check_found(index.search(query, 10)[0], model, query, 10)
            assert index.get(best) == [None] * 5
        assert index.count() == 30

    def test_an_update_takes_effect_at_once(self, filled):
        index, model = filled
        vectors, ids = drawn(3, seed=7), ["item-00", "item-01", "new"]
        metadata = [{"split": "val"}] * 3
        assert index.update(ids, vectors, modality="audio", metadata=metadata) == 3
        model.put(ids, vectors, "audio", metadata)
        assert index.count() == 61
        for query in vectors:
            check_found(index.search(query, 61, with_metadata=True)[0], model, query, 61)
        assert index.search(vectors[2], 1)[0].ids == ("new",)

    def test_an_update_of_metadata_alone_is_seen_by_filters(self, filled):
        index, model = filled
        vector = index.get(["item-00"])[0].vector
        assert index.count(where="split = 'val'") == 0
        assert len(index.search(vector, 3, where="split = 'val'")[0]) == 0
        index.update(["item-00"], [vector], modality="text", metadata=[{"split": "val"}])
        assert index.search(vector, 3, where="split = 'val'")[0].ids == ("item-00",)
        assert index.count() == len(model.items)

    def test_deleted_and_added_again(self, filled):
        index, model = filled
        index.delete(["item-00"])
        index.add(["item-00"], drawn(1, seed=8), modality="image", metadata=[{}])
        model.put(["item-00"], drawn(1, seed=8), "image", [{}])
        check_found(index.search(drawn(1), 60)[0], model, drawn(1)[0], 60)

    def test_ids_come_in_pages(self, filled):
        index, model = filled
        pages, after = [], ""
        while page := index.list_ids(after=after, limit=13, where="split = 'test'"):
            pages += page
            after = page[-1]
        assert pages == sorted(model.fitting("split = 'test'"))

    def test_adding_what_is_there_changes_nothing(self, filled):
        index, model = filled
        with pytest.raises(DataError, match=r"id 'item-05' is already in the index; use update"):
            index.add(["fresh", "item-05"], drawn(2), modality="image")
        assert index.get(["fresh"]) == [None]
        check_found(index.search(drawn(1), 100)[0], model, drawn(1)[0], 100)

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            ([[0.0] * DIMENSION], "vector 'a' is zero"),
            ([[np.nan] * DIMENSION], "vector 'a' holds a NaN or an infinity"),
            ([[np.inf] + [0.0] * (DIMENSION - 1)], "vector 'a' holds a NaN or an infinity"),
            ([[1.0] * (DIMENSION + 1)], rf"shape 1 × {DIMENSION + 1}; this index holds vectors of {DIMENSION}"),
            ([["x"] * DIMENSION], "must be real numbers"),
            ([[1.0], [1.0, 2.0]], "unequal lengths"),
            ([[1.0] * DIMENSION] * 2, "1 ids but 2 vectors"),
        ],
    )
    def test_vectors_that_are_none(self, index, vectors, message):
        with pytest.raises(DataError, match=message):
            index.add(["a"], vectors, modality="image")
        assert index.count() == 0

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            (["a", "a"], "comes twice"),
            (["", "b"], "not empty"),
            (["a\0", "b"], "zero byte"),
            (["\ud800", "b"], "half a character"),
            (["a" * 2000, "b"], "longer than"),
            ([1, 2], "must be a text"),
            ("ab", "give a list of ids"),
        ],
    )
    def test_ids_that_are_none(self, index, ids, message):
        with pytest.raises(DataError, match=message):
            index.add(ids, drawn(2), modality="image")

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            ([{"x": float("nan")}], "cannot be written as JSON"),
            ([{"x": object()}], "cannot be written as JSON"),
            ([{"x": "\ud800"}], "cannot be written as JSON"),
            ([{"id": 1}], "has the key 'id'"),
            ([{1: 1}], "keys must be texts"),
            (["text"], "must be a JSON object"),
            ([], "1 ids but 0 metadata"),
        ],
    )
    def test_metadata_that_is_none(self, index, metadata, message):
        with pytest.raises(DataError, match=message):
            index.add(["a"], drawn(1), modality="image", metadata=metadata)

    def test_pages_that_are_none(self, index):
        for arguments in ({"k": 0}, {"offset": -1}):
            with pytest.raises(ConfigError):
                index.search(drawn(1), **arguments)
        with pytest.raises(ConfigError, match="at character 7"):
            index.search(drawn(1), where="label ~ 3")
        with pytest.raises(DataError, match="is zero"):
            index.search(np.zeros(DIMENSION, np.float32))

    def test_vectors_of_another_model_are_refused(self, tmp_path):
        with self.new(tmp_path / "index") as index:
            assert index.identity == IDENTITY
            for embedder in (EmbedderId("model-two", "pipeline-one"), EmbedderId("model-one", "pipeline-two")):
                for call in (index.add, index.update):
                    with pytest.raises(DataError, match=r"-one.* come from .*-two.*run `diptych index"):
                        call(["a"], drawn(1), modality="image", embedder=embedder)
                with pytest.raises(DataError, match="run `diptych index"):
                    index.search(drawn(1), embedder=embedder)
            index.add(["a"], drawn(1), modality="image", embedder=EMBEDDER)
        with pytest.raises(DataError, match="run `diptych index"):
            self.again(tmp_path / "index", embedder=EmbedderId("model-two"))
        with self.again(tmp_path / "index", embedder=EMBEDDER) as index:
            assert (index.identity, index.count()) == (IDENTITY, 1)

    def test_everything_is_there_after_closing(self, tmp_path):
        model, vectors = BruteForce(), drawn(50)
        ids, metadata = [str(n) for n in range(50)], described(50)
        with self.new(tmp_path / "index") as index:
            index.add(ids, vectors, modality="image", metadata=metadata)
            model.put(ids, vectors, "image", metadata)
            index.optimise()
            index.delete(ids[:5])
            model.delete(ids[:5])
            index.update(ids[5:8], vectors[:3], modality="image", metadata=metadata[:3])
            model.put(ids[5:8], vectors[:3], "image", metadata[:3])
        index.close()
        with self.again(tmp_path / "index") as index:
            for query in drawn(4, seed=9):
                check_found(index.search(query, 50, with_metadata=True)[0], model, query, 50)

    def test_a_closed_index_says_so(self, filled):
        index, _ = filled
        index.search(drawn(1))
        index.close()
        for call in (lambda: index.search(drawn(1)), index.count, lambda: index.delete(["a"])):
            with pytest.raises(ConfigError, match="closed"):
                call()

    def test_a_snapshot_is_an_index_of_its_own(self, filled, tmp_path):
        index, model = filled
        index.optimise()
        index.delete(["item-00"])
        copy = index.snapshot(tmp_path / "copy")
        index.delete(["item-01"])
        model.delete(["item-00"])
        with self.again(copy) as other:
            check_found(other.search(drawn(1), 100)[0], model, drawn(1)[0], 100)
            other.delete(["item-02"])
        assert index.get(["item-02"]) != [None]
        with pytest.raises(DataError, match="already exists"):
            index.snapshot(tmp_path / "copy")

    def test_optimise_changes_no_answer(self, filled):
        index, model = filled
        for _ in range(2):
            index.optimise()
            check_found(index.search(drawn(1), 60)[0], model, drawn(1)[0], 60)
            gone = sorted(model.items)[:7]
            index.delete(gone)
            model.delete(gone)
            check_found(index.search(drawn(1), 60)[0], model, drawn(1)[0], 60)
