"""What a method remembers of the road from raw items to the rows it learned from."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych.data import Dataset
from diptych.features import Pipeline, check_same_pipeline, load_pipeline


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
