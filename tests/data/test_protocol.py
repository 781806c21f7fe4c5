import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, Draft, ModalityRows, Protocol, training_data, write_dataset
from diptych.data.protocol import by_content
from diptych.data.synthetic import make_synthetic


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_synthetic(tmp_path_factory.mktemp("protocol") / "d", items=300, classes=4, unlabelled_share=0.2)


def test_by_default_all_labels_and_no_pools(dataset):
    data = training_data(dataset)
    assert data.modalities == ("image", "text")
    assert dict(data.kinds) == {"image": "dense", "text": "counts"}
    assert data.train.ids.tolist() == dataset.split("train").ids.tolist()
    assert data.validation.ids.tolist() == dataset.split("val").ids.tolist()
    np.testing.assert_array_equal(data.train.labels.codes, dataset.split("train").labels.codes)
    assert dict(data.pools) == {}


@pytest.mark.parametrize("quota", [1, 3, 10_000])
def test_labels_per_class(dataset, quota):
    labels = training_data(dataset, Protocol(labels_per_class=quota)).train.labels
    available = dataset.split("train").labels.class_counts()
    np.testing.assert_array_equal(labels.class_counts(), np.minimum(available, quota))


@pytest.mark.parametrize("share", [0.01, 0.25, 1.0])
def test_label_share(dataset, share):
    labels = training_data(dataset, Protocol(label_share=share)).train.labels
    available = dataset.split("train").labels.class_counts()
    expected = [max(1, round(share * int(count))) for count in available]
    assert labels.class_counts().tolist() == expected


def test_kept_labels_are_true_nested_and_decided_by_the_seed(dataset):
    full = dataset.split("train").labels.codes

    def kept(quota, seed):
        return training_data(dataset, Protocol(labels_per_class=quota, seed=seed)).train.labels.codes

    few, more = kept(2, 5), kept(6, 5)
    assert np.all((few == -1) | (few == full))
    assert np.all((few == -1) | (few == more))
    np.testing.assert_array_equal(few, kept(2, 5))
    assert not np.array_equal(few, kept(2, 6))


def test_withholding_keeps_every_class_of_items_with_several_labels(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=200, classes=4, multi_label=True)
    labels = training_data(dataset, Protocol(labels_per_class=2)).train.labels
    assert np.all(labels.class_counts() >= 2)
    kept = labels.is_labelled
    np.testing.assert_array_equal(labels.matrix.toarray()[kept], dataset.split("train").labels.matrix.toarray()[kept])


def rows_of(features):
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return sorted(map(tuple, dense.tolist()))


def test_pools_hold_exactly_the_unlabelled_rows(dataset):
    data = training_data(dataset, Protocol(unlabelled="train", labels_per_class=2))
    bare = data.train.take(~data.train.labels.is_labelled)
    for modality in ("image", "text"):
        assert rows_of(data.pools[modality]) == rows_of(bare.features(modality))
    test = training_data(dataset, Protocol(unlabelled="test-features")).pools
    for modality in ("image", "text"):
        assert rows_of(test[modality]) == rows_of(dataset.split("test").features(modality))


def test_the_order_of_a_pool_says_nothing_of_the_pairing(tmp_path):
    """Whatever the pairing, each modality's pool is the same array, so it cannot be recovered from one."""
    random = np.random.default_rng(0)
    image, text = random.normal(size=(30, 4)), random.integers(0, 3, size=(30, 5))
    pools = []
    for trial in range(3):
        order, partner = random.permutation(30), random.permutation(30)
        draft = Draft(
            name="d",
            ids=[str(i) for i in range(32)],
            splits=["train", "train", *["test"] * 30],
            labels=["x"] * 32,
            classes=["x"],
            modalities={
                "image": ModalityRows("dense", np.vstack([np.zeros((2, 4)), image[order]])),
                "text": ModalityRows("counts", sp.csr_array(np.vstack([np.zeros((2, 5), int), text[partner]]))),
            },
        )
        dataset = write_dataset(tmp_path / str(trial), draft)
        pools.append(training_data(dataset, Protocol(unlabelled="test-features")).pools)
    for other in pools[1:]:
        np.testing.assert_array_equal(pools[0]["image"], other["image"])
        np.testing.assert_array_equal(pools[0]["text"].toarray(), other["text"].toarray())


def test_pools_are_bare_rows_without_labels_or_ids(dataset):
    for value in training_data(dataset, Protocol(unlabelled="test-features")).pools.values():
        assert type(value) in (np.ndarray, sp.csr_array)


