"""Choosing a method: what the data have decides, validation compares, and one sentence says why."""

import json
from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych.data import ModalityRows, Protocol, training_data
from diptych.evaluation import evaluate_instances
from diptych.methods import auto_candidates, create, load_model, method_class, save_model
from diptych.methods.auto_candidates import Figure, Situation, Trial, candidates, shares_a_space
from diptych.methods.propagation import propagate

ITEMS = 200
PLENTY = Situation(
    modalities=("image", "text"),
    items=ITEMS,
    pairs=ITEMS,
    labelled=ITEMS,
    known=ITEMS,
    known_by_modality={"image": ITEMS, "text": ITEMS},
    classes=("a", "b", "c"),
    propagated=False,
    widths={"image": 12, "text": 20},
)
NO_LABELS = {"labelled": 0, "known": 0, "known_by_modality": {"image": 0, "text": 0}, "classes": ()}
EQUAL = {"widths": {"image": 12, "text": 12}}
CLASSES_AND_PARTNERS, PARTNERS = ("cdmlmr", True), ("cdmlmr", False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [CLASSES_AND_PARTNERS]),
        (EQUAL, [CLASSES_AND_PARTNERS]),
        ({"labelled": 20, "propagated": True}, [CLASSES_AND_PARTNERS]),
        ({"labelled": 12, "known": 12}, [PARTNERS]),
        (NO_LABELS, [PARTNERS]),
        (NO_LABELS | EQUAL, [("identity", False), PARTNERS]),
        ({"classes": ("a",)}, [PARTNERS]),
        ({"classes": tuple(f"c{n}" for n in range(150))}, [PARTNERS]),
        ({"pairs": 5, "known": 5}, [("sm", True)]),
        ({"pairs": 5, "known": 5} | EQUAL, [("identity", False), ("sm", True)]),
        ({"pairs": 0, "known": 0}, [("sm", True)]),
        ({"pairs": 5} | NO_LABELS, [PARTNERS]),
        ({"pairs": 5, "classes": ("a",)}, [PARTNERS]),
    ],
)
def test_what_the_items_have_decides_what_comes_into_question(changes, expected) -> None:
    found = candidates(replace(PLENTY, **changes))
    assert [(each.method, each.labels) for each in found] == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, ["cca"]), (NO_LABELS | EQUAL, ["identity", "cca"]), ({"pairs": 3, "known": 3}, ["sm"])],
)
def test_without_torch_pairs_are_projected_linearly(changes, expected, monkeypatch) -> None:
    monkeypatch.setattr(auto_candidates, "has_torch", lambda: False)
    assert [each.method for each in candidates(replace(PLENTY, **changes))] == expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"pairs": 0} | NO_LABELS,
            r"nothing shows how image and text belong together: 0 of 200 .* no training item has",
        ),
        ({"pairs": 1, "classes": ("a",)}, r"1 of 200 training items have both, and every label is 'a'.*two classes"),
        ({"pairs": 0, "known_by_modality": {"image": 200, "text": 3}}, "only 3 items of each modality have a label"),
        ({"pairs": 0} | NO_LABELS | EQUAL, "use --method identity"),
    ],
)
def test_where_nothing_connects_the_modalities_it_is_said_what_is_missing(changes, words) -> None:
    with pytest.raises(FitError, match=words):
        candidates(replace(PLENTY, **changes))


def test_the_situation_is_counted(gaps_dataset) -> None:
    data = training_data(gaps_dataset)
    found = Situation.of(data)
    train = gaps_dataset.split("train")
    assert (found.items, found.pairs) == (96, len(train.having("image", "text")))
    assert found.labelled == int(train.labels.is_labelled.sum()) == 64
    assert found.known == len(train.having("image", "text").labelled())
    assert found.known_by_modality["text"] == len(train.having("text").labelled())
    assert found.words() == "86 pairs, 6 classes on 67% of the items"
    spread, _ = propagate(data, Protocol(propagate=True))
    more = Situation.of(spread)
    assert (more.labelled, more.propagated) == (64, True)
    assert more.known > found.known
    assert more.words() == "86 pairs, 6 classes on 67% of the items, propagated to the others"


