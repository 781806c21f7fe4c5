"""The shell of every deep method: its common parameters, its workshop, and codes by chains of frozen layers."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from diptych.arrays import Features, Singles
from diptych.data import TrainingData
from diptych.methods.base import Method
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.profile import profile
from diptych.methods.deep.workshop import Workshop
from diptych.progress import Progress
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

    @abstractmethod
    def _train(self, shop: Workshop) -> dict[str, Chain]:
        """Train all stages and return each modality's chain."""

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        root = default_cache_root() if self.cache == "auto" else self.cache and Path(self.cache)
        shop = Workshop(data, profile(self.profile), self.seed, StageCache(root or None), progress, self.device)
        self.chains_ = self._train(shop)
        self.record_["stages"] = shop.log
        self.record_["reused_seconds"] = sum(stage["seconds"] for stage in shop.log if stage["from_cache"])

    def _embed(self, modality: str, rows: Features) -> Singles:
        return run_chain(self.chains_[modality], rows)
