"""Joint representation learning as a method: what it reads, and its two options."""

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych._core.seeding import generator
from diptych.data import Protocol, training_data
from diptych.evaluation import mean_average_precision
from diptych.features import fit_scaling
from diptych.methods import create, load_model, save_model
from diptych.methods.semantic import jrl as module
from diptych.methods.semantic.joint_regression import Problem, Side, Weights, smoothness, solve
from diptych.methods.semantic.jrl import Voters, class_votes


def test_terms_read_the_items_they_can(gaps_dataset) -> None:
    """Labels: labelled rows. Pairs: all pairs, labelled or not. Graph: labelled rows and the pool."""
    protocol = Protocol(unlabelled="test-features")
    method = create("jrl", sparsity=2.0, graph=0.5, pairs=0.7, labels=1.2, neighbours=5).fit(gaps_dataset, protocol)
    data = training_data(gaps_dataset, protocol)
    sides, paired = [], []
    for name, kind in (("image", "dense"), ("text", "counts")):
        scaling = fit_scaling(data.train.having(name).features(name), kind)
        part = data.train.labelled().having(name)
        rows = scaling(part.features(name))
        graph = smoothness(np.concatenate([rows, scaling(data.pools[name])]), 5)
        paired.append(scaling(data.train.having("image", "text").features(name)))
        sides.append(Side.of(graph, rows, np.eye(6)[part.labels.codes], paired[-1]))
    assert len(paired[0]) > len(data.train.labelled().having("image", "text"))
    problem = Problem(sides[0], sides[1], paired[0].T @ paired[1])
    expected, history = solve(problem, Weights(2.0, 0.5, 0.7, 1.2))
    np.testing.assert_allclose(method.projections_["image"], expected[0], atol=1e-9)
    np.testing.assert_allclose(method.projections_["text"], expected[1], atol=1e-9)
    assert method.record_["objective"] == pytest.approx(history)


def test_votes_are_those_of_labelled_training_items(counts_dataset, tmp_path) -> None:
    params = {"sparsity": 1.0, "graph": 0.1, "neighbours": 15}
    plain = create("jrl", **params).fit(counts_dataset)
    voting = create("jrl", **params, similarity_mode="knn_vote").fit(counts_dataset)
    train, test = counts_dataset.split("train"), counts_dataset.split("test")
    codes = np.concatenate([plain.embed(name, train.features(name)) for name in ("image", "text")]).astype(np.float64)
    ballots = np.tile(np.eye(6)[train.labels.codes], (2, 1))
    rows = plain.embed("image", test.features("image")).astype(np.float64)
    expected = class_votes(rows, Voters(codes, ballots), 15)
    np.testing.assert_allclose(voting.embed("image", test.features("image")), expected, atol=1e-5)
    save_model(voting, tmp_path / "model")
    assert load_model(tmp_path / "model").similarity == "dot"
    assert plain.similarity == "cosine"
    assert plain.voters_ is None
    assert synthetic.score_on_test(voting, counts_dataset) > 1.5 * synthetic.chance_score(counts_dataset)


@pytest.mark.parametrize("mode", ["cosine", "knn_vote"])
def test_chosen_weights_are_the_best_tried_and_give_the_same_model(mode: str, counts_dataset) -> None:
    method = create("jrl", similarity_mode=mode).fit(counts_dataset)
    best = max(method.record_["selection"], key=lambda trial: trial["score"])
    assert method.record_["chosen"] == best["params"]
    again = create("jrl", similarity_mode=mode, **method.record_["chosen"]).fit(counts_dataset)
    np.testing.assert_array_equal(again.projections_["text"], method.projections_["text"])
    part = counts_dataset.split("val")
    scores = [
        mean_average_precision(
            *method.represent(a, b, part.features(a), part.features(b)),
            part.labels,
            part.labels,
            similarity=method.similarity,
        )
        for a, b in (("image", "text"), ("text", "image"))
    ]
    assert np.mean(scores) == pytest.approx(best["score"], abs=0.02)  # the search stops earlier than the fit


