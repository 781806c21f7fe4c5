"""Methods as scikit-learn estimators: two or more views in one stacked array, for GridSearchCV and pipelines."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError, DiptychError
from diptych.methods import CCA, Method


class TwoView(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A method on several views concatenated in one array.

    scikit-learn has a single X. `columns` says which of its columns belong to which modality, so that a method can be
    cloned, searched over and scored like any estimator; the method's own parameters are called `method__…`. `fit` holds
    out a part of the items for what the method itself chooses, as in `Method.fit`.

    Args:
        method: the method to fit, as a template: it is cloned and stays unfitted. `CCA()` if left out.
        columns: how many columns each modality has, in order, such as {"image": 64, "text": 200}; left out, the
            columns are halved and called "first" and "second".

    Attributes:
        method_: the fitted method.
        columns_: how many columns each modality has.
        n_features_in_: how many columns there are.

    Example:
        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from diptych import SemanticMatching
        >>> random = np.random.default_rng(0)
        >>> y = random.integers(3, size=240)
        >>> cause = 2 * np.eye(3)[y] + random.normal(size=(240, 3))
        >>> X = np.hstack([cause @ random.normal(size=(3, 8)), cause @ random.normal(size=(3, 5))])
        >>> estimator = TwoView(SemanticMatching(), columns={"image": 8, "text": 5})
        >>> search = GridSearchCV(estimator, {"method__strength": [0.001, 0.1]}, cv=3).fit(X, y)
        >>> sorted(search.best_params_)
        ['method__strength']
        >>> search.best_estimator_.transform(X).shape  # the embeddings of both modalities, side by side
        (240, 6)
    """

    def __init__(self, method: Method | None = None, columns: Mapping[str, int] | None = None) -> None:
        self.method = method
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ANN401 - whatever scikit-learn takes
        """Fit the method.

        Args:
            X: one array or sparse matrix with the columns of all modalities side by side, or a list of one each.
            y: one label per item, None for an unlabelled one; left out where the method learns from pairs alone.

        Raises:
            ValueError: for data the method cannot be fitted on.
        """
        if y is None and self.__sklearn_tags__().target_tags.required:
            raise ValueError(f"This {type(self).__name__} requires y to be passed, but the target y is None.")
        views = self._views(X, reset=True)
        if y is not None:
            check_consistent_length(next(iter(views.values())), y)
        try:
            self.method_ = clone(self._template()).fit(views, labels=y)
        except DiptychError as error:
            raise ValueError(str(error)) from error
        self._n_features_out = self.transform(X).shape[1]
        return self

    def transform(self, X: Any) -> Singles:  # noqa: ANN401
        """Embed the items: the embeddings of every modality, concatenated in the order of `columns`."""
        return np.hstack(list(self._embedded(X).values()))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ANN401
        """The average MAP over all directions, as `Method.score`; without y, how well partners find each other."""
        check_is_fitted(self)
        try:
            return float(self.method_.score(self._views(X, reset=False), labels=y))
        except DiptychError as error:
            raise ValueError(str(error)) from error

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        template = self._template()
        tags.input_tags.sparse = True
        tags.target_tags.required = template.uses_labels and not template.works_without_labels
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _template(self) -> Method:
        return CCA() if self.method is None else self.method

    def _embedded(self, X: Any) -> dict[str, Singles]:  # noqa: ANN401
        check_is_fitted(self)
        embedded: dict[str, Singles] = self.method_.transform(self._views(X, reset=False))
        return embedded

    def _views(self, X: Any, *, reset: bool) -> dict[str, Features]:  # noqa: ANN401
        """Cut the columns of each modality out of X."""
        if isinstance(X, list | tuple) and X and all(getattr(view, "ndim", 0) == 2 for view in X):
            X, widths = _stacked(X), [int(view.shape[1]) for view in X]
        else:
            widths = None
        least = 2 if reset else 1
        stacked = validate_data(
            self, X, reset=reset, accept_sparse="csr", ensure_min_features=least, ensure_min_samples=least
        )
        if reset:
            self.columns_ = self._settled_columns(stacked.shape[1], widths)
        edges = np.cumsum([0, *self.columns_.values()])
        return {name: stacked[:, edges[at] : edges[at + 1]] for at, name in enumerate(self.columns_)}

    def _settled_columns(self, width: int, widths: Sequence[int] | None) -> dict[str, int]:
        if self.columns is None:
            given = widths or [(width + 1) // 2, width // 2]
            names = ["first", "second"] if len(given) == 2 else [f"view{at}" for at in range(1, len(given) + 1)]
            return dict(zip(names, given, strict=True))
        if sum(self.columns.values()) != width or (widths is not None and list(self.columns.values()) != widths):
            raise ConfigError(
                f"columns is {dict(self.columns)}, and X has {width if widths is None else widths} columns; say how "
                "many belong to each modality, in order."
            )
        return dict(self.columns)


def _stacked(views: Sequence[Any]) -> Any:  # noqa: ANN401
    if any(hasattr(view, "tocsr") for view in views):
        from scipy.sparse import hstack

        return hstack(views, format="csr")
    return np.hstack([np.asarray(view) for view in views])
