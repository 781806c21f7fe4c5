"""What every engine that keeps words must do. A test file of an engine says how an index is made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, Index
from index.naive_words import NaiveWords, check_words

IDENTITY = Identity(EmbedderId("model-one"), 3)
VOCABULARY = (
    "the", "a", "dog", "dogs", "cat", "river", "rivers", "red", "running", "runs", "shoe", "shoes", "café", "cafe",
    "AB-1234/X", "WH1000XM4", "Straße", "東京都", "собака", "собаки", "👍", "12.5", "t-shirt",
)  # fmt: skip
QUERIES = (
    "dog", "dogs", "the", "the red dog runs", "river shoes café", "cafe", "ab1234x", "AB 1234", "wh-1000xm4", "strasse",
    "東京", "собаку", "👍", "tshirt 12.5", "the a", "nothing of it", "dog dogs dog", "the the red",
)  # fmt: skip


def unit(count):
    """Vectors do not matter here."""
    return np.ones((count, IDENTITY.dimension), np.float32)


def drawn_texts(count, seed=0):
    """Texts of one to twelve words, the first words of the vocabulary much more often than the last."""
    draw = generator(seed, "index", "words")
    weights = 1 / np.arange(1, len(VOCABULARY) + 1)
    return [
        " ".join(draw.choice(VOCABULARY, size=draw.integers(1, 13), p=weights / weights.sum())) for _ in range(count)
    ]


class WordsContract:
    """Subclasses give `new` and `again`; everything else is inherited."""

    def new(self, place, *, words=True) -> Index:
        """An empty index at a place that a test has for itself."""
        raise NotImplementedError

    def again(self, place) -> Index:
        """The index at that place, opened once more."""
        raise NotImplementedError

    @pytest.fixture
    def index(self, tmp_path):
        with self.new(tmp_path / "index") as made:
            yield made

    @pytest.fixture
    def filled(self, index):
        """Three hundred entries of two modalities, every eleventh without words, and the model that knows them."""
        model, texts = NaiveWords(), drawn_texts(300)
        texts[::11] = [None] * len(texts[::11])
        texts[5], texts[7] = "!!!", ""
        ids = [f"e{n * 37 % 300:03d}" for n in range(300)]
        names = ["text" if n % 3 else "title" for n in range(300)]
        known = [{"n": n, "half": n % 2} for n in range(300)]
        index.add(ids, unit(300), modality=names, metadata=known, words=texts)
        model.put(ids, texts, names, known)
        return index, model

    def put(self, index, *texts):
        index.update([f"t{n}" for n in range(len(texts))], unit(len(texts)), modality="text", words=texts)

    def test_scores_are_those_of_the_textbook(self, filled):
        index, model = filled
        assert index.has_words
        for k, offset in ((5, 0), (20, 3), (400, 0), (10, 250)):
            for query, found in zip(QUERIES, index.search_words(QUERIES, k, offset=offset), strict=True):
                check_words(found, model, query, k, offset=offset)

    @pytest.mark.parametrize("where", [None, "half = 1", "n < 20", "n < 0", "id like 'e1%' and half = 0"])
    @pytest.mark.parametrize("modality", [None, "title", "audio"])
    def test_filters_lose_nothing(self, filled, where, modality):
        index, model = filled
        options = {"where": where, "modality": modality}
        for query in QUERIES[::2]:
            (found,) = index.search_words([query], 7, with_metadata=True, offset=1, **options)
            check_words(found, model, query, 7, offset=1, **options)

    def test_pages_have_no_gaps_and_no_repeats(self, filled):
        index, _ = filled
        for query in ("the", "a dog", "the red river"):
            whole = index.search_words([query], 1_000)[0]
            pages = [index.search_words([query], 7, offset=start)[0] for start in range(0, len(whole), 7)]
            assert [id for page in pages for id in page.ids] == list(whole.ids)
            assert [score for page in pages for score in page.scores.tolist()] == whole.scores.tolist()

    def test_equal_texts_get_equal_scores_and_come_by_id(self, index):
        ids = [f"{n * 37 % 101:03d}" for n in range(101)]
        index.add(ids, unit(101), modality="text", words=["a black dog"] * 101)
        (found,) = index.search_words(["black dogs"], 40, offset=3)
        assert list(found.ids) == sorted(ids)[3:43]
        assert len(set(found.scores.tolist())) == 1

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Two dogs", "dog"),
            ("a dog", "DOGS"),
            ("running shoe", "running shoes"),
            ("a café", "cafe"),
            ("a cafe", "Café"),
            ("Model AB-1234/X", "ab1234x"),
            ("Model AB-1234/X", "AB-1234/X"),
            ("Model AB-1234/X", "AB 1234"),
            ("ab1234x", "AB-1234/X"),
            ("Sony WH-1000XM4", "wh1000xm4"),
            ("Sony WH1000XM4", "WH 1000 XM4"),
            ("iPhone-15", "iphone 15"),
            ("price 1,000", "1000"),
            ("vitamin C", "c"),
            ("日本の東京都です", "東京"),
            ("สวัสดีครับ", "สวัสดี"),
            ("한국어를 배우다", "한국어"),
            ("über den Straßen", "STRASSEN"),
            ("собаки", "собака"),
            ("I 👍🏽 it", "👍"),
            ("T-shirt", "tshirt"),
            ("the dog's bowl", "dog"),
        ],
    )
    def test_what_finds_what(self, index, text, query):
        self.put(index, text, "something else", None)
        assert index.search_words([query])[0].ids == ("t0",)

    def test_the_form_that_was_typed_comes_first(self, index):
        self.put(index, "one dogs here", "one dog here", "one cafe here", "one café here")
        for query, first in (("dog", "t1"), ("dogs", "t0"), ("cafe", "t2"), ("café", "t3")):
            (found,) = index.search_words([query])
            assert len(found) == 2
            assert found.ids[0] == first
            assert found.scores[0] > found.scores[1]

    @pytest.mark.parametrize(
        "query",
        [
            'dog"', '"dog', "dog*", "dog AND cat", "dog OR", "NOT dog", "NEAR(dog cat)", "terms:dog", "-dog", "^dog",
            "dog + cat", "(dog", "{terms}:dog", "dog'); DROP TABLE items; --", "dog & !cat", "dog:*", "dog <-> cat",
            "\\dog", "dog\0", "\ud800dog", "%dog%", "$1 dog", "{} dog", "''dog''", "=dog", "dog#2",
        ],
    )  # fmt: skip
    def test_nothing_typed_means_anything(self, index, query):
        self.put(index, "a dog", "a cat", "or")
        (found,) = index.search_words([query])
        assert "t0" in found.ids
        assert index.complete(query) is not None
        assert index.correct(query) is not None
        assert index.count() == 3

    @pytest.mark.parametrize("query", ["", "  \n\t", "!!! ... ---", "'", "\0", "\ud800", "zebra"])
    def test_queries_that_find_nothing(self, filled, query):
        index, _ = filled
        (found,) = index.search_words([query], with_metadata=True)
        assert (found.ids, found.modalities, found.metadata) == ((), (), ())
        assert index.complete("zebra" + query) == []
        assert index.best_word_scores(["", "!"]) == [0.0, 0.0]

    def test_no_queries_and_an_empty_index(self, index):
        assert index.search_words([]) == []
        assert index.search_words(["dog"])[0].ids == ()
        assert index.word_counts(["dog"]) == {"dog": 0}
        assert (index.complete("d"), index.correct("dog")) == ([], [])

    def test_a_long_query_is_cut_to_its_rarest_indexed_words(self, index):
        index.add(
            [f"c{n:03d}" for n in range(200)],
            unit(200),
            modality="text",
            words=[f"common{n % 20} everywhere" for n in range(200)],
        )
        self.put(index, "needle", "everywhere")
        unknown = " ".join(f"unknown{n}x" for n in range(500))
        common = " ".join(f"common{n} everywhere" for n in range(20))
        (found,) = index.search_words([f"{unknown} {common} needle"], 300)
        assert found.ids[0] == "t0"
        assert index.search_words(["💥 東 xyz " * 5_000])[0].ids == ()

    def test_words_come_and_go_with_their_entries(self, index):
        self.put(index, "a red dog", "a blue dog", "a red cat")
        index.delete(["t0"])
        assert set(index.search_words(["red"])[0].ids) == {"t2"}
        index.update(["t1"], unit(1), modality="text", words=["a green bird"])
        assert index.search_words(["dog blue"])[0].ids == ()
        assert index.search_words(["birds"])[0].ids == ("t1",)
        index.update(["t2"], unit(1), modality="text")
        assert index.search_words(["red cat"])[0].ids == ()
        index.add(["t0"], unit(1), modality="text", words=["a red dog"])
        assert index.search_words(["red"])[0].ids == ("t0",)
        assert index.word_counts(["red", "cat", "dog", "green"]) == {"red": 1, "cat": 0, "dog": 1, "green": 1}
        assert index.complete("c") == []

    def test_a_change_of_metadata_alone_keeps_the_words(self, index):
        self.put(index, "a red dog")
        index.update(["t0"], unit(1), modality="text", words=["a red dog"], metadata=[{"n": 1}])
        assert index.search_words(["dog"], where="n = 1")[0].ids == ("t0",)
        assert index.word_counts(["dog"]) == {"dog": 1}

    def test_adding_what_is_there_changes_no_words(self, index):
        self.put(index, "a dog")
        with pytest.raises(DataError, match="already in the index"):
            index.add(["new", "t0"], unit(2), modality="text", words=["cat", "cat"])
        assert index.word_counts(["cat", "dog"]) == {"cat": 0, "dog": 1}
        assert index.search_words(["cat"])[0].ids == ()

    def test_words_begin_so(self, index):
        self.put(index, "Shoes shoe shop", "shoes Café", "T-Shirt WH-1000XM4", "shoes", "sonst")
        assert index.complete("sho") == [("shoes", 3), ("shoe", 1), ("shop", 1)]
        assert index.complete("SHO", 1) == [("shoes", 3)]
        assert index.complete("cafe") == index.complete("caf") == [("café", 1)]
        assert index.complete("t-s") == index.complete("tsh") == [("t-shirt", 1)]
        assert index.complete("wh10") == [("wh-1000xm4", 1)]
        assert index.complete("zz") == index.complete("") == []

    def test_words_are_spelled_nearly_so(self, index):
        self.put(index, "mountain", "mountain", "fountain perfume", "watch", "catch latch", "watch", "café 1234 東京都")
        assert index.correct("montain") == [("mountain", 2), ("fountain", 1)]
        assert index.correct("muontain", 1) == [("mountain", 2)]
        assert index.correct("perfmue") == index.correct("Prefume") == [("perfume", 1)]
        assert index.correct("wacth") == [("watch", 2)]
        assert [word for word, _ in index.correct("vatch", 9)] == ["watch", "catch", "latch"]
        assert index.correct("caffe") == [("café", 1)]
        for word in ("mountain", "mountains", "Watches", "cafe", "1235", "東京部", "wa", "xyz", "", "wahc"):
            assert index.correct(word) == []

    def test_how_many_hold_a_word(self, index):
        self.put(index, "dog dogs", "dogs AB-12", "AB 13", "東京都")
        counts = index.word_counts(["Dog", "dogs", "ab", "AB-12", "ab-13", "AB-14", "zebra", "東京都", "!"])
        assert counts == {
            "Dog": 2, "dogs": 2, "ab": 2, "AB-12": 1, "ab-13": 1, "AB-14": 0, "zebra": 0, "東京都": 1, "!": 0,
        }  # fmt: skip

    def test_no_entry_exceeds_the_best_score(self, filled):
        index, _ = filled
        index.update(["spam"], unit(1), modality="text", words=["dog " * 40])
        for query, best in zip(QUERIES, index.best_word_scores(QUERIES), strict=True):
            (found,) = index.search_words([query], 1)
            assert best > 0
            assert len(found) == 0 or 0 < found.scores[0] < best

    def test_everything_is_there_after_closing(self, tmp_path):
        model = NaiveWords()
        with self.new(tmp_path / "index") as index:
            texts = drawn_texts(40)
            index.add([f"e{n}" for n in range(40)], unit(40), modality="text", words=texts)
            model.put([f"e{n}" for n in range(40)], texts, "text")
            index.optimise()
            index.delete(["e0", "e1"])
            model.delete(["e0", "e1"])
        with self.again(tmp_path / "index") as index:
            assert index.has_words
            for query in QUERIES:
                check_words(index.search_words([query], 50)[0], model, query, 50)

    def test_a_snapshot_has_the_words(self, filled, tmp_path):
        index, model = filled
        copy = index.snapshot(tmp_path / "copy")
        index.delete(list(model.entries))
        with self.again(copy) as other:
            for query in QUERIES[:6]:
                check_words(other.search_words([query], 30)[0], model, query, 30)
            other.add(["new"], unit(1), modality="text", words=["zebra"])
            assert other.complete("zeb") == other.correct("zebrra") == [("zebra", 1)]
        assert index.complete("d") == []

    def test_optimise_changes_no_answer(self, filled):
        index, model = filled
        for _ in range(2):
            index.optimise()
            gone = sorted(model.entries)[:90]
            index.delete(gone)
            model.delete(gone)
            for query in QUERIES[:6]:
                check_words(index.search_words([query], 30)[0], model, query, 30)

    def test_an_index_without_words_says_so(self, tmp_path):
        with self.new(tmp_path / "index", words=False) as index:
            assert not index.has_words
            index.add(["a"], unit(1), modality="text")
            calls = (
                lambda: index.search_words(["a"]),
                lambda: index.complete("a"),
                lambda: index.correct("abc"),
                lambda: index.word_counts(["a"]),
                lambda: index.best_word_scores(["a"]),
                lambda: index.update(["a"], unit(1), modality="text", words=["a"]),
            )
            for call in calls:
                with pytest.raises(ConfigError, match=r"keeps no words.*words=True"):
                    call()

    def test_what_is_no_text(self, index):
        with pytest.raises(DataError, match="1 ids but 2 texts"):
            index.add(["a"], unit(1), modality="text", words=["a", "b"])
        with pytest.raises(DataError, match="words of 'a' are int"):
            index.add(["a"], unit(1), modality="text", words=[3])
        for queries in ("dog", [b"dog"], [None]):
            with pytest.raises(ConfigError, match="text"):
                index.search_words(queries)
        for arguments in ({"k": 0}, {"offset": -1}, {"modality": "\0"}):
            with pytest.raises(ConfigError):
                index.search_words(["dog"], **arguments)
        with pytest.raises(ConfigError, match="limit is 0"):
            index.complete("a", 0)

    def test_any_sequence_of_changes_equals_a_rebuilt_index(self, tmp_path):
        ids = st.lists(st.sampled_from([f"i{n}" for n in range(9)]), min_size=1, max_size=4, unique=True)
        text = st.lists(st.sampled_from(VOCABULARY), max_size=5).map(" ".join) | st.none()
        changes = st.lists(
            st.tuples(st.sampled_from(["update", "delete"]), ids, st.lists(text, min_size=4, max_size=4))
        )
        with self.new(tmp_path / "index") as index:

            @given(changes, st.sampled_from(QUERIES))
            @settings(max_examples=25, deadline=None)
            def check(changes, query):
                index.delete(index.list_ids())
                model = NaiveWords()
                for verb, ids, texts in changes:
                    if verb == "delete":
                        index.delete(ids)
                        model.delete(ids)
                    else:
                        index.update(ids, unit(len(ids)), modality="text", words=texts[: len(ids)])
                        model.put(ids, texts, "text")
                    check_words(index.search_words([query], 5)[0], model, query, 5)
                words = {word for tokens in model.words().values() for word in tokens}
                assert {word for letter in "abcdrstw1東с👍" for word, _ in index.complete(letter, 99)} <= {
                    *words, "ab-1234/x", "t-shirt",
                }  # fmt: skip
                counts = index.word_counts([query])[query]
                assert counts <= len(model.words())

            check()
