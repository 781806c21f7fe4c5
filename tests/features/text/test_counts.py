"""Bags of words: the same as scikit-learn's, from training texts alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from diptych._core.errors import ConfigError, FitError
from diptych._core.seeding import generator
from diptych.features.text import tokenise
from diptych.features.text.counts import BagOfWords, TfIdf, Vocabulary

WORDS = ["cat", "dog", "sea", "été", "東京", "fire", "the", "of", "Haus", "море"]


def draw_texts(count: int, seed: int = 0) -> list[str]:
    """Texts of five to thirty words, the first words of the list more frequent."""
    draw = generator(seed, "texts")
    shares = 1.0 / np.arange(1, len(WORDS) + 1)
    return [" ".join(draw.choice(WORDS, draw.integers(5, 30), p=shares / shares.sum())) for _ in range(count)]


TRAIN, TEST = draw_texts(60), [*draw_texts(20, seed=1), "", "zebra 👍"]


def test_counts_equal_those_of_scikit_learn() -> None:
    extractor = BagOfWords(size=8, max_df=1.0).fit(TRAIN)
    oracle = CountVectorizer(analyzer=tokenise, max_features=8).fit(TRAIN)
    assert set(extractor.vocabulary.words) == set(oracle.get_feature_names_out())
    columns = [oracle.vocabulary_[word] for word in extractor.vocabulary.words]
    np.testing.assert_array_equal(extractor(TEST).toarray(), oracle.transform(TEST).toarray()[:, columns])


def test_too_common_words_are_those_scikit_learn_leaves_out() -> None:
    oracle = CountVectorizer(analyzer=tokenise, max_df=0.6).fit(TRAIN)
    words = BagOfWords(max_df=0.6).fit(TRAIN).vocabulary.words
    assert set(words) == set(oracle.get_feature_names_out())
    assert 0 < len(words) < len(WORDS)


def test_weighted_words_equal_those_of_scikit_learn() -> None:
    extractor = TfIdf(size=8, max_df=1.0).fit(TRAIN)
    oracle = TfidfVectorizer(analyzer=tokenise, max_features=8).fit(TRAIN)
    columns = [oracle.vocabulary_[word] for word in extractor.vocabulary.words]
    rows = extractor(TEST)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, oracle.transform(TEST).toarray()[:, columns], rtol=1e-6)


def test_the_vocabulary_is_by_frequency_then_by_the_alphabet() -> None:
    texts = iter(["bb bb cc aa", "dd", "cc aa ee"])
    assert BagOfWords(size=4, max_df=1.0).fit(texts).vocabulary.words == ("aa", "bb", "cc", "dd")


def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one() -> None:
    assert BagOfWords(4).fit(TRAIN).vocabulary.words == BagOfWords(6).fit(TRAIN).vocabulary.words[:4]


def test_words_of_other_texts_are_not_known() -> None:
    extractor = BagOfWords(max_df=1.0).fit(["cat dog", "cat"])
    np.testing.assert_array_equal(extractor(["cat zebra zebra", "zebra", ""]).toarray(), [[1, 0], [0, 0], [0, 0]])


def test_rows_are_sparse_counts() -> None:
    extractor = BagOfWords().fit(TRAIN)
    rows = extractor(TEST)
    assert extractor.kind == "counts"
    assert rows.format == "csr" and rows.dtype == np.int32 and rows.has_canonical_format
    assert rows.shape == (len(TEST), extractor.blocks[-1].stop)
    assert extractor([]).shape == (0, rows.shape[1])


def test_the_english_list_is_taken_on_request() -> None:
    assert "fire" in ENGLISH_STOP_WORDS
    plain = set(BagOfWords(max_df=1.0).fit(TRAIN).vocabulary.words)
    assert plain - set(BagOfWords(max_df=1.0, stop_words="english").fit(TRAIN).vocabulary.words) == {
        "the",
        "of",
        "fire",
    }


def test_a_single_text_keeps_its_words() -> None:
    assert BagOfWords().fit(["cat dog"]).vocabulary.words == ("cat", "dog")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size is 0"),
        ({"max_df": 0.0}, r"max_df is 0\.0"),
        ({"max_df": 1.5}, r"max_df is 1\.5"),
        ({"stop_words": "german"}, "stop_words is 'german'"),
    ],
)
def test_senseless_settings_are_refused(settings, message) -> None:
    with pytest.raises(ConfigError, match=message):
        BagOfWords(**settings).fit(TRAIN)


def test_a_word_of_every_text_stays_unless_told_otherwise() -> None:
    texts = ["gold watch", "steel watch", "watch"]
    assert BagOfWords().fit(texts).vocabulary.words == ("watch", "gold", "steel")
    assert BagOfWords(max_df=0.5).fit(texts).vocabulary.words == ("gold", "steel")
    with pytest.raises(FitError, match="3 texts leave no word to learn from"):
        BagOfWords(max_df=0.5).fit(["cat"] * 3)


@pytest.mark.parametrize("texts", [[], ["", "!?"]])
def test_texts_that_leave_no_word_are_refused(texts) -> None:
    with pytest.raises(FitError, match=f"{len(texts)} texts leave no word"):
        BagOfWords().fit(texts)


def test_progress_ends_at_the_number_of_texts() -> None:
    told = []
    BagOfWords().fit(iter(TRAIN), progress=lambda *news: told.append(news))
    assert told[-1] == ("reading texts", len(TRAIN), len(TRAIN))


@given(texts=st.lists(st.text(), min_size=1, max_size=5), cut=st.integers(0, 5))
def test_any_text_gives_a_row_that_its_company_does_not_change(texts, cut) -> None:
    for feature in (BagOfWords(), TfIdf()):
        extractor = feature.fit([*TRAIN, *texts])
        whole = extractor(texts)
        whole = whole if isinstance(whole, np.ndarray) else whole.toarray()
        parts = [extractor(texts[:cut]), extractor(texts[cut:])]
        parts = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
        np.testing.assert_array_equal(np.vstack(parts), whole)
        assert np.isfinite(whole).all()


def test_vocabularies_of_old_models_count_korean_words_whole() -> None:
    old = Vocabulary(("커피를",), np.array([1]), 1)
    assert old.count(["커피를 커피"]).toarray().tolist() == [[1]]
    assert BagOfWords().fit(["커피를"]).vocabulary.count(["커피"]).sum() == 1
