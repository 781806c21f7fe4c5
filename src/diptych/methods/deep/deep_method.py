"""The base class of every deep method: common parameters, stages, and embeddings by chains of frozen layers."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from torch import nn

from diptych._core.arrays import Features, Singles
from diptych._core.errors import FitError
from diptych._core.progress import Progress
from diptych.data import Partition, TrainingData
from diptych.methods.base import Method
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.profile import profile
from diptych.methods.deep.stage_context import StageContext
from diptych.methods.training_inputs import training_pairs
from diptych.training import StageCache, default_cache_root


class DeepMethod(Method):
    """A method that trains in stages and ends in one chain of frozen layers per modality.

    Args:
        profile: "fast", "standard" or "paper": widths and steps of every stage.
        seed: of weights, batches and sampling.
        device: "auto", "cpu", "cuda" or "mps".
        cache: folder of trained stages; "auto" for the user's cache folder, None to keep nothing.
    """

    stochastic: ClassVar[bool] = True

    def __init__(
        self, profile: str = "standard", seed: int = 0, device: str = "auto", cache: str | None = "auto"
    ) -> None:
        self.profile = profile
        self.seed = seed
        self.device = device
        self.cache = cache

    def _check(self) -> None:
        """Refuse parameters out of range, before anything is trained."""

    @abstractmethod
    def _train(self, context: StageContext) -> dict[str, Chain]:
        """Train all stages and return each modality's chain."""

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        self._check()
        _check_names(data)
        pairs = training_pairs(data)
        if self.uses_labels and not (self.works_without_labels and not data.train.labels.is_labelled.any()):
            _check_labels(data, pairs)
        root = default_cache_root() if self.cache == "auto" else self.cache and Path(self.cache)
        context = StageContext(data, profile(self.profile), self.seed, StageCache(root or None), progress, self.device)
        self.chains_ = self._train(context)
        self.record_["stages"] = context.log
        self.record_["reused_seconds"] = sum(stage["seconds"] for stage in context.log if stage["from_cache"])

    def _embed(self, modality: str, rows: Features) -> Singles:
        return run_chain(self.chains_[modality], rows)


def _check_names(data: TrainingData) -> None:
    for name in data.modalities:
        if hasattr(nn.ModuleDict(), name):
            raise FitError(f"a network cannot have a part called '{name}'; give the modality another name.")


def _check_labels(data: TrainingData, pairs: Partition) -> None:
    """Refuse what a supervised stage would refuse later, after hours of unsupervised ones."""
    if not len(pairs.labelled()):
        raise FitError("no training pair has a label, and this method learns from labelled pairs.")
    for part in (data.train, data.validation):
        if part is not None and not part.labels.is_single:
            raise FitError(
                "an item carries several labels, and this method needs exactly one; use a method that takes several "
                "(see `diptych methods`) or keep one label per item."
            )
