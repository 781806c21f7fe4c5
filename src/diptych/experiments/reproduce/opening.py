"""Find the data of a study: released files, a dataset already imported, or what an earlier run imported."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from diptych._core.errors import ConfigError, DataError
from diptych._core.processes import usable_cores
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.data.importers import IMPORTERS
from diptych.experiments.reproduce.studies import Part, Study
from diptych.ingest.releases import import_rsicd

_DESCRIBERS: Final[Mapping[str, Callable[..., Dataset]]] = {"rsicd": import_rsicd}
"""What makes a dataset of released pictures and texts, by study."""


def open_data(study: Study, data: Path | None, folder: Path, progress: Progress = silent) -> dict[Part | None, Dataset]:
    """Open a study's dataset, or one for each of its parts, importing released files first.

    Args:
        study: what is reproduced.
        data: a folder with the released files, or with a dataset or one for each part under the part's name; None to
            go on with what was imported before.
        folder: the reproduction's; imports go into `dataset`, there or in the folder of each part.
        progress: told how far a description is.

    Raises:
        ConfigError: without data, saying where to get them.
        DataError: when the folder holds neither, or a dataset without the study's modalities.
    """
    found: dict[Part | None, Dataset] = {}
    for part in study.parts or (None,):
        dataset = _open(study, part, data, folder / (part.name if part else "") / "dataset", progress)
        absent = [name for name in study.modalities if name not in dataset.modalities]
        if absent:
            raise DataError(
                f"{dataset.path} has no modality '{absent[0]}', which {study.title} needs; it has "
                f"{', '.join(dataset.modalities)}."
            )
        found[part] = dataset
    return found


def _open(study: Study, part: Part | None, data: Path | None, imported: Path, progress: Progress) -> Dataset:
    if data is None:
        if (imported / "dataset.json").exists():
            return Dataset.open(imported)
        raise ConfigError(
            f"the data of {study.title} are not given: {study.where}, and pass --data FOLDER with the released files, "
            "or with a dataset that `diptych import` made."
        )
    if not data.is_dir():
        raise DataError(f"{data} is not a folder; pass --data FOLDER with the released files or a dataset.")
    made = data / part.name if part else data
    if (made / "dataset.json").exists():
        return Dataset.open(made)
    if part is None:
        # Imported anew each time, so that changed files are noticed; the same files give the same fingerprint.
        return IMPORTERS[study.name](data, imported, overwrite=True)
    if (imported / "dataset.json").exists():  # describing thousands of pictures takes minutes
        before = Dataset.open(imported)
        if _is_from(before, data):
            return before
    return _DESCRIBERS[study.name](
        data, imported, workers=usable_cores(), progress=progress, overwrite=True, **part.options
    )


def _is_from(dataset: Dataset, data: Path) -> bool:
    """Whether a dataset was made of files in a folder."""
    return Path(dataset.source.get("pairs", "")).resolve().parent == data.resolve()
