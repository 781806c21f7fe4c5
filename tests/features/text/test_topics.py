"""Topics: inferred as scikit-learn infers them, and the same for a text in any company."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import LatentDirichletAllocation

from diptych._core.arrays import Sparse
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.features.text.topics import Topics, infer_topics

ANIMALS = ["cat", "dog", "fox", "owl", "bee"]
PLACES = ["sea", "hill", "lake", "road", "town"]


def draw_texts(count: int) -> list[str]:
    """Texts about animals and texts about places, by turns."""
    draw = generator(0, "topics")
    return [" ".join(draw.choice((ANIMALS, PLACES)[number % 2], 12)) for number in range(count)]


TEXTS = draw_texts(40)
EXTRACTOR = Topics(topics=2, max_df=1.0).fit(TEXTS)


@pytest.mark.parametrize("topics", [1, 3, 10])
def test_inference_equals_that_of_scikit_learn(topics) -> None:
    draw = generator(topics, "counts")
    dense = draw.poisson(draw.gamma(0.2, 3.0, (80, 50)))
    dense[3] = 0
    counts = Sparse(dense.astype(np.float64))
    model = LatentDirichletAllocation(topics, max_iter=5, random_state=0).fit(counts[:60])
    ours = infer_topics(counts, model.exp_dirichlet_component_.T.copy(), model.doc_topic_prior_)
    np.testing.assert_allclose(ours, model.transform(counts), rtol=1e-6, atol=1e-9)


def test_texts_about_different_things_have_different_topics() -> None:
    rows = EXTRACTOR(["cat fox bee", "sea lake road", "owl owl dog"])
    assert rows[0].argmax() == rows[2].argmax() != rows[1].argmax()
    assert rows.max(axis=1).min() > 0.7


def test_rows_are_shares_and_an_empty_text_has_all_topics_alike() -> None:
    rows = EXTRACTOR([*TEXTS, "", "zebra"])
    assert rows.dtype == np.float32 and EXTRACTOR.kind == "dense" and EXTRACTOR.blocks[-1].stop == 2
    assert rows.min() > 0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(rows[-2:], 0.5)


def test_the_seed_decides() -> None:
    again, other = (Topics(topics=2, max_df=1.0).fit(iter(TEXTS), seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(again.word_topics, EXTRACTOR.word_topics)
    assert not np.array_equal(other.word_topics, EXTRACTOR.word_topics)


def test_no_topics_are_refused() -> None:
    with pytest.raises(ConfigError, match="0 topics"):
        Topics(topics=0).fit(TEXTS)


@given(
    texts=st.lists(st.lists(st.sampled_from([*ANIMALS, *PLACES, "東京"])).map(" ".join) | st.text(), max_size=12),
    cut=st.integers(0, 12),
)
def test_a_row_is_the_same_in_any_company(texts, cut) -> None:
    whole = EXTRACTOR(texts)
    np.testing.assert_array_equal(np.vstack([EXTRACTOR(texts[:cut]), EXTRACTOR(texts[cut:])]), whole)
    assert np.isfinite(whole).all()
