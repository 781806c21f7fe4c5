"""CDMLMR in stages: its search, what it freezes, what it writes down, and that every switch is connected."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from diptych._core.errors import ConfigError, FitError
from diptych.data import Protocol, training_data
from diptych.methods import create
from diptych.methods.deep import cdmlmr_staged
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.metric_training import GRIDS
from diptych.training import History

pytestmark = pytest.mark.usefixtures("hurried")

TRANSDUCTIVE = Protocol(unlabelled="test-features")
KINDS = ("branch_concat", "branch_mean", "semi", "quad")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One cache for the file: the base network below is trained once for each dataset and protocol."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def fit(cache):
    def fitted(dataset, protocol=TRANSDUCTIVE, name="cdmlmr-staged", progress=None, **params):
        method = create(name, **{"profile": "fast", "cache": cache} | params)
        return method.fit(dataset, protocol, **({"progress": progress} if progress else {}))

    return fitted


@pytest.fixture
def trained(monkeypatch):
    """The networks that fits train, in order."""
    networks = []

    def watched(*arguments):
        networks.append(real(*arguments))
        return networks[-1]

    real = cdmlmr_staged.train_pathways
    monkeypatch.setattr(cdmlmr_staged, "train_pathways", watched)
    return networks


@pytest.fixture
def trials(monkeypatch):
    """Replace training by a function of the values tried: `trials.score(values, kind)`, and note the values."""
    watched = SimpleNamespace(tried=[], designs=[], score=lambda values, kind: 0.0)

    def pretend(context, data, design, options):
        values = {"rate": design.rate, **{name: getattr(options, name) for name in OPEN}}
        watched.tried.append(values)
        watched.designs.append(design)
        watched.score(values, "")
        return SimpleNamespace(
            scorer=object() if context.data.validation is not None else None,
            history=History("", steps=len(watched.tried)),
            score=lambda kind: watched.score(values, kind),
            chains=lambda kind: data.chains,
        )

    monkeypatch.setattr(cdmlmr_staged, "train_pathways", pretend)
    return watched


OPEN = ("dropout", "contrastive_margin", "quadruplet_margin", "unlabelled_weight")


class TestFreezing:
    @pytest.mark.parametrize("share_branch_fc", [False, True])
    @pytest.mark.parametrize("centred", [False, True])
    def test_frozen_chains_give_what_the_network_gives(
        self, fit, trained, counts_dataset, centred, share_branch_fc
    ) -> None:
        model = fit(counts_dataset, centred=centred, share_branch_fc=share_branch_fc)
        (network,) = trained
        test = counts_dataset.split("test")
        for kind in (*KINDS, "trunk") if share_branch_fc else KINDS:
            chains = network.chains(kind)
            for name in ("image", "text"):
                expected = self.represented(network, name, kind, test.features(name))
                mean = self.represented(network, name, kind, counts_dataset.split("train").features(name)).mean(0)
                found = run_chain(chains[name], test.features(name))
                np.testing.assert_allclose(found, expected - mean if centred else expected, atol=1e-5)
                assert found.std(0).max() > 1e-4
                if kind == model.record_["chosen"]["representation"]:
                    np.testing.assert_array_equal(model.embed(name, test.features(name)), found)

    @staticmethod
    @torch.no_grad()
    def represented(network, name, kind, rows):
        read = torch.from_numpy(run_chain(network.data.chains[name], rows))
        return network.net.represent(name, read, kind).numpy()

    def test_what_is_read_is_standardised_with_training_statistics_unless_told_otherwise(
        self, fit, trained, counts_dataset
    ) -> None:
        for norm in ("zscore", "none"):
            fit(counts_dataset, input_norm=norm)
        standard, plain = (network.data for network in trained)
        for name in ("image", "text"):
            np.testing.assert_allclose(standard.training[name].mean(0), 0.0, atol=1e-4)
            np.testing.assert_allclose(standard.training[name].std(0), 1.0, atol=1e-3)
            assert plain.training[name].min() >= 0 and plain.training[name].max() <= 1
            np.testing.assert_array_equal(
                standard.arrays[f"{name} labelled_embeddings"], plain.arrays[f"{name} labelled"]
            )


class TestSearch:
    def test_one_value_after_the_other_is_tried_around_the_best_so_far(self, fit, trials, counts_dataset) -> None:
        best = {
            "rate": 0.01,
            "dropout": 0.5,
            "contrastive_margin": 5.0,
            "quadruplet_margin": 20.0,
            "unlabelled_weight": 0.1,
        }
        trials.score = lambda values, kind: (
            sum(values[name] == best[name] for name in best) / 10 + (kind == "quad") / 50
        )
        model = fit(counts_dataset, profile="standard")
        grid = GRIDS["standard"]
        assert trials.tried[0] == {name: values[0] for name, values in grid.items()}
        assert len(trials.tried) == 1 + sum(len(values) - 1 for values in grid.values())
        assert model.record_["chosen"] == best | {"representation": "quad"}
        assert len(model.record_["selection"]) == 3 * len(trials.tried)
        assert model.record_["monitoring"]["steps"] == trials.tried.index(best) + 1

    def test_values_the_user_gave_are_fixed(self, fit, trials, counts_dataset) -> None:
        given = {
            "rate": 0.02,
            "dropout": 0.3,
            "contrastive_margin": 3.0,
            "quadruplet_margin": 7.0,
            "unlabelled_weight": 0.5,
        }
        model = fit(counts_dataset, profile="standard", **given, representation="semi")
        assert trials.tried == [given]
        assert model.record_["chosen"] == given | {"representation": "semi"}
        fit(counts_dataset, profile="standard", rate=0.02)
        assert {values["rate"] for values in trials.tried} == {0.02}
        assert len({values["quadruplet_margin"] for values in trials.tried[1:]}) == 2

    def test_without_validation_the_first_values_are_taken(self, fit, trials, unjudged_dataset) -> None:
        model = fit(unjudged_dataset, profile="standard")
        first = {name: values[0] for name, values in GRIDS["standard"].items()}
        assert trials.tried == [first]
        assert model.record_["chosen"] == first | {"representation": "branch_concat"}
        assert model.record_["selection"] == []

    @pytest.mark.parametrize(
        ("losses", "protocol", "missing", "kind"),
        [
            ("both", Protocol(), {"unlabelled_weight"}, "branch_concat"),
            ("contrastive", TRANSDUCTIVE, {"quadruplet_margin"}, "semi"),
            ("quadruplet", TRANSDUCTIVE, {"contrastive_margin", "unlabelled_weight"}, "quad"),
        ],
    )
    def test_what_has_no_effect_is_not_searched(
        self, fit, trials, counts_dataset, losses, protocol, missing, kind
    ) -> None:
        model = fit(counts_dataset, protocol, losses=losses, profile="standard")
        assert set(model.record_["chosen"]) == {*GRIDS["standard"], "representation"} - missing
        assert {design.scored_by for design in trials.designs} == {kind}

    def test_weights_are_kept_by_the_representation_that_is_asked_for(self, fit, trials, counts_dataset) -> None:
        fit(counts_dataset, representation="trunk", share_branch_fc=True)
        assert trials.designs[0].scored_by == "trunk"

    def test_margins_of_equation_5_are_squared_distances(self, fit, trials, counts_dataset) -> None:
        fit(counts_dataset, profile="standard", contrastive_form="eq5")
        assert {values["contrastive_margin"] for values in trials.tried} == {25.0, 64.0}

    def test_a_trial_that_collapses_is_passed_over_and_written_down(self, fit, trials, counts_dataset) -> None:
        def score(values, kind):
            if values["contrastive_margin"] == 5.0:
                raise FitError("the codes collapsed.")
            return values["quadruplet_margin"]

        trials.score = score
        model = fit(counts_dataset, profile="standard")
        assert model.record_["chosen"]["contrastive_margin"] == 8.0
        assert model.record_["chosen"]["quadruplet_margin"] == 20.0
        failed = model.record_["failed_trials"]
        assert failed and all(trial["reason"] == "the codes collapsed." for trial in failed)
        assert all(trial["params"]["contrastive_margin"] == 5.0 for trial in failed)
        assert not any(trial["params"]["contrastive_margin"] == 5.0 for trial in model.record_["selection"])

    def test_when_all_trials_fail_the_first_reason_is_told(self, fit, trials, counts_dataset) -> None:
        def score(values, kind):
            raise FitError(f"trial {len(trials.tried)} collapsed.")

        trials.score = score
        with pytest.raises(FitError, match=r"no setting .* could be trained; the first failed so: trial 1 collapsed\."):
            fit(counts_dataset)


class TestRecord:
    def test_what_was_watched_is_kept(self, fit, counts_dataset) -> None:
        watched = fit(counts_dataset).record_["monitoring"]
        assert watched["steps"] == watched["rows"][-1]["step"] == 60
        assert {
            "loss",
            "contrastive",
            "quadruplet",
            "similar_distance",
            "dissimilar_distance",
            "active_hinges",
            "active_quadruplets",
            "edge_purity",
            "spread",
        } <= watched["rows"][-1].keys()
        assert [step for step, _ in watched["validations"]] == [15, 30, 45, 60]
        assert dict(watched["validations"])[watched["best_step"]] == max(score for _, score in watched["validations"])
        labels = counts_dataset.split("train").labels
        pairs = labels.shared_with(labels)
        assert watched["chance_purity"] == pytest.approx(pairs.mean())

    @pytest.mark.parametrize(("losses", "reads"), [("both", True), ("contrastive", True), ("quadruplet", False)])
    def test_it_says_what_it_saw(self, counts_dataset, losses, reads) -> None:
        few = {"unlabelled": "train", "labels_per_class": 2}
        expected = {
            Protocol(): "",
            Protocol(unlabelled="train"): "",  # every training item has its label
            Protocol(**few): " + unlabelled training features",
            Protocol(**few, use_pairs=True): " + unlabelled training pairs",
            TRANSDUCTIVE: " + test features",
        }
        for protocol, words in expected.items():
            found = create("cdmlmr-staged", losses=losses).saw(protocol, training_data(counts_dataset, protocol))
            assert found == "pairs + labels" + words * reads

    def test_what_it_does_not_claim_to_see_it_does_not_see(self, fit, trained, counts_dataset) -> None:
        fit(counts_dataset, losses="quadruplet")
        assert trained[0].data.pool == {"image": 0, "text": 0}


SWITCHES = {
    "contrastive_form": "eq5",
    "unlabelled_pairs": "both",
    "reduction": "batch",
    "contrastive_margin": 2.0,
    "quadruplet_margin": 1.0,
    "neighbours": 3,
    "batch_size": 40,
    "quadruplets_per_item": 1,
    "unlabelled_weight": 0.1,
    "representation": "quad",
    "share_branch_fc": True,
    "activation": "tanh",
    "graph_metric": "cosine",
    "graph_space": "zscored",
    "graph_pool": "eligible",
    "unlabelled_negatives": "far_third",
    "unlabelled_from": 30,
    "labelled_share": 0.9,
    "class_balanced": True,
    "input_norm": "none",
    "dropout": 0.5,
    "centred": False,
    "bias_rate_multiplier": 2.0,
    "clip_norm": 0.1,
    "contrastive_weight": 0.2,
    "quadruplet_weight": 0.2,
    "losses": "contrastive",
    "members": 2,
    "read_dbn": True,
    "rate": 0.001,
}
FIXED = {
    "rate": 0.005,
    "contrastive_margin": 5.0,
    "quadruplet_margin": 5.0,
    "unlabelled_weight": 1.0,
    "representation": "branch_concat",
}


def test_every_parameter_is_tried_below() -> None:
    assert {*SWITCHES, "seed", "profile", "device", "cache"} == set(cdmlmr_staged.StagedCDMLMR.parameter_defaults())


@pytest.mark.slow
@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_changes_what_is_retrieved(fit, counts_dataset, name) -> None:
    rows = counts_dataset.split("test").features("text")
    plain, other = fit(counts_dataset, **FIXED), fit(counts_dataset, **FIXED | {name: SWITCHES[name]})
    found, before = other.embed("text", rows), plain.embed("text", rows)
    assert np.isfinite(found).all()
    assert found.shape != before.shape or np.abs(found - before).max() > 1e-6


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"representation": "trunk"}, "trunks are not comparable; set share_branch_fc"),
        ({"representation": "best"}, "representation is 'best'; choose one of branch_concat"),
        ({"representation": "quad", "losses": "contrastive"}, "'quad' but the net has no quadruplet branch"),
        ({"losses": "three"}, "losses is 'three'; choose one of both, contrastive, quadruplet"),
        ({"graph_space": "odd"}, "graph_space is 'odd'; choose one of raw, zscored"),
        ({"input_norm": "odd"}, "input_norm is 'odd'; choose one of zscore, none"),
        ({"activation": "step"}, "activation is 'step'"),
        ({"contrastive_form": "eq6"}, "contrastive_form is 'eq6'"),
        ({"reduction": "odd"}, "reduction is 'odd'"),
        ({"unlabelled_pairs": "odd"}, "unlabelled_pairs is 'odd'"),
        ({"contrastive_margin": 0.0}, "contrastive_margin is 0.0"),
        ({"unlabelled_weight": -1.0}, "unlabelled_weight is -1.0"),
        ({"rate": 0.0}, "rate starts at 0.0; it must be positive"),
        ({"clip_norm": -1.0}, "clip_norm is -1.0"),
        ({"batch_size": 1}, "batch_size is 1"),
        ({"labelled_share": 1.0}, "labelled_share is 1.0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_trained(fit, counts_dataset, params, sentence) -> None:
    stages = []
    with pytest.raises(ConfigError, match=sentence):
        fit(counts_dataset, cache=None, progress=lambda stage, *_: stages.append(stage), **params)
    assert stages == []


def test_batches_hold_at_least_a_share_of_labelled_documents(fit, trials, counts_dataset) -> None:
    few = Protocol(unlabelled="train", labels_per_class=1)
    fit(counts_dataset, few)
    fit(counts_dataset, few, labelled_share=0.1)
    fit(counts_dataset, Protocol())
    assert [design.labelled_share for design in trials.designs] == [0.3, 0.1, None]


@pytest.mark.slow
def test_where_pairs_are_known_they_take_the_place_of_the_graph(fit, trained, counts_dataset) -> None:
    paired = Protocol(unlabelled="train", labels_per_class=3, use_pairs=True)
    model = fit(counts_dataset, paired)
    assert trained[0].data.paired
    assert trained[0].data.pool == {"image": 96 - 18, "text": 96 - 18}
    assert model.record_["monitoring"]["rows"][-1]["edge_purity"] is None
    assert fit(counts_dataset, paired, neighbours=5).record_["monitoring"]["rows"][-1]["edge_purity"] > 0


def test_members_stand_side_by_side_on_the_same_dbns(fit, trained, counts_dataset) -> None:
    one, three = fit(counts_dataset), fit(counts_dataset, members=3)
    alone, together = (network.data for network in trained)
    for name in ("image", "text"):
        width = alone.training[name].shape[1]
        assert together.training[name].shape[1] == 3 * width
        np.testing.assert_array_equal(together.training[name][:, :width], alone.training[name])
        assert not np.allclose(together.training[name][:, width : 2 * width], alone.training[name])
    machines = [stage["key"] for stage in one.record_["stages"] if "RBM" in stage["stage"]]
    assert [stage["key"] for stage in three.record_["stages"] if "RBM" in stage["stage"]] == machines


def test_fewer_than_one_member_is_refused(fit, counts_dataset) -> None:
    with pytest.raises(ConfigError, match="members is 0; it must be at least 1"):
        fit(counts_dataset, members=0)


@pytest.mark.parametrize(
    ("protocol", "read_dbn", "reads"),
    [
        (TRANSDUCTIVE, None, False),
        (TRANSDUCTIVE, True, True),
        (Protocol(unlabelled="train", labels_per_class=3), None, False),
        (Protocol(unlabelled="train", labels_per_class=3, use_pairs=True), None, True),
        (Protocol(unlabelled="train", labels_per_class=3, use_pairs=True), False, False),
    ],
)
def test_known_pairs_let_the_pathways_read_the_dbns_too(
    protocol, read_dbn, reads, fit, trained, counts_dataset
) -> None:
    method = fit(counts_dataset, protocol, read_dbn=read_dbn)
    data = trained[0].data
    dbn = run_chain(
        method.chains_["image"][:4], counts_dataset.split("train").having("image", "text").features("image")
    )
    codes = run_chain(
        data.chains["image"][:-1], counts_dataset.split("train").having("image", "text").features("image")
    )
    assert np.array_equal(codes[:, -dbn.shape[1] :], dbn) == reads
