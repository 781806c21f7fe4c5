"""The workshop of one fit: what every stage shares, and the one way a stage is trained."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from diptych._core.arrays import Singles
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import TrainingData
from diptych.methods.deep.layers import DenseLayer
from diptych.methods.deep.profile import Profile
from diptych.training import LoopSettings, Objective, StageCache, TrainedStage, pick_device, train_cached
from diptych.training.cache import Input
from diptych.training.loop import Validate


class CountedObjective(Objective[Any], Protocol):
    """An objective that knows how many rows it holds."""

    def __len__(self) -> int:
        """The number of training rows."""
        ...


@dataclass
class Workshop:
    """What the stages of one fit share.

    Attributes:
        data: what the protocol lets through.
        profile: widths and steps.
        seed: of the weights, the batches and the sampling.
        cache: trained stages found again by content.
        progress: told how far each stage is.
        device: where training runs.
        log: what happened in each stage, for the model's record.
    """

    data: TrainingData
    profile: Profile
    seed: int
    cache: StageCache
    progress: Progress = silent
    device: str = "auto"
    log: list[dict[str, Any]] = field(default_factory=list)

    def random(self, *purpose: str) -> torch.Generator:
        """A torch generator for the weights of a stage."""
        source = torch.Generator()
        source.manual_seed(int(generator(self.seed, "weights", *purpose).integers(2**62)))
        return source

    def tensor(self, values: np.ndarray) -> torch.Tensor:
        """Rows or labels where training runs: the loop asks for them by numbers that are there too."""
        return torch.from_numpy(values).to(pick_device(self.device))

    def settings(self, stage: str) -> LoopSettings:
        """The profile's settings of a kind of stage."""
        board = os.environ.get("DIPTYCH_TENSORBOARD", "") not in ("", "0")
        return replace(self.profile.settings(stage, self.seed), device=self.device, tensorboard=board)

    def train(
        self,
        name: str,
        objective: CountedObjective,
        settings: LoopSettings,
        *,
        inputs: Mapping[str, Input],
        options: Mapping[str, Any] | None = None,
        upstream: Sequence[str] = (),
        batches: Callable[[int], Any] | None = None,
        validate: Validate | None = None,
    ) -> TrainedStage:
        """Train a stage, or take it from the cache, and note how it went.

        Batches are row numbers, shuffled anew each epoch, unless `batches` gives them by step. Without validation a
        stage trains all its steps: `patience` would have nothing to watch.
        """
        trained = train_cached(
            self.cache,
            name,
            objective,
            settings if validate is not None else replace(settings, patience=None),
            inputs=inputs,
            options=options or {},
            upstream=upstream,
            batches=batches,
            count=len(objective) if batches is None else None,
            validate=validate,
            progress=self.progress,
        )
        objective.module.to("cpu")
        history = trained.history
        self.log.append(
            {
                "stage": name,
                "key": trained.key,
                "seconds": trained.seconds,
                "from_cache": trained.from_cache,
                "steps": history.steps,
                "best_step": history.best_step,
                "best_score": history.best_score,
                "last": {
                    key: value for key, value in (history.rows[-1] if history.rows else {}).items() if value == value
                },
            }
        )
        return trained


def frozen(tensor: torch.Tensor) -> Singles:
    """A trained tensor as a NumPy array of its own."""
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32)


def frozen_layer(layer: nn.Module, activation: str, bias: torch.Tensor | None = None) -> DenseLayer:
    """A trained linear layer, with its own bias or another, as a frozen one."""
    assert isinstance(layer, nn.Linear)
    return DenseLayer(frozen(layer.weight).T.copy(), frozen(layer.bias if bias is None else bias), activation)
