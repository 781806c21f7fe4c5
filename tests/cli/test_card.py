import json

import pytest

pytestmark = pytest.mark.usefixtures("fake_methods")


@pytest.fixture
def model(diptych, tmp_path, gaps_dataset):
    folder = tmp_path / "model"
    ended = diptych("fit", gaps_dataset.path, "--method", "seeded", "--seed", 3, "--out", folder)
    assert ended.status == 0, ended.err
    return folder


def test_the_cards_figures_are_those_of_evaluate(diptych, gaps_dataset, model):
    for split in ("test", "val"):
        options = (model, gaps_dataset.path, "--split", split)
        block = json.loads(diptych("evaluate", *options, "--json").out)
        card = json.loads(diptych("card", model, "--dataset", gaps_dataset.path, "--split", split, "--json").out)
        assert card["figures"]["split"] == split
        for direction in ("image->text", "text->image"):
            found = card["figures"]["directions"][direction]
            for measure in ("map", "map_ci95", "map@50", "map@50_ci95"):
                assert found[measure] == block[direction][measure]
            assert found["chance"]["map"] == block[direction]["chance"]["map"]
        assert card["figures"]["average"]["map"] == block["average"]["map"]


def test_a_card_is_printed_or_written(diptych, tmp_path, gaps_dataset, model):
    printed = diptych("card", model, "--dataset", gaps_dataset.path)
    assert printed.status == 0
    assert printed.out.startswith("# Model card: seeded on synthetic\n")
    written = diptych("card", model, "--dataset", gaps_dataset.path, "--out", tmp_path / "CARD.md")
    assert (written.status, written.out) == (0, "")
    assert f"card: {tmp_path / 'CARD.md'}" in written.err
    assert (tmp_path / "CARD.md").read_text() == printed.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{data}"], "holds no model.json"),
        (["{model}", "--dataset", "{model}"], "holds no dataset.json"),
        (["{model}", "--index", "{data}"], "is no index; run `diptych index"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, gaps_dataset, model, words, told):
    ended = diptych("card", *(word.format(data=gaps_dataset.path, model=model) for word in words))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert told in ended.err
