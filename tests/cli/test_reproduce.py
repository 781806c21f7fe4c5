import json

import pytest


def test_it_prints_verdicts_and_says_where_the_page_is(diptych, tmp_path, dense_dataset):
    out = tmp_path / "r"
    options = ["--data", dense_dataset.path, "--methods", "cca-paper,cfa,jrl,chance", "--seeds", "0,1", "--out", out]
    ended = diptych("reproduce", "wikipedia", *options)
    assert ended.status == 0
    assert "CCA is at chance level" in ended.out
    assert "cannot be tested on these features" in ended.out
    assert "[6/6] jrl, transductive: average MAP" in ended.err
    assert f"page: {out / 'reproduction.md'}" in ended.err
    assert (out / "reproduction.md").read_text().startswith("# Wikipedia: ")
    again = diptych("reproduce", "wikipedia", *options, "--json")
    assert json.loads(again.out) == json.loads((out / "reproduction.json").read_text())
    assert again.err.count("kept from before") == 6


@pytest.mark.usefixtures("fake_methods")
def test_a_failure_is_status_one(diptych, tmp_path, counts_dataset):
    ended = diptych(
        "reproduce", "wikipedia", "--data", counts_dataset.path, "--methods", "failing,steady", "-o", tmp_path
    )
    assert ended.status == 1
    assert "failed: failing; run the same command to try them again" in ended.err
    assert (tmp_path / "reproduction.md").exists()


@pytest.mark.usefixtures("fake_methods")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["wikipedia", "--methods", "steady"], "--data FOLDER with the released files"),
        (["wikipdia"], "did you mean 'wikipedia'?"),
        (["wikipedia", "--methods", ""], "--methods is empty"),
        (["wikipedia", "--methods", "stedy"], "did you mean 'steady'?"),
        (["wikipedia", "--methods", "steady", "--seeds", "one"], "the seeds are 'one'"),
        (["wikipedia", "--methods", "steady", "--profile", "slow"], "profile is 'slow'"),
        (["wikipedia", "--methods", "steady", "--data", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, tmp_path, options, words):
    ended = diptych("reproduce", *options, "--out", tmp_path / "r")
    assert ended.status == 2
    (line,) = ended.err.strip().splitlines()
    assert line.startswith("error: ") and words in line
    assert not (tmp_path / "r").exists()
