import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych.data import Labels, Partition, write_dataset
from diptych.data.partition import Column
from diptych.errors import DataError


@pytest.fixture
def dataset(tmp_path, make_draft):
    return write_dataset(tmp_path / "d", make_draft())


def test_items_lacking_a_modality_are_left_out_on_request(dataset, make_draft):
    test = dataset.split("test")
    assert test.ids.tolist() == ["e", "f"]
    assert test.has("image").tolist() == [False, True]
    assert test.having("image").ids.tolist() == ["f"]
    assert test.having("text").ids.tolist() == ["e"]
    assert len(test.having("image", "text")) == 0
    draft = make_draft()
    np.testing.assert_array_equal(test.having("image").features("image"), draft.modalities["image"].values[[4]])
    np.testing.assert_array_equal(
        test.having("text").features("text").toarray(), draft.modalities["text"].values.toarray()[[4]]
    )


def test_asking_for_rows_an_item_lacks_is_refused(dataset):
    with pytest.raises(DataError, match=r"item 'e' has no image; ask for `having\('image'\)` first"):
        dataset.split("test").features("image")
    with pytest.raises(DataError, match="no modality 'sound'; there are image, text"):
        dataset.split("test").features("sound")


def test_labelled_items(dataset):
    assert dataset.split("train").labelled().ids.tolist() == ["a", "b"]


def test_other_labels_leave_the_original_alone(dataset):
    train = dataset.split("train")
    bare = train.with_labels(train.labels.keep_only(np.zeros(3, bool)))
    assert not bare.labels.is_labelled.any()
    assert train.labels.is_labelled.tolist() == [True, True, False]


@settings(max_examples=50)
@given(st.lists(st.booleans(), min_size=1, max_size=20), st.data())
def test_rows_follow_their_items_through_any_choice(present, data):
    present = np.array(present)
    values = np.flatnonzero(present)[:, None].astype(float)
    names = np.array([str(i) for i in range(len(present))])
    labels = Labels.from_codes([0] * len(present), ["x"])
    whole = Partition(np.arange(len(present)), names, names, labels, {"m": Column.of(values, present)})
    order = np.array(data.draw(st.lists(st.sampled_from(range(len(present))), max_size=20)), dtype=np.int64)
    chosen = whole.take(order).having("m")
    assert chosen.features("m").ravel().tolist() == [i for i in order.tolist() if present[i]]
    assert [int(name) for name in chosen.ids] == [i for i in order.tolist() if present[i]]
