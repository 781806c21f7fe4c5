"""Selection: the validation split as a judge, and the book of trials."""

import numpy as np
import pytest

import synthetic
from diptych.data import Protocol, training_data
from diptych.evaluation import mean_average_precision
from diptych.methods import Search, Validation
from diptych.seeding import generator


def codes_for(validation: Validation, width: int = 5) -> dict[str, np.ndarray]:
    random = generator(0, "codes")
    return {name: random.normal(size=(rows.shape[0], width)) for name, rows in validation.rows.items()}


def test_score_is_the_mean_over_all_directions(three_dataset) -> None:
    validation = Validation.of(training_data(three_dataset))
    codes = codes_for(validation)
    labels = three_dataset.split("val").labels
    pairs = [(a, b) for a in codes for b in codes if a != b]
    expected = np.mean([mean_average_precision(codes[a], codes[b], labels, labels) for a, b in pairs])
    assert len(pairs) == 6
    assert validation.score(codes) == pytest.approx(expected)


def test_the_cut_of_the_protocol_is_kept(counts_dataset) -> None:
    validation = Validation.of(training_data(counts_dataset, Protocol(select_at=5)))
    codes, labels = codes_for(validation), counts_dataset.split("val").labels
    expected = np.mean(
        [
            mean_average_precision(codes[a], codes[b], labels, labels, k=5)
            for a, b in (("image", "text"), ("text", "image"))
        ]
    )
    assert validation.score(codes) == pytest.approx(expected)


def test_items_without_a_modality_are_judged_where_they_can_be(gaps_dataset) -> None:
    validation = Validation.of(training_data(gaps_dataset))
    for name, rows in validation.rows.items():
        assert rows.shape[0] == len(validation.labels[name]) == int(gaps_dataset.split("val").has(name).sum())
    assert 0 < validation.score(codes_for(validation)) < 1


def test_labelled_validation_items_alone_judge_when_there_are_any(tmp_path) -> None:
    base = synthetic.draft()
    hidden = [split == "val" and i % 2 == 0 for i, split in enumerate(base.splits)]
    labels = [None if hide else x for x, hide in zip(base.labels, hidden, strict=True)]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels))
    validation = Validation.of(training_data(dataset))
    assert validation.rows["image"].shape[0] == 20
    assert validation.labels["text"].is_labelled.all()


def test_without_labels_partners_are_to_be_found(tmp_path) -> None:
    base = synthetic.draft()
    documents = [f"doc{i // 2}" for i in range(len(base.ids))]
    content = synthetic.replace(base, labels=[None] * len(base.ids), classes=(), documents=documents)
    validation = Validation.of(training_data(synthetic.write(tmp_path / "data", content)))
    own = np.repeat(np.eye(20), 2, axis=0)
    assert validation.score({"image": own, "text": own}) == 1.0
    assert validation.score({"image": own, "text": np.roll(own, 2, axis=0)}) < 0.5


def test_there_is_no_judge_without_items(unjudged_dataset) -> None:
    assert Validation.of(training_data(unjudged_dataset)) is None


def test_search_keeps_the_first_of_equals() -> None:
    search = Search()
    assert [search.add({"k": k}, score) for k, score in ((1, 0.2), (2, 0.5), (3, 0.5), (4, 0.1))] == [
        True,
        True,
        False,
        False,
    ]
    assert search.best == {"k": 2}
    assert search.best_score == 0.5
    assert [trial["score"] for trial in search.trials] == [0.2, 0.5, 0.5, 0.1]


def test_search_copies_what_it_is_told() -> None:
    search, params = Search(), {"k": 1}
    search.add(params, 0.1)
    params["k"] = 2
    assert search.best == {"k": 1}
