"""Items whose ids and metadata hold what filters could stumble over, and what each engine must say about them."""

import numpy as np
from hypothesis import strategies as st

from diptych.index import EmbedderId, Identity
from diptych.index.filters import And, Comparison, In, Key, Like, Missing, Not, Or, matches

IDENTITY = Identity(EmbedderId("model"), 2)

_TEXTS = ["", "a", "A", "ab", "b", "ß", "it's", '"', "\\", "%", "_", "a%b", "x\ny", "null", "1", "; --", "%s {0}", "😀"]
_NUMBERS = [0, 1, -1, 2, 0.5, -1.0, 1.0, 2.0**70, 2**53 + 1, 1e-9]
_VALUES = [
    *_TEXTS, *_NUMBERS, True, False, None, [], {}, ["a", 1, True], ["b", "A"], [-1.0, 2], [[1]], [None], [0.5, "ß"],
    {"x": 1}, {"x": None}, {"x": ["a", "b"]}, {"x": {"x": 1}}, [{"x": 1}],
]  # fmt: skip
_KEYS = ["a", "b", "ü", "c d", "n", "q'\"\\"]


def varied_items():
    """Ids, modalities and metadata; every value stands under every key, and keys are absent, too."""
    count = len(_VALUES)
    metadata = [
        {key: _VALUES[(row + 7 * place) % count] for place, key in enumerate(_KEYS) if (row + place) % 5}
        for row in range(2 * count)
    ]
    names = [text.replace("\n", " ") for text in _TEXTS]
    ids = [f"{names[row % len(names)]}{'-' * (row // len(names))}" or "empty" for row in range(2 * count)]
    modalities = [("image", "it's", "\\")[row % 3] for row in range(2 * count)]
    return ids, modalities, metadata


def fill(index):
    """Put the varied items into an empty index."""
    ids, modalities, metadata = varied_items()
    index.add(ids, np.ones((len(ids), 2)), modality=modalities, metadata=metadata)


def fitting(condition):
    """The ids that meet a condition, by the definition of the language."""
    ids, modalities, metadata = varied_items()
    return sorted(
        id
        for id, modality, known in zip(ids, modalities, metadata, strict=True)
        if matches(condition, id, modality, known)
    )


_keys = st.sampled_from(
    [(key,) for key in (*_KEYS, "id", "modality", "absent")] + [("n", "x"), ("a", "x"), ("a", "0"), ("n", "x", "x")]
).map(Key)
_literals = st.sampled_from([*_TEXTS, *_NUMBERS, True, False, "image", "ab-"])
_leaves = st.one_of(
    st.builds(Comparison, _keys, st.sampled_from(["=", "<", "<=", ">", ">="]), _literals),
    st.builds(In, _keys, st.lists(_literals, min_size=1, max_size=4).map(tuple)),
    st.builds(In, _keys, st.lists(_literals, min_size=17, max_size=24).map(tuple)),
    st.builds(Missing, _keys),
    st.builds(Like, _keys, st.sampled_from(["%", "a%", "%B", "_", "A", "%\\%", "x_y", "IT'S", "%'%", "ß", "(a)", "."])),
)
conditions = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)
