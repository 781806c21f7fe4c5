"""The lines that a researcher types, as they stand in the documentation."""

import numpy as np
import pytest

import diptych
from search.gallery import make

FIT = """
import diptych
model = diptych.CDMLMR(seed=0).fit({"image": X, "text": Y}, labels=y)
Z = model.transform({"image": X2})["image"];  score = model.score({"image": X2, "text": Y2}, labels=y2)
model.save("model"); loaded = diptych.load("model")
"""
COMPARE = """
report = diptych.compare({"image": X, "text": Y}, labels=y, methods=["cca", "sm", "cdmlmr"], seeds=[0, 1, 2])
"""
SEARCH = """
index = diptych.build_index(model, dataset, "index"); answer = index.search(text="red shoes", k=10)
"""


@pytest.fixture
def notebook(arrays, draft, labels, tmp_path, monkeypatch) -> dict:
    """The names that a notebook has: half of the items to learn from, the others as X2, Y2 and y2."""
    monkeypatch.chdir(tmp_path)
    (X, X2), (Y, Y2) = ((arrays[name][:110], arrays[name][110:]) for name in ("image", "text"))
    return {"diptych": diptych, "X": X, "Y": Y, "y": labels[:110], "X2": X2, "Y2": Y2, "y2": draft.labels[110:]}


def check_fit(notebook) -> None:
    exec(FIT, notebook)
    assert notebook["Z"].shape[0] == len(notebook["X2"]) and np.isfinite(notebook["Z"]).all()
    assert notebook["score"] > 0.35  # a random ranking has 0.19
    again = notebook["loaded"].transform({"image": notebook["X2"]})["image"]
    np.testing.assert_array_equal(again, notebook["Z"])


def check_compare(notebook) -> None:
    exec(COMPARE, notebook)
    report = notebook["report"]
    assert report.methods == ["cca", "sm", "cdmlmr"] and report.failures == {}
    assert [row["seeds"] for row in report.rows()] == [3, 3, 3]


def test_fit_transform_score_save_load(notebook, short_training) -> None:
    check_fit(notebook)


def test_compare(notebook, short_training) -> None:
    check_compare(notebook)


@pytest.mark.slow
def test_all_of_it_with_the_usual_profile(notebook) -> None:
    check_fit(notebook)
    check_compare(notebook)


def test_build_and_search(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = make(tmp_path, components=4)
    names = {"diptych": diptych, "dataset": dataset, "model": diptych.CCA(components=4).fit(dataset)}
    exec(SEARCH, names)
    assert [hit.metadata["label"] for hit in names["answer"].hits] == ["red"] * 10
    names["index"].close()
    with diptych.build_index(tmp_path / "model", tmp_path / "dataset", "again", writable=True) as index:
        assert index.search(text="red shoes", k=10).hits[0].id == names["answer"].hits[0].id
        assert index.remove([names["answer"].hits[0].id]) == 1
