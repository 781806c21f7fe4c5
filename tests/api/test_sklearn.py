"""Methods inside scikit-learn: its own estimator checks, cloning, grids, pipelines."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import synthetic
from diptych import CCA, CDMLMR, SemanticMatching
from diptych._core.errors import ConfigError
from diptych.methods import create, entry, names
from diptych.sklearn import TwoView

WITHOUT_TORCH = [name for name in names() if not entry(name).extra and not entry(name).chooses]
UNLIKE_ESTIMATORS = {
    "chance": "draws a new embedding for every row it is given, as a level to compare with",
    "identity": "learns nothing and takes views of one width only",
}
"""Why a method is no estimator in scikit-learn's sense; all others pass every check."""


@parametrize_with_checks([TwoView(create(name)) for name in WITHOUT_TORCH if name not in UNLIKE_ESTIMATORS])
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)


def test_every_method_without_torch_is_checked() -> None:
    assert set(UNLIKE_ESTIMATORS) <= set(WITHOUT_TORCH)
    assert {"cca", "cfa", "cca3v", "sm", "scm", "jrl", "kcca-rbf"} <= set(WITHOUT_TORCH) - set(UNLIKE_ESTIMATORS)


@pytest.fixture(scope="module")
def views() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draft = synthetic.draft(counts_text=False)
    image, text = (draft.modalities[name].values.astype(np.float64) for name in ("image", "text"))
    return image, text, np.array(draft.labels)


COLUMNS = {"image": 12, "text": 20}


def test_a_stack_and_a_list_of_views_are_the_same(views) -> None:
    image, text, labels = views
    stacked = TwoView(SemanticMatching(0.1), COLUMNS).fit(np.hstack([image, text]), labels)
    listed = TwoView(SemanticMatching(0.1), COLUMNS).fit([image, text], labels)
    np.testing.assert_array_equal(stacked.transform([image, text]), listed.transform(np.hstack([image, text])))
    plain = SemanticMatching(0.1).fit({"image": image, "text": text}, labels=labels)
    expected = np.hstack(list(plain.transform({"image": image, "text": text}).values()))
    np.testing.assert_array_equal(stacked.transform([image, text]), expected)
    assert stacked.score([image, text], labels) == plain.score({"image": image, "text": text}, labels)
    assert stacked.get_feature_names_out().tolist() == [f"twoview{at}" for at in range(12)]


def test_sparse_views_stay_counts() -> None:
    draft = synthetic.draft()
    image, text = sp.csr_array(draft.modalities["image"].values), sp.csr_array(draft.modalities["text"].values)
    fitted = TwoView(SemanticMatching(0.1), COLUMNS).fit([image, text], draft.labels)
    assert fitted.score([image, text], draft.labels) > 0.3


@pytest.mark.parametrize("method", [SemanticMatching(), CCA()], ids=repr)
def test_a_grid_runs_over_a_methods_parameters(method, views) -> None:
    image, text, labels = views
    name, values = ("strength", [1e-3, 1e3]) if isinstance(method, SemanticMatching) else ("components", [1, 5])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(TwoView(method, COLUMNS), {f"method__{name}": values}, cv=folds)
    search.fit(np.hstack([image, text]), labels)
    assert search.best_params_[f"method__{name}"] == (1e-3 if name == "strength" else 5)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and scores.max() > scores.min()
    assert not method.is_fitted


def test_other_tools_of_scikit_learn(views) -> None:
    image, text, labels = views
    stacked = np.hstack([image, text])
    estimator = make_pipeline(StandardScaler(), TwoView(CCA(components=4), COLUMNS))
    assert cross_val_score(estimator, stacked, labels, cv=3).min() > 0.2
    assert cross_val_score(estimator, stacked, cv=3).min() > 0.2  # by partners
    fitted = estimator.fit(stacked)
    restored = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - what the test itself wrote
    np.testing.assert_array_equal(restored.transform(stacked), fitted.transform(stacked))


def test_methods_are_cloned_with_their_parameters() -> None:
    for name in names():
        method = create(name)
        again = clone(method)
        assert again is not method
        assert again.get_params() == method.get_params()
        assert clone(TwoView(method)).get_params()["method"] is not method


def test_nested_parameters_have_the_methods_names() -> None:
    estimator = TwoView(CDMLMR(seed=3))
    assert estimator.get_params()["method__seed"] == 3
    estimator.set_params(method__seed=4)
    assert estimator.method.seed == 4
    with pytest.raises(ConfigError, match="CDMLMR has no parameter 'colour'"):
        estimator.set_params(method__colour=1)


def test_errors_are_those_scikit_learn_expects(views) -> None:
    image, text, labels = views
    with pytest.raises(NotFittedError):
        TwoView().transform(np.hstack([image, text]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        TwoView(SemanticMatching()).fit([image, text])
    with pytest.raises(ValueError, match="every training label is 'a'"):
        TwoView(SemanticMatching()).fit([image, text], ["a"] * len(labels))
    with pytest.raises(ConfigError, match=r"columns is \{'image': 3, 'text': 4\}, and X has \[12, 20\] columns"):
        TwoView(columns={"image": 3, "text": 4}).fit([image, text])
    with pytest.raises(ConfigError, match="and X has 32 columns"):
        TwoView(columns={"image": 3, "text": 4}).fit(np.hstack([image, text]))
    with pytest.raises(ValueError, match="X has 20 features, but TwoView is expecting 32"):
        TwoView().fit([image, text]).transform(text)


def test_three_views(views) -> None:
    image, text, labels = views
    fitted = TwoView(SemanticMatching(0.1)).fit([image, text, image + 1], labels)
    assert list(fitted.columns_) == ["view1", "view2", "view3"]
    assert fitted.transform([image, text, image]).shape == (len(labels), 18)
