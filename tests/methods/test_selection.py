"""Selection: the validation split as a judge, and the book of trials."""

import numpy as np
import pytest

import synthetic
from diptych._core.seeding import generator
from diptych.data import Draft, ModalityRows, Protocol, training_data
from diptych.evaluation import evaluate_instances, mean_average_precision
from diptych.methods import Search, Validation, create, selection
from diptych.methods.training_inputs import without_labels


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
    hidden = [split == "val" and i % 4 == 0 for i, split in enumerate(base.splits)]
    labels = [None if hide else x for x, hide in zip(base.labels, hidden, strict=True)]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels))
    validation = Validation.of(training_data(dataset))
    assert validation.rows["image"].shape[0] == 30
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


CLASSES = tuple("abcdefghij")


def many_directions(folder, label_share: float, hidden_validation=None, counts=(400, 120, 200)):
    """Pairs that agree along forty directions, of which the class moves three; some items have a label."""
    random = generator(7, "many directions")
    total = sum(counts)
    codes = random.integers(len(CLASSES), size=total)
    latent = random.normal(size=(total, 40))
    latent[:, :3] += 4.0 * random.normal(size=(len(CLASSES), 3))[codes]
    rows = {
        name: (latent @ random.normal(size=(40, 60)) + 5.0 * random.normal(size=(total, 60))).astype(np.float32)
        for name in ("image", "text")
    }
    splits = [split for split, count in zip(("train", "val", "test"), counts, strict=True) for _ in range(count)]
    kept = random.random(total) < label_share
    if hidden_validation is not None:
        kept = np.where(np.asarray(splits) == "val", ~hidden_validation, kept)
    labels = [CLASSES[code] if keep else None for code, keep in zip(codes, kept, strict=True)]
    modalities = {name: ModalityRows("dense", values) for name, values in rows.items()}
    used = tuple(name for name in CLASSES if name in labels)
    content = Draft("many", [f"i{n}" for n in range(total)], splits, labels, used, modalities)
    return synthetic.write(folder, content)


def own_partner_found(method, dataset) -> float:
    """The mean reciprocal rank of test images' own texts."""
    test = dataset.split("test")
    codes = (method.embed(name, test.features(name)) for name in ("image", "text"))
    return evaluate_instances(*codes, test.documents.tolist(), test.documents.tolist()).mean_reciprocal_rank


def test_a_tenth_of_the_labels_is_no_worse_than_none(tmp_path) -> None:
    """A dozen labelled validation items would choose a handful of components; their partners choose enough."""
    tenth, none = (many_directions(tmp_path / str(share), share) for share in (0.1, 0.0))
    assert 5 <= tenth.split("val").labels.is_labelled.sum() <= 20
    with_labels, without = (create("cca").fit(dataset) for dataset in (tenth, none))
    assert with_labels.record_["chosen"] == without.record_["chosen"]
    assert with_labels.record_["chosen"]["components"] >= 20
    assert own_partner_found(with_labels, tenth) == own_partner_found(without, none) > 0.5
    note = with_labels.record_["selection_note"]
    assert "validation items have a label, so settings were chosen by how well items find their own partners" in note
    assert "selection_note" not in without.record_


def test_a_dozen_labels_would_have_chosen_badly(tmp_path, monkeypatch) -> None:
    """What the rule is there for: without it, the same labels cost most of the partners."""
    tenth = many_directions(tmp_path / "data", 0.1)
    by_rule = create("cca").fit(tenth)
    monkeypatch.setattr(selection, "scores_by_partner", lambda part, modalities: False)
    by_labels = create("cca").fit(tenth)
    assert by_labels.record_["chosen"]["components"] < by_rule.record_["chosen"]["components"]
    assert own_partner_found(by_labels, tenth) < 0.8 * own_partner_found(by_rule, tenth)


@pytest.mark.parametrize(
    ("labelled", "pairs", "classes", "by"),
    [
        (0, 200, 10, "partner"),
        (12, 120, 10, "partner"),
        (99, 400, 10, "partner"),
        (100, 1_000, 10, "class"),
        (100, 1_000, 40, "partner"),
        (120, 1_000, 40, "class"),
        (40, 40, 6, "class"),
        (40, 79, 6, "class"),
        (40, 80, 6, "partner"),
        (4, 19, 2, "class"),
        (4, 20, 2, "partner"),
    ],
)
def test_partners_judge_where_labels_are_few_and_pairs_are_many(tmp_path, labelled, pairs, classes, by) -> None:
    random = generator(0, "rule")
    total = pairs + 2
    labels = [CLASSES[0]] * 2 + [f"c{n % classes}" if n < labelled else None for n in range(pairs)]
    known = (CLASSES[0], *(f"c{n}" for n in range(min(classes, labelled))))
    rows = {name: ModalityRows("dense", random.normal(size=(total, 3))) for name in ("image", "text")}
    splits = ["train"] * 2 + ["val"] * pairs
    content = Draft("rule", [f"i{n}" for n in range(total)], splits, labels, known, rows)
    validation = Validation.of(training_data(synthetic.write(tmp_path / "data", content)))
    assert validation.by == by
    assert validation.measure == ("MAP" if by == "class" else "MRR")
    assert validation.rows["image"].shape[0] == (labelled if by == "class" else pairs)


def test_items_without_a_partner_are_no_pairs(tmp_path) -> None:
    """A hundred images and a hundred texts that belong to nothing cannot judge: the labels have to."""
    base = synthetic.draft(counts={"train": 60, "val": 60, "test": 6})
    place = np.arange(len(base.ids))
    lacking = np.asarray(base.splits) == "val"
    modalities = {}
    for parity, (name, rows) in enumerate(base.modalities.items()):
        present = ~lacking | (place % 2 == parity)
        modalities[name] = ModalityRows(rows.kind, rows.values[present], present)
    labels = [
        x if not hide or n % 5 == 0 else None for n, (x, hide) in enumerate(zip(base.labels, lacking, strict=True))
    ]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels, modalities=modalities))
    assert Validation.of(training_data(dataset)).by == "class"


def test_many_validation_labels_choose_as_before(tmp_path, monkeypatch) -> None:
    """Beside 110 labels a hundred unlabelled pairs change nothing: what is learned is the same to the bit."""
    hidden = np.arange(720) % 2 == 0
    half = many_directions(tmp_path / "half", 1.0, hidden, counts=(300, 220, 200))
    assert half.split("val").labels.is_labelled.sum() == 110
    now = {name: create(name).fit(half) for name in ("cca", "sm")}
    monkeypatch.setattr(selection, "scores_by_partner", lambda part, modalities: not part.labels.is_labelled.any())
    for name, method in now.items():
        former = create(name).fit(half)
        assert former.record_["selection"] == method.record_["selection"]
        rows = half.split("test").features("image")
        np.testing.assert_array_equal(former.embed("image", rows), method.embed("image", rows))
        assert "selection_note" not in method.record_


@pytest.mark.parametrize("labelled", [True, False])
def test_chance_is_what_codes_that_know_nothing_score(counts_dataset, labelled) -> None:
    data = training_data(counts_dataset)
    validation = Validation.of(data if labelled else without_labels(data))
    random = generator(1, "nothing")
    scores = [
        validation.score({name: random.normal(size=(rows.shape[0], 8)) for name, rows in validation.rows.items()})
        for _ in range(60)
    ]
    assert np.mean(scores) == pytest.approx(validation.chance(), rel=0.05)
