"""The base class of deep methods, and what the stages of one fit share: data, seed, cache and validation score."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import nn

from diptych._core.arrays import Features, Singles
from diptych._core.errors import FitError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import Partition, TrainingData
from diptych.data.dataset_files import hash_records
from diptych.methods.base import Method
from diptych.methods.deep.layers import Chain, DenseLayer, run_chain
from diptych.methods.deep.profile import Profile, profile
from diptych.methods.selection import Validation
from diptych.methods.training_inputs import training_pairs
from diptych.training import (
    History,
    LoopSettings,
    Objective,
    Schedule,
    StageCache,
    TrainedStage,
    default_cache_root,
    pick_device,
    train_cached,
)
from diptych.training.cache import Input
from diptych.training.loop import Validate


class CountedObjective(Objective[Any], Protocol):
    """An objective with a number of rows."""

    def __len__(self) -> int:
        """The number of training rows."""
        ...


@dataclass
class StageContext:
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
        settings = self.profile.settings(stage, self.seed)
        return replace(settings, device=self.device, tensorboard=_wants_tensorboard())

    def network_settings(
        self, steps: int, batch_size: int, rate: Schedule, weight_decay: float, validate_every: int
    ) -> LoopSettings:
        """Settings of a network that is trained end to end by AdamW, whatever the profile."""
        return LoopSettings(
            steps=steps,
            batch_size=batch_size,
            optimizer="adamw",
            rate=rate,
            weight_decay=weight_decay,
            decay_biases=True,
            validate_every=validate_every,
            log_every=max(1, steps // 20),
            checkpoint_every=max(1, steps // 2),
            seed=self.seed,
            device=self.device,
            tensorboard=_wants_tensorboard(),
        )

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


def _wants_tensorboard() -> bool:
    return os.environ.get("DIPTYCH_TENSORBOARD", "") not in ("", "0")


def frozen(tensor: torch.Tensor) -> Singles:
    """A trained tensor as a NumPy array of its own."""
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32)


def frozen_layer(layer: nn.Module, activation: str, bias: torch.Tensor | None = None) -> DenseLayer:
    """A trained linear layer, with its own bias or another, as a frozen one."""
    assert isinstance(layer, nn.Linear)
    return DenseLayer(frozen(layer.weight).T.copy(), frozen(layer.bias if bias is None else bias), activation)


EmbedFunction = Callable[[str, torch.Tensor], torch.Tensor]
"""From a modality and its rows to embeddings, as `embed` of the autoencoders."""


class ValidationScorer:
    """The mean MAP over both directions on validation, of the embeddings a network gives now.

    Attributes:
        inputs: what the score depends on, for the stage's key.
    """

    def __init__(
        self, context: StageContext, validation: Validation, rows: Mapping[str, Singles], embed: EmbedFunction
    ) -> None:
        self.validation = validation
        self.embed = embed
        self.inputs = validation_inputs(validation, rows)
        self._rows = {name: context.tensor(value) for name, value in rows.items()}

    def __call__(self) -> float:
        """Score the network as it is."""
        embeddings = {name: self.embed(name, rows).detach().cpu().numpy() for name, rows in self._rows.items()}
        return self.validation.score(embeddings)


def validation_scorer(
    context: StageContext, chains: Mapping[str, Chain], embed: EmbedFunction
) -> ValidationScorer | None:
    """The score on the validation split, of a network that reads the chains' embeddings; None without validation."""
    validation = Validation.of(context.data)
    if validation is None:
        return None
    rows = {name: run_chain(chain, validation.rows[name]) for name, chain in chains.items()}
    return ValidationScorer(context, validation, rows, embed)


def validation_inputs(validation: Validation, rows: Mapping[str, Features]) -> dict[str, Features | str]:
    """What a validation score depends on, for a stage's key: rows, labels, and how many results count."""
    labels = [[*part.matrix.indices.tolist(), *part.matrix.indptr.tolist()] for part in validation.labels.values()]
    key = hash_records([validation.k, labels])
    return {**{f"validation {name}": values for name, values in rows.items()}, "validation labels": key}


def monitoring(history: History) -> Mapping[str, Any]:
    """The monitoring of a network's training, for the model's record; a figure that was not a number is None."""
    content = history.to_json()
    return {name: content[name] for name in ("rows", "validations", "steps", "best_step", "best_score")}


class DeepMethod(Method):
    """A method that trains in stages and ends in one chain of frozen layers per modality.

    Args:
        profile: "fast", "standard" or "paper": widths and steps of every stage.
        seed: of weights, batches and sampling.
        device: "auto", "cpu", "cuda" or "mps".
        cache: folder of trained stages; "auto" for the user's cache folder, None to keep nothing.

    Attributes:
        takes_several_labels: whether an item may carry more than one label.
    """

    stochastic: ClassVar[bool] = True
    takes_several_labels: ClassVar[bool] = False

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
            _check_labels(data, pairs, several=self.takes_several_labels and self.profile != "paper")
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


def _check_labels(data: TrainingData, pairs: Partition, *, several: bool) -> None:
    """Refuse what a supervised stage would refuse later, after hours of unsupervised ones."""
    if not len(pairs.labelled()):
        raise FitError("no training pair has a label, and this method learns from labelled pairs.")
    for name in data.modalities:
        if not pairs.labelled().has(name).any():
            raise FitError(
                f"no labelled training item has '{name}' beside another modality; label some, or leave it out."
            )
    for part in (data.train, data.validation):
        if part is not None and not (several or part.labels.is_single):
            raise FitError(
                "an item carries several labels, and this method needs exactly one; use a method that takes several "
                "(see `diptych methods`) or keep one label per item."
            )
