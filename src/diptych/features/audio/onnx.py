"""An audio encoder in an ONNX file, or in a folder as Optimum exports it, that takes the samples of a sound."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.features.audio import check_sound
from diptych.features.encoder_files import (
    FLOATS,
    INTEGERS,
    EncoderFolder,
    GraphExtractor,
    choose_output,
    describe_inputs,
    graph_hash,
    open_graph,
)
from diptych.features.text.passages import unit
from diptych.media.spectrogram import RATE

CONFIG = "preprocessor_config.json"
_OUTPUTS = ("audio_embeds", "audio_embedding", "embeddings", "pooler_output", "last_hidden_state")
_USUAL_SECONDS = 1.0
_LEAST_VARIANCE = 1e-7


@stateful
@dataclass(frozen=True)
class SampleInput:
    """How the samples of a sound enter a graph.

    Attributes:
        name: what the graph calls the input.
        axes: 1 for samples alone, 2 for a batch of them, 3 with an axis for channels in between.
        length: how many samples it takes, 0 for any number; longer sounds are cut, shorter ones filled with silence.
        dtype: "float32" or "float16".
        rate: samples a second that the encoder was trained on.
        normalise: whether each sound is brought to the mean 0 and the variance 1.
    """

    name: str
    axes: int
    length: int
    dtype: str
    rate: int
    normalise: bool

    def arrange(self, sound: Singles) -> Singles:
        """The samples of one sound as the graph takes them."""
        from diptych.media.audio import resample

        samples = sound if self.rate == RATE else resample(sound, RATE, self.rate)
        if self.length:
            samples = np.pad(samples[: self.length], (0, max(0, self.length - len(samples))))
        if self.normalise:
            samples = (samples - samples.mean()) / np.sqrt(samples.var() + _LEAST_VARIANCE)
        return np.asarray(samples.reshape((1,) * (self.axes - 1) + (-1,)), dtype=self.dtype)


@stateful
@dataclass(frozen=True)
class FolderAudioExtractor(GraphExtractor):
    """An exported audio encoder, and how sounds enter it.

    Attributes:
        sample_input: how samples enter it.
    """

    sample_input: SampleInput

    media_type: ClassVar[str] = "audio"

    def __call__(self, items: Sequence[Singles]) -> Singles:
        """One row of length one for each sound, one at a time: sounds have different lengths."""
        session = self.open()
        rows = np.empty((len(items), self.dimension), dtype=np.float32)
        for row, item in zip(rows, items, strict=True):
            row[:] = encode_sound(session, self.sample_input, self.output, check_sound(item))
        return unit(rows)


@dataclass(frozen=True)
class OnnxAudio:
    """An audio encoder that somebody trained and exported: rows are its embeddings at length one.

    It takes samples, not spectrograms, whose making differs from one encoder to the next: export an encoder with its
    own front end. An output with an axis for time is averaged over it. Nothing is learned from items.

    Attributes:
        path: the ONNX file, or a folder with `audio_model.onnx` or `model.onnx` and, where the rate is another than
            16,000, a `preprocessor_config.json` with `sampling_rate` (and `do_normalize`).
        rate: samples a second, for a file without that configuration.
        output: which output to read; the embedding if not given.
    """

    path: str
    rate: int | None = None
    output: str | None = field(default=None)

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[Singles], *, seed: int = 0, progress: Progress = silent) -> FolderAudioExtractor:
        """Read the graph and send a second of silence through it to learn a row's length; no item is read.

        Raises:
            ConfigError: when the graph does not take samples, or an option does not fit; the message names it.
            DataError: when a file cannot be read.
        """
        graph, config = self._files()
        rate = self.rate or config.get("sampling_rate") or RATE
        if not isinstance(rate, int) or not 1_000 <= rate <= 192_000:
            raise ConfigError(f"{graph}: the sampling rate is {rate!r}; give one from 1,000 to 192,000 by ',rate=N'.")
        sha256 = graph_hash(graph)
        session = open_graph(graph, sha256)
        sample_input = _sample_input(session, graph, rate, normalise=config.get("do_normalize") is True)
        output = choose_output(session, graph, self.output, _OUTPUTS)
        silence = np.zeros(int(_USUAL_SECONDS * RATE), dtype=np.float32)
        row = encode_sound(session, sample_input, output, silence)
        return FolderAudioExtractor(str(graph.resolve()), sha256, output, len(row), sample_input)

    def _files(self) -> tuple[Path, dict[str, Any]]:
        if not Path(self.path).is_dir():
            return Path(self.path), {}
        folder = EncoderFolder.at(self.path)
        return folder.graph("audio"), folder.json(CONFIG) or {}


def encode_sound(session: Any, sample_input: SampleInput, output: str, sound: Singles) -> Singles:  # noqa: ANN401
    """Run a graph on one sound; masks are filled with ones, for all of the sound counts."""
    samples = sample_input.arrange(sound)
    inputs: dict[str, Any] = {sample_input.name: samples}
    for other in session.get_inputs():
        if other.name != sample_input.name:
            inputs[other.name] = np.ones((1, samples.shape[-1])[-len(other.shape) :], dtype=INTEGERS[other.type])
    (found,) = session.run([output], inputs)
    rows = np.asarray(found, dtype=np.float32)
    rows = rows.reshape(-1, rows.shape[-1]) if rows.ndim else rows.reshape(1, 1)
    return np.asarray(rows.mean(axis=0), dtype=np.float32)


def _sample_input(session: Any, graph: Path, rate: int, *, normalise: bool) -> SampleInput:  # noqa: ANN401
    inputs = session.get_inputs()
    taking = [each for each in inputs if each.type in FLOATS]
    others = [each for each in inputs if each not in taking]
    fitting = len(taking) == 1 and all(each.type in INTEGERS and len(each.shape) <= 2 for each in others)
    if not fitting or not _takes_samples(taking[0].shape):
        raise ConfigError(
            f"{graph} should take the samples of a sound ([samples], [batch, samples] or [batch, 1, samples]) and at "
            f"most a mask beside; it takes {describe_inputs(session)}. Export it together with its front end."
        )
    (found,) = taking
    length = found.shape[-1] if isinstance(found.shape[-1], int) else 0
    return SampleInput(found.name, len(found.shape), length, FLOATS[found.type], rate, normalise)


def _takes_samples(shape: Sequence[Any]) -> bool:
    """Whether an input's axes can be a batch, one channel and samples: at least a tenth of a second of them."""
    before = all(not isinstance(axis, int) or axis == 1 for axis in shape[:-1])
    enough = not isinstance(shape[-1], int) or shape[-1] >= RATE // 10 if shape else False
    named_channels = len(shape) < 3 or shape[1] == 1
    return 1 <= len(shape) <= 3 and before and enough and named_channels
