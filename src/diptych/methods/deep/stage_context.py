"""What the stages of one fit share: data, profile, seed and cache, how a stage is trained, and its validation score."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from diptych._core.arrays import Features, Singles
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import Partition, TrainingData
from diptych.data.dataset_files import hash_records
from diptych.methods.deep.layers import Chain, DenseLayer, run_chain
from diptych.methods.deep.profile import Profile
from diptych.methods.selection import Validation
from diptych.training import History, LoopSettings, Objective, StageCache, TrainedStage, pick_device, train_cached
from diptych.training.cache import Input
from diptych.training.loop import Validate


class CountedObjective(Objective[Any], Protocol):
    """An objective that knows how many rows it holds."""

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


@dataclass(frozen=True)
class Documents:
    """What the network learns from.

    Attributes:
        labelled: the training items that have every modality and a label.
        targets: their class probabilities, one-hot where labels are certain.
        pool: unlabelled rows of each modality; empty where the protocol has none.
        paired: whether row p of every pool is of one document.
    """

    labelled: Partition
    targets: Singles
    pool: Mapping[str, Features]
    paired: bool


def documents(context: StageContext, *, with_pool: bool) -> Documents:
    """Take what the protocol lets through."""
    data = context.data
    pairs = data.train.having(*data.modalities)
    labelled = pairs.labelled()
    if data.soft_labels is not None:
        chosen = np.isin(data.train.index, labelled.index)
        targets = np.asarray(data.soft_labels[chosen], dtype=np.float32)
    else:
        targets = np.eye(len(data.classes), dtype=np.float32)[labelled.labels.codes]
    paired = with_pool and data.unlabelled_pairs is not None and len(data.unlabelled_pairs) > 0
    pool: dict[str, Features] = {}
    if paired and data.unlabelled_pairs is not None:
        pool = {name: data.unlabelled_pairs.features(name) for name in data.modalities}
    elif with_pool:
        pool = {name: rows for name, rows in data.pools.items() if rows.shape[0]}
    return Documents(labelled, targets, pool if len(pool) == len(data.modalities) else {}, paired)


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
        self.inputs: dict[str, np.ndarray | str] = {f"validation {name}": value for name, value in rows.items()}
        self.inputs["validation labels"] = labels_key(validation)
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


def labels_key(validation: Validation) -> str:
    """A hash of what a score depends on beside the rows: the labels, and how many results count."""
    labels = [[*part.matrix.indices.tolist(), *part.matrix.indptr.tolist()] for part in validation.labels.values()]
    return hash_records([validation.k, labels])


def monitoring(history: History) -> Mapping[str, Any]:
    """What was watched while a network trained, for the model's record; a figure that was not a number is None."""
    content = history.to_json()
    return {name: content[name] for name in ("rows", "validations", "steps", "best_step", "best_score")}
