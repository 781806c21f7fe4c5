"""Parameters as scikit-learn has them: a constructor that only assigns, and everything else for free."""

import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset
from diptych.features import Pipeline, check_same_pipeline, load_pipeline


class Parametrised:
    """Give `get_params`, `set_params` and a repr to a class whose constructor only stores its arguments."""

    @classmethod
    def parameter_defaults(cls) -> dict[str, Any]:
        """The constructor's parameters and their defaults."""
        signature = inspect.signature(cls.__init__)
        return {name: p.default for name, p in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The current parameters, by name."""
        return {name: getattr(self, name) for name in self.parameter_defaults()}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - each parameter has its own type
        """Change some parameters; an unknown name is an error."""
        check_names(type(self).__name__, params, list(self.parameter_defaults()))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self.parameter_defaults()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"


def check_names(owner: str, given: dict[str, Any], known: list[str]) -> None:
    """Refuse parameters the owner does not have."""
    for name in given:
        if name not in known:
            raise ConfigError(f"{owner} has no parameter '{name}'; it has {', '.join(known) or 'none'}.")


class PipelineKeeper(ABC):
    """Something fitted whose record names the pipeline that made its training rows.

    Attributes:
        record_: what is known of the fit; "pipeline" is the fingerprint, None where rows came as numbers.
        pipeline_folder: where that pipeline is kept, opened only when it is needed.
    """

    record_: dict[str, Any]
    pipeline_folder: Path | None = None
    _opened: tuple[tuple[str, Path], Pipeline] | None = None

    @abstractmethod
    def _check_fitted(self) -> None:
        """Refuse before the fit what makes sense only after it."""

    @property
    def pipeline(self) -> Pipeline:
        """How raw items became the rows this model learned from.

        Raises:
            DataError: when the model learned from rows that came as numbers, or its pipeline is gone.
        """
        self._check_fitted()
        expected, folder = self.record_.get("pipeline"), self.pipeline_folder
        if expected is None or folder is None:
            raise DataError(
                "this model learned from rows that came as numbers, so it cannot read raw items; "
                "make a dataset with `diptych ingest` and fit again."
            )
        key = expected, folder
        if self._opened is None or self._opened[0] != key:
            pipeline = load_pipeline(folder)
            check_same_pipeline(expected, pipeline.fingerprint, remedy=f"fit again, as {folder} changed")
            self._opened = key, pipeline
        return self._opened[1]

    def check_rows_of(self, dataset: Dataset) -> None:
        """Refuse a dataset whose rows were made by another pipeline than this model's.

        Where either came as numbers there is nothing to compare, and the dimensions have to do.
        """
        self._check_fitted()
        mine, theirs = self.record_.get("pipeline"), dataset.pipeline_fingerprint
        if mine is not None and theirs is not None:
            check_same_pipeline(
                mine,
                theirs,
                remedy="make the rows again with `diptych ingest … --pipeline MODEL`, or fit on this dataset",
            )
