"""`diptych embed-file`: the codes of new pictures and texts under a saved model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.files import write_json, write_npy
from diptych.cli.options import AsJson, ModelFolder, PurposeOption
from diptych.methods import Method
from diptych.methods.model_folder import load_model

_TEXT_ENDINGS = (".txt", ".text", ".md")
_SHOWN_NUMBERS = 4


@dataclass(frozen=True)
class _Asked:
    """One item to embed: what to call it, its modality, and the path or the text."""

    name: str
    modality: str
    raw: str


def embed_file(
    model: ModelFolder,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE…", help="Pictures and text files.")] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="A text itself; once for each.")] = None,
    modality: Annotated[
        str | None, typer.Option("--modality", help="What the files are, where their endings do not tell.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="E.npy", help="Where to write; names go to E.ids.json.")
    ] = None,
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed pictures and texts that are in no dataset, by the road the model's own took."""
    if out is not None and out.suffix != ".npy":
        raise ConfigError(f"{out} does not end in .npy; name a file such as codes.npy.")
    fitted = load_model(model)
    asked = [_from_file(fitted, path, modality) for path in files or []]
    asked += [_Asked(words, modality or _of_medium(fitted, "text"), words) for words in text or []]
    if not asked:
        raise ConfigError("there is nothing to embed; give files, or texts with --text.")
    codes = np.concatenate([fitted.embed_raw(one.modality, [one.raw], purpose) for one in asked])
    if out is not None:
        _write(out, codes, asked)
    if as_json:
        rows = zip(asked, codes.tolist(), strict=True)
        found = [{"item": one.name, "modality": one.modality, "code": code} for one, code in rows]
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif out is None:
        for one, code in zip(asked, codes, strict=True):
            shown = ", ".join(f"{number:.4g}" for number in code[:_SHOWN_NUMBERS])
            more = ", …" if len(code) > _SHOWN_NUMBERS else ""
            typer.echo(f"{one.name}: {one.modality}, {len(code)} dimensions [{shown}{more}]")


def _from_file(fitted: Method, path: Path, modality: str | None) -> _Asked:
    guessed = "text" if path.suffix.lower() in _TEXT_ENDINGS else "image"
    chosen = modality or _of_medium(fitted, guessed)
    if fitted.pipeline.of(chosen).medium != "text":
        return _Asked(str(path), chosen, str(path))
    try:
        return _Asked(str(path), chosen, path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a text file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from None


def _of_medium(fitted: Method, medium: str) -> str:
    """The model's modality of a medium."""
    fitting = [name for name in fitted.modalities if fitted.pipeline.of(name).medium == medium]
    if len(fitting) != 1:
        known = ", ".join(fitted.modalities)
        raise ConfigError(f"the model has {len(fitting)} modalities of {medium} ({known}); name one with --modality.")
    return fitting[0]


def _write(out: Path, codes: Singles, asked: list[_Asked]) -> None:
    try:
        items, dimensions = write_npy(out, [codes], len(codes))
        write_json(out.with_suffix(".ids.json"), [one.name for one in asked])
    except OSError as error:
        raise DataError(f"{out} cannot be written ({error.strerror}); choose another place.") from None
    typer.echo(f"{items} items, {dimensions} dimensions: {out}, names: {out.with_suffix('.ids.json')}", err=True)