def write(folder, base, **changes):
    return synthetic.write(folder, synthetic.replace(base, **changes))


def without_labels(base):
    return synthetic.replace(base, labels=[None] * len(base.ids), classes=())


def relabelled(base, labels):
    return synthetic.replace(base, labels=list(labels), classes=tuple(sorted({x for x in labels if x is not None})))


def partner_mrr(method, dataset) -> float:
    test = dataset.split("test")
    purpose = "partner" if "partner" in method.purposes else "auto"
    embedded = [method.embed(name, test.features(name), purpose) for name in ("image", "text")]
    return evaluate_instances(*embedded, test.documents.tolist(), test.documents.tolist()).mean_reciprocal_rank


def fitted(dataset, protocol=None, **params):
    return create("auto", cache=None, **params).fit(dataset, protocol)


@pytest.mark.usefixtures("hurried")
class TestFit:
    def test_pairs_and_labels_give_both_spaces(self, counts_dataset, tmp_path) -> None:
        method = fitted(counts_dataset, seed=3)
        chosen = method.record_["auto"]
        assert chosen["chosen"] == "cdmlmr"
        assert method.purposes == ("class", "partner", "both")
        assert chosen["why"].startswith(
            "cdmlmr (a class and a partner space); 96 pairs, 6 classes on all of the items; on validation MRR 0."
        )
        assert "\n" not in chosen["why"]
        figures = chosen["tried"][0]["figures"]
        assert figures["MRR"]["score"] > figures["MRR"]["chance"] > 0
        assert figures["MAP"]["score"] > figures["MAP"]["chance"] > 0
        json.dumps(method.record_)
        assert method.saved_as.get_params()["seed"] == 3

    def test_the_saved_model_is_the_chosen_methods_own(self, counts_dataset, tmp_path) -> None:
        method = fitted(counts_dataset)
        save_model(method, tmp_path / "model")
        assert json.loads((tmp_path / "model" / "model.json").read_text())["method"] == "cdmlmr"
        loaded = load_model(tmp_path / "model")
        assert type(loaded) is method_class("cdmlmr")
        assert loaded.record_ == method.record_
        assert loaded.record_["fit_seconds"] > 0
        rows = counts_dataset.split("test").features("text")
        for purpose in ("class", "partner", "both"):
            np.testing.assert_array_equal(loaded.embed("text", rows, purpose), method.embed("text", rows, purpose))

    def test_it_learns_what_the_chosen_method_learns(self, counts_dataset) -> None:
        alone = create("cdmlmr", cache=None).fit(counts_dataset)
        rows = counts_dataset.split("test").features("image")
        np.testing.assert_array_equal(fitted(counts_dataset).embed("image", rows), alone.embed("image", rows))

    def test_few_labels_are_propagated(self, gaps_dataset) -> None:
        method = fitted(gaps_dataset)
        assert method.record_["protocol"]["propagate"] is True
        assert "propagated labels" in method.record_["saw"]
        assert "on 67% of the items, propagated to the others" in method.record_["auto"]["why"]
        plain = fitted(gaps_dataset, propagate=False)
        assert "propagation" not in plain.record_ and plain.record_["protocol"]["propagate"] is False

    def test_pairs_alone_give_the_partner_space(self, tmp_path) -> None:
        dataset = synthetic.write(tmp_path / "bare", without_labels(synthetic.draft()))
        method = fitted(dataset)
        assert method.record_["auto"]["why"].startswith("cdmlmr (the partner space alone); 96 pairs and no labels; on")
        assert method.purposes == ("partner",)
        assert method.record_["saw"] == "pairs"
        assert partner_mrr(method, dataset) > 0.3

    def test_validation_decides_between_features_as_they_are_and_projections(self, tmp_path) -> None:
        dataset = synthetic.write(tmp_path / "shared", without_labels(synthetic.draft(shared=True, spread=2.0)))
        method = fitted(dataset)
        tried = {each["method"]: each["figures"]["MRR"]["score"] for each in method.record_["auto"]["tried"]}
        assert set(tried) == {"identity", "cdmlmr"}
        assert method.record_["auto"]["chosen"] == max(tried, key=tried.get)
        (other,) = set(tried) - {method.record_["auto"]["chosen"]}
        assert f"; {other} (" in method.record_["auto"]["why"] and "has MRR" in method.record_["auto"]["why"]

    def test_without_validation_training_pairs_judge_features_as_they_are(self, tmp_path) -> None:
        counts = {"train": 40, "val": 0, "test": 40}
        alike = without_labels(synthetic.draft(shared=True, counts=counts))
        unlike = without_labels(synthetic.draft(counts_text=False, counts=counts))
        text = unlike.modalities["text"]
        unlike = synthetic.replace(
            unlike, modalities={**unlike.modalities, "text": ModalityRows("dense", text.values[:, :12])}
        )
        for name, draft, chosen in (("alike", alike, "identity"), ("unlike", unlike, "cdmlmr")):
            dataset = synthetic.write(tmp_path / name, draft)
            method = fitted(dataset)
            assert method.record_["auto"]["chosen"] == chosen
            assert "too few validation items to score by" in method.record_["auto"]["why"]

    def test_labels_alone_give_class_probabilities(self, tmp_path) -> None:
        base = synthetic.draft()
        place = np.arange(len(base.ids))
        lone = {
            name: ModalityRows(rows.kind, rows.values[place % 2 == parity], place % 2 == parity)
            for parity, (name, rows) in enumerate(base.modalities.items())
        }
        dataset = synthetic.write(tmp_path / "lone", synthetic.replace(base, modalities=lone))
        method = fitted(dataset)
        assert method.record_["auto"]["chosen"] == "sm"
        assert "0 pairs, 6 classes on all of the items; on validation MAP" in method.record_["auto"]["why"]
        assert synthetic.score_on_test(method, dataset) > 2 * synthetic.chance_score(dataset)

    def test_labels_that_features_tell_nothing_of_are_left_out(self, tmp_path) -> None:
        base = synthetic.draft(counts={"train": 120, "val": 120, "test": 60})
        random = np.random.default_rng(0)
        dataset = synthetic.write(tmp_path / "noise", relabelled(base, random.choice(["x", "y", "z"], len(base.ids))))
        method = fitted(dataset)
        assert method.purposes == ("partner",)
        assert "labels were left out, as features tell nothing of them" in method.record_["auto"]["why"]
        assert [each["learned"] for each in method.record_["auto"]["tried"]] == [
            "a class and a partner space",
            "the partner space alone",
        ]

    @pytest.mark.parametrize(
        ("labels", "words"),
        [
            (lambda n, own: "art", "96 pairs and no labels"),
            (lambda n, own: f"c{n}", "96 labelled pairs are of 96 classes, so that labels name single items"),
            (lambda n, own: own if n < 8 else None, None),
        ],
    )
    def test_labels_of_little_use(self, tmp_path, labels, words) -> None:
        base = synthetic.draft()
        given = [labels(n, own) for n, own in enumerate(base.labels)]
        used = sorted({name for each in given if each for name in ([each] if isinstance(each, str) else each)})
        dataset = write(tmp_path / "data", base, labels=given, classes=tuple(used))
        method = fitted(dataset)
        assert "partner" in method.purposes
        assert partner_mrr(method, dataset) > 0.2
        assert words is None or words in method.record_["auto"]["why"]

    @pytest.mark.parametrize("counts", [{"train": 7, "val": 1, "test": 4}, {"train": 10, "val": 0, "test": 4}])
    @pytest.mark.parametrize("bare", [True, False])
    def test_ten_items_are_enough_to_start_with(self, tmp_path, counts, bare) -> None:
        base = synthetic.draft(counts=counts)
        used = tuple(name for name in base.classes if name in base.labels)
        base = without_labels(base) if bare else synthetic.replace(base, classes=used)
        dataset = synthetic.write(tmp_path / "ten", base)
        method = fitted(dataset)
        assert method.record_["auto"]["chosen"] == "cdmlmr" and "partner" in method.purposes
        assert np.isfinite(method.embed("image", dataset.split("test").features("image"))).all()

    def test_one_modality_on_most_items(self, tmp_path) -> None:
        base = synthetic.draft()
        rows = base.modalities["text"]
        few = np.arange(len(base.ids)) % 12 == 0
        text = ModalityRows(rows.kind, rows.values[few], few)
        dataset = write(tmp_path / "images", base, modalities={**base.modalities, "text": text})
        method = fitted(dataset)
        assert method.record_["auto"]["chosen"] == "cdmlmr"
        assert "labels were left out, as only 8 pairs have a label" in method.record_["auto"]["why"]
        alone = np.zeros(len(base.ids), dtype=bool)
        alone[0] = True
        text = ModalityRows(rows.kind, rows.values[alone], alone)
        single = write(tmp_path / "single", base, modalities={**base.modalities, "text": text})
        with pytest.raises(FitError, match="1 of 96 training items have both, and only 1 items of each modality"):
            fitted(single)

    def test_a_missing_torch_is_said(self, counts_dataset, monkeypatch) -> None:
        monkeypatch.setattr(auto_candidates, "has_torch", lambda: False)
        method = fitted(counts_dataset)
        assert method.record_["auto"]["chosen"] == "cca"
        assert "labels were left out, as learning them needs torch" in method.record_["auto"]["why"]

    def test_a_budget_must_be_positive(self, counts_dataset) -> None:
        with pytest.raises(ConfigError, match="budget_s is 0; it must be a positive"):
            fitted(counts_dataset, budget_s=0)

    def test_too_short_a_budget_leaves_labels_out_and_says_so(self, counts_dataset) -> None:
        method = fitted(counts_dataset, budget_s=4.5)
        assert method.purposes == ("partner",)
        assert "labels were left out, as learning them takes longer than the budget" in method.record_["auto"]["why"]
        assert method.record_["auto"]["estimated_seconds"] < 4.5


