"""Label propagation against a dense computation, and what it must do on clusters, gaps and equals."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import synthetic
from diptych._core.errors import ConfigError, FitError, optional_package
from diptych._core.state import pack
from diptych.data import Protocol, TrainingData, training_data
from diptych.data.synthetic import make_synthetic
from diptych.evaluation.similarity import unit_rows
from diptych.features.scaling import fit_scaling
from diptych.methods import create, propagation
from diptych.methods.propagation import affinity_graph, pair_embeddings, propagate, spread_labels

FEW = Protocol(labels_per_class=2, propagate=True)


def dense_shares(codes, given, neighbours, alpha):
    """The same on full matrices, with loops where they are plain."""
    count = len(codes)
    cosines = codes @ codes.T
    np.fill_diagonal(cosines, -np.inf)
    weights = np.zeros((count, count))
    for row in range(count):
        for column in np.argsort(-cosines[row])[:neighbours]:
            weights[row, column] = max(cosines[row, column], 0.0) ** 3
    weights += weights.T
    roots = np.sqrt(weights.sum(axis=1))
    normalised = weights / np.outer(roots, roots)
    spread = given.copy()
    for _ in range(50):
        spread = alpha * normalised @ spread + (1 - alpha) * given
    squares = (spread / spread.sum(axis=0)) ** 2
    shares = squares / squares.sum(axis=1, keepdims=True)
    return np.where(given.any(axis=1, keepdims=True), given, shares)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Classes that lie far apart."""
    return synthetic.write(tmp_path_factory.mktemp("clusters") / "d", synthetic.draft(spread=0.1))


def true_codes(dataset):
    return dataset.split("train").labels.codes


class TestOracle:
    def test_codes_are_those_of_cca_written_out(self, counts_dataset):
        part = counts_dataset.split("train")
        rows, roots = [], []
        for name, kind, scaling in (("image", "dense", "zscore"), ("text", "counts", "tfidf+centre")):
            values = fit_scaling(part.features(name), kind, scaling)(part.features(name))
            covariance = np.cov(values, rowvar=False)
            ridge = 3.0 * values.shape[1] / len(values) * np.trace(covariance) / len(covariance)
            rows.append(values)
            roots.append(np.linalg.inv(scipy.linalg.sqrtm(covariance + ridge * np.eye(len(covariance)))))
        between = np.cov(*(values.T for values in rows))[: rows[0].shape[1], rows[0].shape[1] :]
        left, correlations, right = np.linalg.svd(roots[0] @ between @ roots[1], full_matrices=False)
        codes = [
            unit_rows((values @ root @ turn) * correlations)
            for values, root, turn in zip(rows, roots, (left, right.T), strict=True)
        ]
        found = pair_embeddings(training_data(counts_dataset))
        np.testing.assert_allclose(found @ found.T, sum(each @ each.T for each in codes) / 2, atol=1e-9)

    @pytest.mark.parametrize(("neighbours", "alpha"), [(20, 0.95), (5, 0.99)])
    def test_shares_are_those_of_a_dense_computation(self, counts_dataset, neighbours, alpha):
        data = training_data(counts_dataset, FEW)
        codes, given = pair_embeddings(data), data.train.labels.shares
        found = spread_labels(affinity_graph(codes, neighbours), given, alpha)
        np.testing.assert_allclose(found, dense_shares(codes, given, neighbours, alpha), atol=1e-5)

    def test_the_whole_way_is_these_steps(self, counts_dataset):
        bare = training_data(counts_dataset, FEW)
        data, record = propagate(bare, FEW)
        given = bare.train.labels.shares
        np.testing.assert_allclose(data.soft_labels, dense_shares(pair_embeddings(bare), given, 20, 0.95), atol=1e-5)
        np.testing.assert_array_equal(data.train.labels.codes, data.soft_labels.argmax(axis=1))
        assert data.given_labels is bare.train.labels
        known = bare.train.labels.is_labelled
        np.testing.assert_array_equal(data.train.labels.codes[known], bare.train.labels.codes[known])
        assert (record["given"], record["propagated"]) == (12, 84)
        assert record["mean_confidence"] == pytest.approx(data.soft_labels[~known].max(axis=1).mean())
        assert record["seconds"] > 0


