"""CDMLMR as a method: what it learns, what it reads, what it writes down, and that every switch is connected."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import silent
from diptych._core.state import pack
from diptych.data import Protocol, training_data
from diptych.evaluation import evaluate_instances, mean_average_precision
from diptych.methods import create
from diptych.methods.deep import cdmlmr
from diptych.methods.deep.class_space import REGRESSION_WEIGHTS
from diptych.methods.deep.cmdn import BaseNetwork
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.towers import BranchEmbedder, ClassProbabilityEmbedder
from diptych.methods.propagation import propagate
from diptych.nets.losses import have_several_classes, pairs_of_one_class

TRANSDUCTIVE = Protocol(unlabelled="test-features")
FEW = Protocol(unlabelled="train", labels_per_class=3)
NETWORK_ALONE = {"linear_member": False, "partner_space": False}
hurried = pytest.mark.usefixtures("hurried")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One cache for the file: the machines below are trained once for each dataset."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def fit(cache):
    def fitted(dataset, protocol=TRANSDUCTIVE, name="cdmlmr", progress=silent, **params):
        return create(name, **{"profile": "fast", "cache": cache} | params).fit(dataset, protocol, progress=progress)

    return fitted


@pytest.fixture
def trained(monkeypatch):
    """What fits hand to training and get back: pairs of documents and trained networks, in order."""
    seen = []

    def watched(context, source, *arguments, **keywords):
        seen.append((source, real(context, source, *arguments, **keywords)))
        return seen[-1][1]

    real = cdmlmr.train_network
    monkeypatch.setattr(cdmlmr, "train_network", watched)
    return seen


def class_embedder(model, name):
    code = model.chains_[name][0]
    return getattr(code, "class_embedder", code)


class TestLearning:
    @pytest.mark.parametrize("kind", ["counts_dataset", "dense_dataset"])
    def test_it_learns_what_can_be_learned(self, fit, kind, request):
        """Far above chance, no worse than class posteriors alone, and partners are found as well."""
        dataset = request.getfixturevalue(kind)
        model = fit(dataset, Protocol())
        score = synthetic.score_on_test(model, dataset)
        assert score > 2.5 * synthetic.chance_score(dataset)
        assert score > synthetic.score_on_test(create("sm", strength=0.01).fit(dataset), dataset) - 0.02
        test = dataset.split("test")
        codes = [model.embed(name, test.features(name), "partner") for name in ("image", "text")]
        found = evaluate_instances(*codes, test.documents.tolist(), test.documents.tolist())
        assert found.mean_reciprocal_rank > 3 * found.chance["mean_reciprocal_rank"]

    def test_the_network_alone_has_learned_too(self, fit, counts_dataset):
        """The linear member may carry the mean, so that a network that learned nothing would go unnoticed."""
        chance = synthetic.chance_score(counts_dataset)
        for params in ({"linear_member": False}, {"retrieved": "codes"}):
            model = fit(counts_dataset, Protocol(), partner_space=False, **params)
            assert synthetic.score_on_test(model, counts_dataset) > 2 * chance

    @hurried
    def test_without_validation_the_first_choices_are_taken(self, fit, unjudged_dataset):
        record = fit(unjudged_dataset).record_
        assert record["selection"] == record["partner_selection"] == []
        assert record["chosen"]["regression_weight"] == REGRESSION_WEIGHTS[0]
        assert record["chosen"]["heads"] == ["net", "shared", "contrastive", "quadruplet"]
        assert record["monitoring"]["best_step"] is None

    @hurried
    def test_gaps_and_missing_labels_do_not_matter(self, fit, trained, gaps_dataset):
        model = fit(gaps_dataset, Protocol(unlabelled="train"), linear_member=False)
        (source, _) = trained[0]
        assert 0 < len(source.targets) < 96 and len(source.labelled) == len(source.targets)
        assert np.isfinite(model.embed("text", gaps_dataset.split("test").having("text").features("text"))).all()


@hurried
class TestReading:
    @pytest.mark.parametrize("kind", ["counts_dataset", "dense_dataset"])
    def test_what_is_frozen_is_what_was_trained(self, fit, trained, kind, request):
        dataset = request.getfixturevalue(kind)
        model = fit(dataset, linear_member=False)
        net = trained[0][1].net
        test = dataset.split("test")
        for name in ("image", "text"):
            rows = test.features(name)
            features = torch.from_numpy(run_chain(trained[0][1].prepare[name], rows))
            visible = features
            if dataset.modalities[name].kind == "counts":
                counts = torch.from_numpy(rows.toarray()).float()
                visible = 100 * counts / counts.sum(1, keepdim=True)
            heads = [f"{head} classes" for head in model.record_["chosen"]["heads"]]
            with torch.no_grad():
                expected = net.posteriors(name, features, visible, heads).numpy()
            np.testing.assert_allclose(class_embedder(model, name).probabilities(rows), expected, atol=1e-5)
            np.testing.assert_allclose(model.embed(name, rows, "class")[:, :6], expected, atol=1e-5)

    @pytest.mark.parametrize(
        ("name", "params", "reads"),
        [
            ("cdmlmr", {}, True),
            ("base", {}, True),
            ("cdmlmr-semi", {}, True),
            ("cdmlmr-quad", {}, False),
            ("cdmlmr-quad", {"losses": "both"}, False),
            ("cdmlmr", {"unlabelled_weight": 0.0}, False),
            ("cdmlmr", {"profile": "paper", "losses": "quadruplet"}, False),
            ("base", {"profile": "paper"}, False),
        ],
    )
    def test_it_says_what_it_saw(self, counts_dataset, name, params, reads):
        few = {"unlabelled": "train", "labels_per_class": 2}
        expected = {
            Protocol(): "",
            Protocol(unlabelled="train"): "",  # every training item has its label
            Protocol(**few): " + unlabelled training features",
            Protocol(**few, use_pairs=True): " + unlabelled training pairs",
            TRANSDUCTIVE: " + test features",
        }
        for protocol, words in expected.items():
            found = create(name, **params).saw(protocol, training_data(counts_dataset, protocol))
            assert found == "pairs + labels" + words * reads

    @pytest.mark.parametrize(
        ("name", "params"), [("cdmlmr-quad", {}), ("cdmlmr", {"unlabelled_weight": 0.0}), ("cdmlmr", {})]
    )
    def test_what_it_does_not_claim_to_see_it_does_not_see(self, fit, trained, counts_dataset, name, params):
        model = fit(counts_dataset, name=name, **NETWORK_ALONE | params)
        pool = {key: rows.shape[0] for key, rows in trained[0][0].pool.items()}
        assert pool == ({"image": 60, "text": 60} if "test features" in model.record_["saw"] else {})

    @pytest.mark.parametrize("use_pairs", [False, True])
    def test_pairs_of_unlabelled_items_are_known_only_where_the_protocol_says_so(
        self, fit, trained, counts_dataset, use_pairs
    ):
        fit(counts_dataset, replace(FEW, use_pairs=use_pairs), **NETWORK_ALONE)
        source = trained[0][0]
        assert source.paired == use_pairs
        assert {name: rows.shape[0] for name, rows in source.pool.items()} == {"image": 96 - 18, "text": 96 - 18}
        pairs = counts_dataset.split("train").having("image", "text")
        places = {
            name: [next(p for p, row in enumerate(pairs.features(name)[:]) if _same(row, found)) for found in rows]
            for name, rows in source.pool.items()
        }
        assert (places["image"] == places["text"]) == use_pairs

    @pytest.mark.slow
    def test_soft_labels_are_read_as_shares(self, cache, counts_dataset):
        protocol = Protocol(labels_per_class=3, propagate=True)
        data, _ = propagate(training_data(counts_dataset, protocol), protocol)
        certain = np.eye(6, dtype=np.float32)[data.soft_labels.argmax(axis=1)]
        np.testing.assert_array_equal(certain.argmax(axis=1), data.train.labels.codes)
        assert np.abs(certain - data.soft_labels).max() > 0.1
        weights = []
        for soft in (data.soft_labels, certain):
            model = create("cdmlmr", profile="fast", cache=cache, partner_space=False)
            model.record_ = {}
            model._fit(replace(data, soft_labels=soft), silent)
            weights.append(learned(model))
        assert weights[0] != weights[1]
        model = create("cdmlmr", profile="fast", cache=cache, partner_space=False).fit(counts_dataset, protocol)
        assert learned(model) == weights[0]
        assert model.record_["saw"] == "pairs + propagated labels"

    def test_without_labels_the_partner_space_is_learned_alone(self, fit, tmp_path):
        draft = synthetic.draft()
        bare = synthetic.write(tmp_path / "d", replace(draft, labels=[None] * len(draft.ids), classes=()))
        stages = []
        model = fit(bare, Protocol(unlabelled="train"), progress=lambda stage, *_: stages.append(stage))
        assert set(stages) == {"partner space"}
        assert model.purposes == ("partner",)
        assert model.record_["saw"] == "pairs"
        assert set(model.record_["chosen"]) == {"ridge", "components", "power"}
        test = bare.split("test")
        codes = [model.embed(name, test.features(name)) for name in ("image", "text")]
        found = evaluate_instances(*codes, test.documents.tolist(), test.documents.tolist())
        assert found.mean_reciprocal_rank > 3 * found.chance["mean_reciprocal_rank"]
        with pytest.raises(FitError, match="without labels only the partner space can be learned"):
            fit(bare, partner_space=False)


def _same(row, other):
    one, two = (each if isinstance(each, np.ndarray) else each.toarray() for each in (row, other))
    return np.array_equal(one, two)


def learned(model):
    """Everything learned but the record, in a form that equals only what is bit-identical."""
    state, arrays = pack({key: value for key, value in vars(model).items() if key in ("chains_", "spaces_")})
    return str(state), {key: value.tobytes() for key, value in arrays.items()}


@hurried
class TestRecord:
    def test_it_says_what_was_chosen(self, fit, counts_dataset):
        model = fit(counts_dataset)
        chosen, code = model.record_["chosen"], model.chains_["image"][0]
        assert list(class_embedder(model, "image").tower.heads) == chosen["heads"]
        regression = class_embedder(model, "image").regression
        assert (regression.weight if regression else 0.0) == chosen["regression_weight"]
        assert len(class_embedder(model, "text").tower.members) == chosen["members"] == 2
        assert (code.class_weight, code.partner_weight) == (chosen["class_weight"], chosen["partner_weight"])
        assert chosen["steps"] == model.record_["sizes"]["steps"] == model.record_["monitoring"]["steps"]
        assert {"ridge", "components", "power"} < set(chosen)
        tried = [trial["params"] for trial in model.record_["selection"]]
        assert {"heads": tuple(chosen["heads"]), "regression_weight": chosen["regression_weight"]} in tried
        assert len(tried) == 2 * len(REGRESSION_WEIGHTS)
        assert model.record_["partner_selection"]

    def test_what_was_watched_is_kept(self, fit, counts_dataset):
        watched = fit(counts_dataset, **NETWORK_ALONE).record_["monitoring"]
        assert watched["steps"] == watched["rows"][-1]["step"] == 24
        assert {
            "loss",
            "softmax",
            "reconstruction",
            "contrastive",
            "quadruplet",
            "similar_distance",
            "dissimilar_distance",
            "active_quadruplets",
            "edge_purity",
            "spread",
        } <= set().union(*watched["rows"])
        assert [step for step, _ in watched["validations"]] == [6, 12, 18, 24]
        assert dict(watched["validations"])[watched["best_step"]] == max(score for _, score in watched["validations"])

    def test_given_sizes_take_the_place_of_the_rule(self, fit, counts_dataset):
        sizes = fit(counts_dataset, members=3, steps=8, mixup=0.0, **NETWORK_ALONE).record_["sizes"]
        assert (sizes["members"], sizes["steps"], sizes["mixup"]) == (3, 8, 0.0)


SWITCHES = {
    "losses": "contrastive",
    "members": 1,
    "fine_tune": False,
    "use_dbn": False,
    "read_features": False,
    "feature_skip": False,
    "equal_start": False,
    "branch_softmax": False,
    "quadruplet_negatives": "random",
    "mixup": 0.0,
    "linear_member": True,
    "retrieved": "codes",
    "partner_space": True,
    "contrastive_margin": 0.5,
    "unlabelled_weight": 5.0,
    "neighbours": 2,
    "quantisation": 1.0,
    "rate": 0.001,
    "steps": 12,
}


def test_every_parameter_is_tried_below():
    others = {"kernel_member", "quadruplet_margin", "triplet_margin", "seed", "profile", "device", "cache"}
    assert {*SWITCHES, *others} == set(cdmlmr.CDMLMR.parameter_defaults())


@pytest.fixture(scope="module")
def plain():
    """The codes of the network without any switch, once they are known."""
    return {}


@hurried
@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_changes_what_is_retrieved(fit, counts_dataset, plain, name):
    rows = counts_dataset.split("test").features("text")
    before = plain.get("codes")
    if before is None:
        before = plain["codes"] = fit(counts_dataset, **NETWORK_ALONE).embed("text", rows)
    model = fit(counts_dataset, **NETWORK_ALONE | {name: SWITCHES[name]})
    found = model.embed("text", rows, "both" if model.purposes else "auto")
    assert np.isfinite(found).all()
    assert found.shape != before.shape or np.abs(found - before).max() > 1e-6


@hurried
@pytest.mark.parametrize("kernel_member", [True, False])
def test_a_regression_reads_a_kernel_only_where_it_may(fit, counts_dataset, kernel_member):
    chosen = fit(counts_dataset, kernel_member=kernel_member, partner_space=False).record_["chosen"]["regressions"]
    assert set(chosen) == {"image", "text"}
    assert kernel_member or all(each["sharpness"] is None for each in chosen.values())


@hurried
def test_the_quadruplet_margin_is_added_to_every_term(fit, counts_dataset):
    """As long as all quadruplets violate it, a margin changes the loss and nothing else."""
    near, far = (
        fit(counts_dataset, quadruplet_margin=margin, **NETWORK_ALONE).record_["monitoring"]["rows"][0]
        for margin in (1.0, 3.0)
    )
    assert near["active_quadruplets"] == 1.0
    assert far["quadruplet"] - near["quadruplet"] == pytest.approx(2.0, abs=1e-3)


@hurried
def test_the_triplet_margin_is_added_to_both_hinges_of_every_term(fit, counts_dataset):
    near, far = (
        fit(counts_dataset, losses="triplet", triplet_margin=margin, **NETWORK_ALONE).record_["monitoring"]["rows"][0]
        for margin in (1.0, 3.0)
    )
    assert near["active_triplets"] == 1.0
    assert far["triplet"] - near["triplet"] == pytest.approx(4.0, abs=1e-3)


@hurried
@pytest.mark.parametrize(
    ("name", "losses", "branches"),
    [
        ("cdmlmr", "both", ["contrastive", "quadruplet"]),
        ("cdmlmr-semi", "contrastive", ["contrastive"]),
        ("cdmlmr-quad", "quadruplet", ["quadruplet"]),
        ("triplet", "triplet", ["triplet"]),
        ("base", "none", []),
    ],
)
def test_ablations_leave_branches_out(fit, trained, counts_dataset, name, losses, branches):
    model = fit(counts_dataset, name=name, **NETWORK_ALONE)
    assert model.losses == losses
    assert list(class_embedder(model, "image").tower.members[0].branches) == branches
    rows = set().union(*model.record_["monitoring"]["rows"])
    assert {part for part in ("contrastive", "quadruplet", "triplet") if part in rows} == set(branches)
    assert isinstance(class_embedder(model, "image"), ClassProbabilityEmbedder)
    coded = fit(counts_dataset, name=name, retrieved="codes", **NETWORK_ALONE)
    assert isinstance(class_embedder(coded, "image"), BranchEmbedder)


@hurried
def test_without_softmax_on_branches_their_codes_are_retrieved(fit, counts_dataset):
    model = fit(counts_dataset, branch_softmax=False, **NETWORK_ALONE)
    assert isinstance(class_embedder(model, "text"), BranchEmbedder)


@pytest.mark.slow
@hurried
@pytest.mark.parametrize("losses", ["quadruplet", "none"])
def test_the_paper_profile_trains_in_stages_as_published(fit, counts_dataset, cache, losses):
    model = fit(counts_dataset, Protocol(), profile="paper", losses=losses)
    if losses == "none":
        published = BaseNetwork("paper", cache=cache)
    else:
        published = create("cdmlmr-staged", profile="paper", losses=losses, cache=cache)
    published.fit(counts_dataset, Protocol())
    assert learned(model) == learned(published)
    assert model.purposes == ()


@hurried
@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"losses": "three"}, "losses is 'three'; choose one of both, contrastive, quadruplet, triplet, none"),
        ({"retrieved": "logits"}, "retrieved is 'logits'; choose one of probabilities, codes"),
        ({"members": 0}, "members is 0; it must be at least 1"),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"rate": 0.0}, "rate is 0.0; it must be positive"),
        ({"use_dbn": False, "read_features": False}, "would read nothing; leave one on"),
        ({"contrastive_margin": 0.0}, "contrastive_margin is 0.0; it must be above zero"),
        ({"quadruplet_margin": -1.0}, "quadruplet_margin is -1.0; it must be above zero"),
        ({"triplet_margin": 0.0}, "triplet_margin is 0.0; it must be above zero"),
        ({"quadruplet_negatives": "hard"}, "quadruplet_negatives is 'hard'; choose one of softmin, random"),
        ({"mixup": -0.5}, "mixup is -0.5; it must be zero or more"),
        ({"unlabelled_weight": -1.0}, "unlabelled_weight is -1.0; it must be zero or more"),
        ({"neighbours": -1}, "neighbours is -1; it must be zero or more"),
        ({"profile": "slow"}, "profile is 'slow'; choose one of"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_trained(fit, counts_dataset, params, sentence):
    stages = []
    with pytest.raises(ConfigError, match=sentence):
        fit(counts_dataset, cache=None, progress=lambda stage, *_: stages.append(stage), **params)
    assert stages == []


def test_the_published_network_has_no_triplet_loss(counts_dataset):
    with pytest.raises(ConfigError, match="has no triplet loss"):
        create("triplet", profile="paper", cache=None).fit(counts_dataset)


@hurried
@pytest.mark.parametrize("name", ["cdmlmr", "two-tower"])
def test_items_with_several_labels_teach_each_of_them(tmp_path, name):
    """Every item carries its class and the half that its class belongs to; items of one half are relevant, too."""
    draft = synthetic.draft(counts={"train": 120, "val": 60, "test": 60})
    half = {label: "left" if place % 2 else "right" for place, label in enumerate(draft.classes)}
    labels = [[label, half[label]] for label in draft.labels]
    dataset = synthetic.write(
        tmp_path / "several", replace(draft, labels=labels, classes=(*draft.classes, "left", "right"))
    )
    model = create(name, profile="fast", device="cpu", cache=None).fit(dataset)
    test = dataset.split("test")
    embeddings = {m: model.embed(m, test.features(m), "class" if model.purposes else "auto") for m in ("image", "text")}
    found = mean_average_precision(embeddings["image"], embeddings["text"], test.labels, test.labels)
    shuffled = test.labels.take(np.random.default_rng(0).permutation(len(test.labels)))
    assert found > 0.1 + mean_average_precision(embeddings["image"], embeddings["text"], test.labels, shuffled)
    if name == "cdmlmr":
        probabilities = class_embedder(model, "image").probabilities(test.features("image"))
        assert probabilities.shape[1] == len(draft.classes) + 2 and (probabilities[:, -2:].sum(axis=1) > 0.25).all()


def test_rows_with_several_classes_share_a_class_if_any_of_theirs_is_the_same():
    several = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert have_several_classes(several) and not have_several_classes(torch.eye(3))
    found = pairs_of_one_class(several, several=True)
    assert found.int().tolist() == [[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    blended = torch.tensor([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]])
    assert pairs_of_one_class(blended, several=False).int().tolist() == [[1, 0], [0, 1]]