def test_one_open_weight_is_searched_alone(counts_dataset) -> None:
    method = create("jrl", sparsity=3.0).fit(counts_dataset)
    assert {trial["params"]["sparsity"] for trial in method.record_["selection"]} == {3.0}
    assert method.record_["chosen"]["sparsity"] == 3.0


def test_the_graph_changes_with_the_pool(counts_dataset) -> None:
    params = {"sparsity": 1.0, "graph": 100.0, "neighbours": 5}
    inductive = create("jrl", **params).fit(counts_dataset)
    transductive = create("jrl", **params).fit(counts_dataset, Protocol(unlabelled="test-features"))
    assert not np.allclose(inductive.projections_["image"], transductive.projections_["image"])


def test_released_laplacian_is_usable_on_any_data(counts_dataset) -> None:
    """On small rows it is indefinite for heavy graphs; the search passes over those weights."""
    method = create("jrl", laplacian="released").fit(counts_dataset)
    assert synthetic.score_on_test(method, counts_dataset) > 1.5 * synthetic.chance_score(counts_dataset)


def test_items_with_several_labels_are_regressed_on_all(tmp_path) -> None:
    base = synthetic.draft()
    labels = [[label, "music"] if i % 4 == 0 and label != "music" else label for i, label in enumerate(base.labels)]
    dataset = synthetic.write(tmp_path / "data", synthetic.replace(base, labels=labels))
    method = create("jrl", sparsity=0.1, graph=0.0, pairs=0.0).fit(dataset)
    assert synthetic.score_on_test(method, dataset) > synthetic.chance_score(dataset)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"similarity_mode": "euclid"}, "similarity_mode is 'euclid'; choose one of cosine, knn_vote"),
        ({"laplacian": "dense"}, "laplacian is 'dense'"),
        ({"neighbours": 0}, "neighbours is 0"),
        ({"pairs": -1.0}, "pairs is -1.0"),
    ],
)
def test_bad_parameters_are_refused(params, message: str, counts_dataset) -> None:
    with pytest.raises(ConfigError, match=message):
        create("jrl", **params).fit(counts_dataset)


def test_a_system_without_a_unique_solution_is_named(tmp_path) -> None:
    counts = {"train": 9, "val": 0, "test": 9}
    dataset = synthetic.write(tmp_path / "data", synthetic.draft(counts=counts))
    with pytest.raises(FitError, match="raise sparsity"):
        create("jrl", sparsity=0.0, graph=0.0).fit(dataset)


def shares(codes, voters, k):
    """W: the k largest affinities of each code, as shares."""
    W = np.zeros((len(codes), len(voters)))
    for i, code in enumerate(codes):
        affinities = np.array([1 / (1 + np.exp(np.linalg.norm(code - voter))) for voter in voters])
        kept = np.argsort(-affinities)[:k]
        W[i, kept] = affinities[kept] / affinities[kept].sum()
    return W


@pytest.mark.parametrize("k", [1, 7, 40, 100])
def test_dot_products_of_votes_are_shared_weight(k: int, monkeypatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 100)  # several blocks
    random = generator(0, "votes")
    queries, gallery, codes = (random.normal(size=(n, 3)) for n in (8, 9, 40))
    labels = random.integers(4, size=40)
    voters = Voters(codes, np.eye(4)[labels])
    same = (labels[:, None] == labels[None, :]).astype(float)
    expected = shares(queries, codes, k) @ same @ shares(gallery, codes, k).T
    actual = class_votes(queries, voters, k) @ class_votes(gallery, voters, k).T
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_codes_far_from_every_voter_still_vote() -> None:
    voters = Voters(np.zeros((5, 2)), np.eye(5))
    votes = class_votes(np.array([[1e5, 1e5]]), voters, 5)
    np.testing.assert_allclose(votes, 0.2)


def test_no_rows_give_no_votes() -> None:
    assert class_votes(np.zeros((0, 2)), Voters(np.zeros((5, 2)), np.eye(5)), 3).shape == (0, 5)
