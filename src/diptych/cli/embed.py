"""`diptych embed`: the codes of a dataset's items under a saved model."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from diptych.atomic import atomic_file, write_json
from diptych.cli.options import DatasetFolder, ModelFolder, SplitOption
from diptych.data import Dataset
from diptych.errors import ConfigError, DataError
from diptych.methods.model_folder import load_model


def embed(
    model: ModelFolder,
    dataset: DatasetFolder,
    modality: Annotated[str, typer.Option("--modality", help="The modality to embed.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="E.npy", help="Where to write; ids go to E.ids.json.")],
    split: SplitOption = "test",
) -> None:
    """Write the codes of a split's items as a float32 table, and their ids beside it."""
    if out.suffix != ".npy":
        raise ConfigError(f"{out} does not end in .npy; name a file such as codes.npy.")
    part = Dataset.open(dataset).split(split).having(modality)
    if not len(part):
        raise DataError(f"{dataset} has no {split} item with {modality}; choose another split.")
    codes = load_model(model).embed(modality, part.features(modality))
    ids = out.with_suffix(".ids.json")
    try:
        with atomic_file(out) as temporary, temporary.open("wb") as file:
            np.save(file, codes, allow_pickle=False)
        write_json(ids, part.ids.tolist())
    except OSError as error:
        raise DataError(f"{out} cannot be written ({error.strerror}); choose another place.") from None
    typer.echo(f"{codes.shape[0]} items, {codes.shape[1]} dimensions: {out}, ids: {ids}", err=True)
