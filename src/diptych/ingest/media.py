"""The pictures behind a dataset that was ingested, for showing them later."""

from pathlib import Path

from diptych._core.errors import DataError
from diptych.data import Dataset
from diptych.ingest.opening import reopen_pictures
from diptych.ingest.picture_sources import PictureSource


def media_of(dataset: Dataset) -> PictureSource:
    """Open the folder or archive whose pictures the dataset's column `media` names.

    Raises:
        DataError: when the dataset was not ingested, or its pictures have moved.
    """
    if dataset.source.get("importer") != "ingest":
        raise DataError(f"{dataset.path} was not made by `diptych ingest`, so it knows no pictures.")
    path = (dataset.path / str(dataset.source["images"])).resolve()
    if not path.exists():
        raise DataError(f"the pictures of {dataset.path} were in {path} and are gone; put them back or ingest again.")
    return reopen_pictures(Path(path), str(dataset.source["images_kind"]))