class TestProperties:
    def test_the_order_of_items_does_not_matter(self, counts_dataset):
        data = training_data(counts_dataset, FEW)
        order = np.random.default_rng(0).permutation(len(data.train))
        turned = replace(data, train=data.train.take(order))
        straight, other = (propagate(each, FEW)[0] for each in (data, turned))
        np.testing.assert_allclose(other.soft_labels, straight.soft_labels[order], atol=1e-5)
        np.testing.assert_array_equal(other.train.labels.codes, straight.train.labels.codes[order])

    def test_it_is_repeatable_to_the_bit(self, counts_dataset):
        one, two = (propagate(training_data(counts_dataset, FEW), FEW)[0].soft_labels for _ in range(2))
        assert one.tobytes() == two.tobytes()

    def test_the_names_of_classes_do_not_matter(self, counts_dataset):
        data = training_data(counts_dataset, FEW)
        graph, given = affinity_graph(pair_embeddings(data)), data.train.labels.shares
        np.testing.assert_allclose(spread_labels(graph, given[:, ::-1]), spread_labels(graph, given)[:, ::-1])

    def test_one_label_per_class_on_clusters_is_enough(self, clusters):
        one = Protocol(labels_per_class=1)
        data, record = propagate(training_data(clusters, one), one)
        np.testing.assert_array_equal(data.train.labels.codes, true_codes(clusters))
        assert record["mean_confidence"] > 0.9

    def test_more_right_than_by_the_nearest_label(self, counts_dataset):
        data = training_data(counts_dataset, FEW)
        known, codes = data.train.labels.is_labelled, pair_embeddings(data)
        nearest = data.train.labels.codes[known][(codes @ codes[known].T).argmax(axis=1)]
        true = true_codes(counts_dataset)
        right = propagate(data, FEW)[0].train.labels.codes == true
        assert right[~known].mean() > (nearest == true)[~known].mean()


class TestGraph:
    def test_a_cluster_without_a_label_stays_without(self):
        codes = unit_rows(np.repeat(np.eye(3), 8, axis=0) + 0.01 * np.random.default_rng(0).random((24, 3)))
        given = np.zeros((24, 2))
        given[0, 0] = given[8, 1] = 1.0
        graph = affinity_graph(codes, neighbours=5)
        shares = spread_labels(graph, given)
        np.testing.assert_array_equal(shares[16:], 0.0)
        np.testing.assert_array_equal(shares[:16].argmax(axis=1), np.repeat([0, 1], 8))
        np.testing.assert_allclose(shares[:16].sum(axis=1), 1.0)

    def test_an_item_between_two_classes_is_undecided(self):
        graph = sp.csr_array(np.array([[0.0, 0.7, 0.0], [0.7, 0.0, 0.7], [0.0, 0.7, 0.0]]))
        given = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
        np.testing.assert_array_equal(spread_labels(graph, given), given)

    def test_it_is_symmetric_and_has_no_loops(self):
        codes = unit_rows(np.random.default_rng(1).normal(size=(50, 6)))
        graph = affinity_graph(codes, 4).toarray()
        np.testing.assert_allclose(graph, graph.T)
        np.testing.assert_array_equal(np.diagonal(graph), 0.0)
        assert np.linalg.eigvalsh(graph).max() == pytest.approx(1.0)

    def test_equal_items_are_neighbours_of_each_other_and_not_of_themselves(self):
        graph = affinity_graph(np.tile([[0.6, 0.8]], (30, 1)), 3)
        np.testing.assert_array_equal(graph.diagonal(), 0.0)
        assert (np.diff(graph.indptr) >= 3).all()

    def test_few_items_are_joined_to_all_others(self):
        graph = affinity_graph(unit_rows(np.ones((3, 2)) + np.eye(3)[:, :2]))
        np.testing.assert_array_equal(graph.toarray() > 0, ~np.eye(3, dtype=bool))

    def test_many_items_are_searched_approximately_and_alike_every_time(self, monkeypatch):
        random = np.random.default_rng(2)
        codes = unit_rows(random.normal(size=(40, 8))[np.arange(2000) % 40] + 0.3 * random.normal(size=(2000, 8)))
        exact = affinity_graph(codes, 10)
        monkeypatch.setattr(propagation, "_EXACT_UP_TO", 500)
        one, two = (affinity_graph(codes, 10) for _ in range(2))
        assert (one != two).nnz == 0
        assert exact.astype(bool).multiply(one.astype(bool)).nnz > 0.9 * exact.nnz