def test_no_test_label_is_reachable_from_training_data(dataset):
    data = training_data(dataset, Protocol(unlabelled="test-features"))
    test = set(dataset.split("test").ids.tolist())
    for partition in (data.train, data.validation):
        assert not test & set(partition.ids.tolist())
        assert len(partition.labels) == len(partition)
        assert not {f.name for f in data.__dataclass_fields__.values()} & {"dataset", "test"}


def test_changed_test_labels_change_nothing_that_training_sees(tmp_path, make_draft):
    protocol = Protocol(unlabelled="test-features", labels_per_class=1)
    one = training_data(write_dataset(tmp_path / "one", make_draft()), protocol)
    two = training_data(
        write_dataset(tmp_path / "two", make_draft(labels=["cat", "dog", "cat", None, "cat", None])), protocol
    )
    for left, right in ((one.train, two.train), (one.validation, two.validation)):
        np.testing.assert_array_equal(left.labels.codes, right.labels.codes)
    np.testing.assert_array_equal(one.pools["image"], two.pools["image"])


def test_items_lacking_a_modality_are_missing_from_its_pool(tmp_path, make_draft):
    pools = training_data(write_dataset(tmp_path / "d", make_draft()), Protocol(unlabelled="test-features")).pools
    assert (pools["image"].shape, pools["text"].shape) == ((1, 3), (1, 7))


def test_empty_pools_keep_their_width(tmp_path, make_draft):
    draft = make_draft(splits=["train"] * 6, labels=["cat", "dog", "cat", "dog", "cat", "cat"])
    data = training_data(write_dataset(tmp_path / "d", draft), Protocol(unlabelled="train"))
    assert (data.pools["image"].shape, data.pools["text"].shape) == ((0, 3), (0, 7))
    assert data.validation is None


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(0, 8), st.integers(1, 3)), elements=st.sampled_from([0.0, 1.0, -2.5]))
)
def test_ordering_by_content_forgets_the_order(rows):
    turned = rows[::-1]
    assert rows_of(by_content(rows)) == rows_of(rows)
    np.testing.assert_array_equal(by_content(rows), by_content(turned))
    counts = sp.csr_array(np.abs(rows).astype(np.int32))
    np.testing.assert_array_equal(by_content(counts).toarray(), by_content(sp.csr_array(counts[::-1])).toarray())


def test_modalities_can_be_chosen_and_ordered(dataset):
    assert training_data(dataset, modalities=("text", "image")).modalities == ("text", "image")
    assert set(training_data(dataset, Protocol(unlabelled="train"), ("text",)).pools) == {"text"}
    with pytest.raises(DataError, match="has no modality 'sound'; it has image, text"):
        training_data(dataset, modalities=("sound",))


def test_no_training_items_is_an_error(tmp_path, make_draft):
    dataset = write_dataset(tmp_path / "d", make_draft(splits=["test"] * 6))
    with pytest.raises(DataError, match="has no training items"):
        training_data(dataset)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"unlabelled": "all"}, "unlabelled is 'all'; choose one of none, train, test-features"),
        ({"labels_per_class": 1, "label_share": 0.5}, "exclude each other"),
        ({"labels_per_class": 0}, "labels_per_class is 0"),
        ({"label_share": 0.0}, "label_share is 0.0"),
        ({"label_share": 1.5}, "label_share is 1.5"),
        ({"use_pairs": True}, "use_pairs is on but unlabelled is 'none'.*set unlabelled to 'train'"),
        ({"use_pairs": True, "unlabelled": "test-features"}, "use_pairs is on but unlabelled is 'test-features'"),
    ],
)
def test_impossible_protocols_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Protocol(**options)


def test_protocols_describe_themselves():
    protocol = Protocol(unlabelled="test-features", labels_per_class=5, seed=3)
    assert "5 training labels per class (seed 3)" in protocol.describe()
    assert "transductive" in protocol.describe()
    assert "20% of the training labels" in Protocol(label_share=0.2).describe()
    assert "all training labels" in Protocol().describe()
    assert Protocol(**json.loads(json.dumps(protocol.to_json()))) == protocol


