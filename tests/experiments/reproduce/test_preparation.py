from dataclasses import replace

import synthetic
from diptych.experiments.reproduce.preparation import compare_inputs
from diptych.experiments.reproduce.studies import STUDIES, PaperInput, Study, row_of

SAME = replace(
    STUDIES["wikipedia"],
    inputs={"image": PaperInput("dense", 12, "x"), "text": PaperInput("counts", 20, "y")},
    splits=synthetic.COUNTS,
)


def test_equal_kinds_dimensions_and_splits_are_the_paper_s(counts_dataset):
    found = compare_inputs(counts_dataset, SAME)
    assert found.same and found.words == "as in the paper" and found.network_words == ""
    assert found.modalities["text"] == {"paper": "20-d counts (y)", "here": "20-d counts"}


def test_every_difference_is_named(dense_dataset):
    found = compare_inputs(dense_dataset, STUDIES["wikipedia"])
    assert not found.same
    assert found.words == (
        "image 12-d for 2,296-d, text 20-d dense for 3,000-d counts, 96 train items for 2,173, "
        "40 val items for 231, 60 test items for 462"
    )


def test_networks_meet_dense_words_with_another_machine(dense_dataset):
    found = compare_inputs(dense_dataset, SAME)
    assert not found.same  # the kind alone is a difference
    assert "Gaussian machine" in found.of_row(row_of("cmdn"))
    assert "Gaussian machine" not in found.of_row(row_of("cfa"))
    assert found.of_row(row_of("sm")) == found.of_row(row_of("cca")) == "not in the paper"


def test_the_size_of_a_split_alone_is_a_difference(counts_dataset):
    found = compare_inputs(counts_dataset, replace(SAME, splits={"test": 61}))
    assert not found.same and found.words == "60 test items for 61"


def test_a_dataset_the_paper_did_not_use(counts_dataset):
    found = compare_inputs(counts_dataset, Study("rsicd", "RSICD", ("image", "text"), "ask"))
    assert not found.same and found.words == "the paper did not use this dataset"