class TestItems:
    def test_items_that_lack_a_modality_keep_their_label_and_get_none(self, gaps_dataset):
        bare = training_data(gaps_dataset)
        data, record = propagate(bare, Protocol())
        paired = bare.train.has("image") & bare.train.has("text")
        known = bare.train.labels.is_labelled
        assert (~paired & known).any() and (~paired & ~known).any() and (paired & ~known).any()
        np.testing.assert_array_equal(data.train.labels.is_labelled, paired | known)
        np.testing.assert_array_equal(data.soft_labels[known], bare.train.labels.shares[known])
        np.testing.assert_array_equal(data.soft_labels.sum(axis=1) > 0, paired | known)
        assert record["propagated"] == (paired & ~known).sum()

    @pytest.mark.parametrize("use_pairs", [False, True])
    def test_an_item_that_got_a_label_leaves_the_pools(self, gaps_dataset, use_pairs):
        seen = Protocol(unlabelled="train", labels_per_class=2, use_pairs=use_pairs)
        before = training_data(gaps_dataset, seen)
        after, _ = propagate(before, seen)
        bare = ~after.train.labels.is_labelled
        for name in ("image", "text"):
            assert after.pools[name].shape[0] == (bare & after.train.has(name)).sum() < before.pools[name].shape[0]
        assert (after.unlabelled_pairs is not None) == use_pairs
        assert not use_pairs or len(after.unlabelled_pairs) == 0 < len(before.unlabelled_pairs)

    def test_pools_of_test_items_stay(self, counts_dataset):
        seen = replace(FEW, unlabelled="test-features")
        before = training_data(counts_dataset, seen)
        assert propagate(before, seen)[0].pools is before.pools

    def test_with_every_label_given_nothing_changes(self, counts_dataset):
        data = training_data(counts_dataset)
        same, record = propagate(data, Protocol())
        assert same is data
        assert (record["given"], record["propagated"]) == (96, 0)

    def test_without_any_label_nothing_changes(self, tmp_path):
        draft = synthetic.draft()
        bare = replace(draft, labels=[None] * len(draft.ids), classes=())
        data = training_data(synthetic.write(tmp_path / "d", bare))
        same, record = propagate(data, Protocol())
        assert same is data
        assert (record["given"], record["propagated"]) == (0, 0)

    def test_several_labels_are_equal_shares(self, tmp_path):
        dataset = make_synthetic(tmp_path / "d", items=200, classes=4, multi_label=True)
        seen = Protocol(labels_per_class=5)
        bare = training_data(dataset, seen)
        data, _ = propagate(bare, seen)
        known = bare.train.labels.is_labelled
        several = bare.train.labels.per_item > 1
        assert several.any()
        np.testing.assert_allclose(data.soft_labels[several].max(axis=1), 1 / bare.train.labels.per_item[several])
        np.testing.assert_array_equal(
            data.train.labels.matrix.toarray()[known], bare.train.labels.matrix.toarray()[known]
        )
        np.testing.assert_array_equal(data.train.labels.per_item[~known], 1)

    def test_three_modalities_are_one_graph(self, three_dataset):
        data, _ = propagate(training_data(three_dataset, FEW), FEW)
        alone, _ = propagate(training_data(three_dataset, FEW, ("image", "text")), FEW)
        true = true_codes(three_dataset)
        assert (data.train.labels.codes == true).mean() > 0.75
        assert not np.array_equal(data.soft_labels, alone.soft_labels)

    def test_without_pairs_nothing_changes(self, gaps_dataset):
        data = training_data(gaps_dataset)
        data = replace(data, train=data.train.take(data.train.has("image") & ~data.train.has("text")))
        assert propagate(data, Protocol())[0] is data

    def test_a_modality_that_never_varies_is_an_error(self, tmp_path):
        draft = synthetic.draft()
        image = synthetic.ModalityRows("dense", np.ones_like(draft.modalities["image"].values))
        dataset = synthetic.write(tmp_path / "d", replace(draft, modalities={**draft.modalities, "image": image}))
        with pytest.raises(FitError, match="'image' is the same in all 96 training pairs"):
            propagate(training_data(dataset, FEW), FEW)