def test_pairs_are_handed_out_only_where_the_protocol_says_so(dataset):
    for unlabelled in ("none", "train", "test-features"):
        assert training_data(dataset, Protocol(unlabelled=unlabelled, labels_per_class=2)).unlabelled_pairs is None
    data = training_data(dataset, Protocol(unlabelled="train", labels_per_class=2, use_pairs=True))
    bare = data.train.take(~data.train.labels.is_labelled)
    assert data.unlabelled_pairs.ids.tolist() == bare.ids.tolist()
    assert 0 < len(bare) < len(data.train)


def test_unlabelled_pairs_have_every_modality_no_label_and_are_never_test_items(tmp_path, make_draft):
    """Training items are a, b (labelled), d (complete), e (no image), f (no text), all three without a label."""
    splits = ["train", "train", "val", "train", "train", "train", "test"]
    base = make_draft()
    image, text = base.modalities["image"], base.modalities["text"]
    more = {
        "image": ModalityRows("dense", np.vstack([image.values, np.ones((1, 3))]), np.append(image.present, True)),
        "text": ModalityRows(
            "counts", sp.csr_array(sp.vstack([text.values, np.ones((1, 7), int)])), np.append(text.present, True)
        ),
    }
    draft = make_draft(
        ids=[*base.ids, "g"],
        splits=splits,
        labels=["cat", "dog", "cat", None, None, None, None],
        modalities=more,
        metadata={},
    )
    data = training_data(write_dataset(tmp_path / "d", draft), Protocol(unlabelled="train", use_pairs=True))
    assert data.unlabelled_pairs.ids.tolist() == ["d"]
    assert not data.unlabelled_pairs.labels.is_labelled.any()
    assert (data.pools["image"].shape[0], data.pools["text"].shape[0]) == (2, 2)
    alone = training_data(Dataset.open(tmp_path / "d"), Protocol(unlabelled="train", use_pairs=True), ("text",))
    assert alone.unlabelled_pairs.ids.tolist() == ["d", "e"]


def test_protocols_say_whether_pairs_are_used():
    separate, together = (Protocol(unlabelled="train", use_pairs=pairs).describe() for pairs in (False, True))
    assert "training items without a label, each modality by itself" in separate
    assert "training items without a label, in their pairs" in together
    assert Protocol(unlabelled="train", use_pairs=True).to_json()["use_pairs"] is True


@pytest.mark.parametrize("options", [{"labels_per_class": 3}, {"label_share": 0.4}])
def test_validation_labels_are_withheld_like_training_labels_where_asked(dataset, options):
    full = dataset.split("val").labels
    assert training_data(dataset, Protocol(**options)).validation.labels.class_counts().sum() == len(full.codes)
    labels = training_data(dataset, Protocol(**options, withhold_validation=True)).validation.labels
    share = options.get("label_share", 1.0)
    expected = [
        min(options.get("labels_per_class", max(1, round(share * int(n)))), int(n)) for n in full.class_counts()
    ]
    assert labels.class_counts().tolist() == expected
    assert np.all((labels.codes == -1) | (labels.codes == full.codes))


def test_which_validation_labels_are_kept_is_the_seeds_and_touches_no_training_label(dataset):
    def kept(seed, **options):
        data = training_data(dataset, Protocol(labels_per_class=2, seed=seed, **options))
        return data.train.labels.codes, data.validation.labels.codes

    (plain, _), (train, one), (_, again), (_, two) = (
        kept(5), kept(5, withhold_validation=True), kept(5, withhold_validation=True), kept(6, withhold_validation=True)
    )  # fmt: skip
    np.testing.assert_array_equal(plain, train)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, two)


def test_where_nothing_is_withheld_validation_stays_whole(dataset):
    labels = training_data(dataset, Protocol(withhold_validation=True)).validation.labels
    np.testing.assert_array_equal(labels.codes, dataset.split("val").labels.codes)


def test_training_data_is_not_propagated_by_itself(dataset):
    data = training_data(dataset, Protocol(labels_per_class=2, propagate=True))
    assert data.soft_labels is None and data.given_labels is None


def test_protocols_say_whether_labels_are_propagated_and_validation_labels_withheld():
    protocol = Protocol(labels_per_class=5, propagate=True, withhold_validation=True)
    assert "5 training labels per class (seed 0), propagated to the other training pairs, " in protocol.describe()
    assert protocol.describe().endswith("; validation, its labels withheld alike, for selection only")
    assert Protocol(withhold_validation=True).describe() == Protocol().describe()
    assert protocol.to_json()["propagate"] is True and protocol.to_json()["withhold_validation"] is True
