"""Words that people type are not the pages that items have."""

import numpy as np
import pytest

from diptych.data import Dataset
from diptych.methods import load_model
from diptych.search import QueryPart
from diptych.search.probability import ProbabilityMap
from diptych.search.probability.calibrator import opening, typed_side


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a red wall. it is old.", "a red wall"),
        ("many planes\nsome planes are here", "many planes"),
        (" ".join(map(str, range(30))), " ".join(map(str, range(12)))),
        ("  \n ", ""),
        ("...", ""),
    ],
)
def test_the_beginning_of_a_text_stands_for_a_query(text, words) -> None:
    assert opening(text) == words


def test_typed_queries_are_embedded_as_queries_are(fields) -> None:
    dataset, model = Dataset.open(fields / "dataset"), load_model(fields / "model")
    part = dataset.split("val")
    side = typed_side(model, dataset, part, "text", 0)
    assert side.items.tolist() == part.index.tolist()
    codes = model.embed_raw("text", ["a red paper in the light"])[0].astype(np.float64)
    where = [dataset.items.column("text")[int(place)].as_py() for place in side.items].index("a red paper in the light")
    np.testing.assert_allclose(side.embeddings[where], codes / np.linalg.norm(codes), atol=1e-6)
    assert typed_side(model, dataset, part, "image", 0) is None


def test_words_and_items_are_judged_by_maps_of_their_own(searcher) -> None:
    maps = dict(searcher.calibration.maps)
    assert ("typed text", "image") in maps and ("text", "image") in maps
    level = {("typed text", "image"): 0.25, ("text", "image"): 0.5, ("image", "image"): 0.75}
    for way, value in level.items():
        maps[way] = ProbabilityMap(np.array([0.0]), np.array([value]))
    object.__setattr__(searcher.calibration, "maps", maps)
    found = {
        way: searcher.search([part], into="image", k=1).hits[0].probability
        for way, part in {
            ("typed text", "image"): QueryPart("text", "red"),
            ("text", "image"): QueryPart("item", "text:red-00"),
            ("image", "image"): QueryPart("item", "image:red-00"),
        }.items()
    }
    assert found == level
    mixture = [QueryPart("text", "red", 0.4), QueryPart("item", "image:red-00", 0.6)]
    assert searcher.search(mixture, into="image", k=1).hits[0].probability == 0.75
