"""The label-using methods on the Wikipedia features, against figures known for this split."""

from pathlib import Path

import numpy as np
import pytest

from diptych.data.importers.wikipedia import import_wikipedia
from diptych.evaluation import mean_average_precision
from diptych.methods import create

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "wikipedia"

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not FOLDER.exists(), reason="the Wikipedia features are not beside the checkout"),
]


@pytest.fixture(scope="module")
def wikipedia(tmp_path_factory):
    return import_wikipedia(FOLDER, tmp_path_factory.mktemp("real") / "wikipedia")


def scores(method, dataset) -> tuple[float, float]:
    test = dataset.split("test")
    one, two = (
        mean_average_precision(
            *method.represent(a, b, test.features(a), test.features(b)),
            test.labels,
            test.labels,
            similarity=method.similarity,
        )
        for a, b in (("image", "text"), ("text", "image"))
    )
    return one, two


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("sm", {}, (0.29, 0.24)),
        ("scm", {}, (0.29, 0.25)),
        pytest.param("jrl", {}, (0.276, 0.222), marks=pytest.mark.slow),
        pytest.param("jrl", {"similarity_mode": "knn_vote"}, (0.333, 0.252), marks=pytest.mark.slow),
        ("chance", {}, (0.122, 0.122)),
    ],
)
def test_scores_are_the_known_ones(name, params, expected, wikipedia) -> None:
    np.testing.assert_allclose(scores(create(name, **params).fit(wikipedia), wikipedia), expected, atol=0.01)