def test_a_second_fit_forgets_the_first(tmp_path, counts_dataset) -> None:
    bare = synthetic.write(tmp_path / "bare", without_labels(synthetic.draft()))
    shared = synthetic.write(
        tmp_path / "shared", without_labels(synthetic.draft(shared=True, counts={"train": 30, "test": 9}))
    )
    method = create("auto", cache=None)
    assert method.fit(shared).saved_as.registry_name == "identity"
    assert method.fit(bare).saved_as.registry_name == "cdmlmr"
    assert method.embed("text", bare.split("test").features("text")).shape[1] == method.spaces["partner"]


def test_a_shared_space_is_seen_in_training_pairs_but_not_in_one(shared_dataset) -> None:
    data = training_data(shared_dataset)
    assert shares_a_space(data)
    assert not shares_a_space(replace(data, train=data.train.take(np.arange(1))))


def test_noise_shares_no_space(tmp_path) -> None:
    random = np.random.default_rng(5)
    for seed in range(5):
        base = synthetic.draft(shared=True, counts={"train": 30, "val": 0, "test": 6})
        rows = {name: ModalityRows("dense", random.normal(size=(36, 12))) for name in ("image", "text")}
        noise = write(tmp_path / str(seed), base, modalities=rows)
        assert not shares_a_space(training_data(noise))


@pytest.mark.parametrize(
    ("score", "chance", "labels", "expected"),
    [(0.16, 0.15, True, True), (0.20, 0.15, True, False), (0.16, 0.15, False, False), (0.53, 0.52, True, True)],
)
def test_a_class_space_at_chance_learned_nothing(score, chance, labels, expected) -> None:
    candidate = replace(auto_candidates.PARTNERS, labels=labels)
    trial = Trial(candidate, create("identity"), {"MAP": Figure(score, chance)})
    assert trial.learned_no_class is expected
    assert not Trial(candidate, create("identity"), {}).learned_no_class
