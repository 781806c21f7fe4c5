"""Write a model's pipeline without torch: image encoders become ONNX graphs beside it, machine paths are dropped."""

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych.export.onnx_files import ENCODER_TOLERANCE, Check, check_images
from diptych.features import Pipeline
from diptych.features.encoder_files import weights_beside
from diptych.features.pipeline import FittedModality, changed_inside, save_pipeline
from diptych.methods import Method


@dataclass
class EncoderExport:
    """What became of a pipeline's encoders.

    Attributes:
        fingerprint: of the pipeline that was written; None where there was none to write.
        checks: of each encoder that became a graph, by its name.
        needs_torch: modalities that cannot do without torch, and why.
    """

    fingerprint: str | None = None
    checks: dict[str, Check] = field(default_factory=dict)
    needs_torch: dict[str, str] = field(default_factory=dict)


def export_pipeline(pipeline: Pipeline, folder: Path, progress: Progress = silent) -> EncoderExport:
    """Write a pipeline whose encoders are graphs in its own folder.

    Raises:
        DataError: when an encoder's graph does not give the encoder's rows.
    """
    done = EncoderExport()
    files = folder.with_name(f".{folder.name}-encoders")  # saving a pipeline begins with an empty folder
    files.mkdir()
    parts: dict[str, FittedModality] = {}
    for modality, part in pipeline.modalities.items():
        progress("exporting encoders", len(parts), len(pipeline.modalities))
        carried = changed_inside(part, _Exporter(modality, files, done))
        parts[modality] = replace(carried, features=without_folders(part.features))
    exported = Pipeline(parts)
    save_pipeline(exported, folder)
    for file in files.iterdir():
        file.rename(folder / file.name)
    files.rmdir()
    done.fingerprint = exported.fingerprint
    return done


@dataclass
class _Exporter:
    """Puts an extractor that needs no torch in the place of one that does; others stay as they are."""

    modality: str
    files: Path
    done: EncoderExport

    def __call__(self, part: Any) -> Any:  # noqa: ANN401 - any dataclass of a pipeline
        match type(part).__name__:  # by name, for a pipeline of texts needs nothing of what these modules import
            case "CnnEncoder":
                return self._network(part)
            case "OnnxExtractor" | "FolderImageExtractor":
                return replace(part, path=self._copied(part.path, part.sha256))
            case "FolderTextExtractor":
                rule = replace(part.rule, path=self._copied(part.rule.path, part.rule.sha256))
                return replace(part, path=self._copied(part.path, part.sha256), rule=rule)
            case "SentenceExtractor":
                why = f"the sentence encoder is the package {part.package}, which runs on torch"
                self.done.needs_torch[self.modality] = why
        return part

    def _copied(self, path: str, sha256: str) -> str:
        """Copy a file beside the pipeline, under a name no other file has."""
        source = Path(path)
        beside = weights_beside(source)
        if beside:
            raise ConfigError(
                f"{source} keeps its weights in a second file, {beside[0].name}, and cannot be exported; "
                "write the encoder as a single file (onnx.save_model(onnx.load(FILE), FILE))."
            )
        name = f"{source.stem}-{sha256[:12]}{source.suffix}"
        shutil.copyfile(source, self.files / name)
        return name

    def _network(self, encoder: Any) -> Any:  # noqa: ANN401
        from diptych.features.image.cnn import write_cnn_graph

        path = self.files / f"{encoder.name}.onnx"
        graph, images = write_cnn_graph(encoder, path), check_images()
        check = Check.of(graph(images), encoder(images), tolerance=ENCODER_TOLERANCE)
        check.require(encoder.name, "the network")
        self.done.checks[encoder.name] = check
        return replace(graph, path=path.name)


OF_THE_MACHINE = ("cache", "device")
"""Parameters that say where a model was fitted, not what was."""


def without_folders(features: str) -> str:
    """Features as a user wrote them; of an encoder's file the name alone.

    >>> without_folders("onnx:/home/me/encoder.onnx+gist")
    'onnx:encoder.onnx+gist'
    """
    parts = [part.partition(":") for part in features.split("+")]
    return "+".join(f"{name}{colon}{Path(argument).name}" for name, colon, argument in parts)


def params_anywhere(model: Method) -> dict[str, Any]:
    """A model's parameters; those that say where it was fitted have their defaults."""
    usual = model.parameter_defaults()
    return {name: usual[name] if name in OF_THE_MACHINE else value for name, value in model.plain_params().items()}