class TestFit:
    def learned(self, method):
        state, arrays = pack({key: value for key, value in method.learned_state().items() if key != "record_"})
        return state, {key: value.tobytes() for key, value in arrays.items()}

    @pytest.mark.parametrize("name", ["sm", "scm", "jrl", "cca3v"])
    def test_on_clusters_one_label_per_class_is_almost_as_good_as_all(self, name, clusters):
        one = Protocol(labels_per_class=1)
        protocols = (one, replace(one, propagate=True), Protocol())
        plain, helped, full = (create(name).fit(clusters, protocol) for protocol in protocols)
        alone, score, limit = (synthetic.score_on_test(method, clusters) for method in (plain, helped, full))
        assert score > limit - 0.01
        assert score > alone - 0.01
        assert helped.record_["propagation"]["propagated"] == 90
        assert helped.record_["saw"] == "pairs + propagated labels"
        assert plain.record_["saw"] == "pairs + labels"
        assert "propagation" not in plain.record_

    def test_methods_that_read_none_are_not_touched(self, counts_dataset):
        plain, asked = (create("cca").fit(counts_dataset, replace(FEW, propagate=given)) for given in (False, True))
        assert self.learned(plain) == self.learned(asked)
        assert "propagation" not in asked.record_ and asked.record_["saw"] == "pairs"

    def test_with_every_label_given_the_model_is_the_same(self, counts_dataset):
        plain, asked = (create("sm").fit(counts_dataset, Protocol(propagate=given)) for given in (False, True))
        assert self.learned(plain) == self.learned(asked)
        assert asked.record_["saw"] == "pairs + labels"

    def test_a_pool_that_got_labels_is_not_seen_as_one(self, counts_dataset):
        method = create("jrl").fit(counts_dataset, replace(FEW, unlabelled="train"))
        assert method.record_["saw"] == "pairs + propagated labels"

    def test_soft_labels_are_handed_over(self, counts_dataset):
        seen: list[TrainingData] = []

        class Watching(type(create("sm"))):
            def _fit(self, data, progress):
                seen.append(data)
                super()._fit(data, progress)

        Watching(strength=0.1).fit(counts_dataset, FEW)
        assert seen[0].soft_labels.shape == (96, 6)
        np.testing.assert_allclose(seen[0].soft_labels.sum(axis=1), 1.0)

    def test_without_faiss_the_extra_is_named(self, counts_dataset, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        optional_package.cache_clear()
        with pytest.raises(ConfigError, match=r"propagating labels needs faiss; install it with .*diptych\[search\]"):
            create("sm").fit(counts_dataset, FEW)
        optional_package.cache_clear()
