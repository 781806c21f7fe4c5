"""Find the data of a study: released files, a dataset already imported, or what an earlier run imported."""

from pathlib import Path

from diptych.data import Dataset
from diptych.data.importers import IMPORTERS
from diptych.errors import ConfigError, DataError
from diptych.experiments.reproduce.studies import Study


def open_data(study: Study, data: Path | None, imported: Path) -> Dataset:
    """Open a study's dataset, importing released files first.

    Args:
        study: what is reproduced.
        data: a folder with the released files or with a dataset; None to go on with what was imported before.
        imported: where the import goes.

    Raises:
        ConfigError: without data, saying where to get them.
        DataError: when the folder holds neither, or a dataset without the study's modalities.
    """
    dataset = _open(study, data, imported)
    absent = [name for name in study.modalities if name not in dataset.modalities]
    if absent:
        raise DataError(
            f"{dataset.path} has no modality '{absent[0]}', which {study.title} needs; it has "
            f"{', '.join(dataset.modalities)}."
        )
    return dataset


def _open(study: Study, data: Path | None, imported: Path) -> Dataset:
    if data is None:
        if (imported / "dataset.json").exists():
            return Dataset.open(imported)
        raise ConfigError(
            f"the data of {study.title} are not given: {study.where}, and pass --data FOLDER with the released files, "
            "or with a dataset that `diptych import` made."
        )
    if not data.is_dir():
        raise DataError(f"{data} is not a folder; pass --data FOLDER with the released files or a dataset.")
    if (data / "dataset.json").exists():
        return Dataset.open(data)
    # Imported anew each time, so that changed files are noticed; the same files give the same fingerprint.
    return IMPORTERS[study.name](data, imported, overwrite=True)
