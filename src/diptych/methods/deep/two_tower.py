"""Two towers under cross-entropy and InfoNCE: a plain reference for the other methods."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError
from diptych.data import Protocol, TrainingData
from diptych.data.modality import BlockKind
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.dbn import CLIP
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen, monitoring, validation_inputs
from diptych.methods.deep.layers import Chain, Clip, DenseLayer, prepare_blocks, run_chain
from diptych.methods.deep.tower_inputs import COUNT_CLIP
from diptych.methods.deep.towers import TwoTowerEmbedder, represented
from diptych.methods.selection import Search, Validation
from diptych.methods.training_inputs import Documents, documents
from diptych.nets.dense import MemberLinear
from diptych.nets.rows import MixedBatches
from diptych.nets.two_tower import TwoTowerNet, TwoTowerObjective, TwoTowerOptions
from diptych.training import Cosine, LoopSettings
from diptych.training.loop import Validate

Representation = Literal["embedding", "posteriors", "both"]
REPRESENTATIONS: tuple[Representation, ...] = ("both", "embedding", "posteriors")
"""What validation chooses from; the first is taken where there is none."""

RATE = 1e-3
WEIGHT_DECAY = 0.01
VALIDATIONS = 6
LABELLED_SHARE = 0.3
"""The least share of labelled documents in a batch, where there are unlabelled pairs."""


@dataclass(frozen=True)
class TowerSizes:
    """How wide the nets are and how long they train.

    Attributes:
        hidden: width of the hidden layers.
        width: of the embedding.
        batch_size: pairs in a batch; fewer where there are fewer.
        epochs: how often every pair is seen.
        least_steps: how many steps there are at least, however few the pairs.
    """

    hidden: int = 512
    width: int = 256
    batch_size: int = 256
    epochs: int = 30
    least_steps: int = 150


SIZES: Mapping[str, TowerSizes] = {
    "fast": TowerSizes(hidden=64, width=32, batch_size=32, least_steps=60),
    "standard": TowerSizes(),
    "paper": TowerSizes(),
}


class TwoTower(DeepMethod):
    """An MLP for each modality and one linear classifier, trained by cross-entropy and by InfoNCE over the pairs.

    L = w_class · Σ_modality cross-entropy + w_contrast · InfoNCE over the pairs of the batch, both ways, temperature τ.

    A simple modern baseline with common settings and nothing tuned; it is not from a paper on retrieval by class. The
    contrastive loss is that of CLIP. Retrieval uses the embeddings, the class probabilities, or both concatenated, each
    part at unit length, compared by cosine; validation chooses, and without it both are used. Unlabelled pairs, if the
    protocol provides them, enter only InfoNCE. Propagated labels are soft targets.

    Args:
        members: number of nets trained in parallel; their embeddings are concatenated, their probabilities averaged.
        temperature: τ.
        contrast_weight: weight of InfoNCE.
        class_weight: weight of the labels; at 0 only the embedding is retrieved.
        dropout: share of the hidden units dropped in training.
        representation: "embedding", "posteriors" or "both"; None to choose on validation.
        epochs: number of epochs; None for 30, or more if that would be fewer than 150 steps.
        profile: "standard", or "fast" for tests; "paper" is the same as "standard".
    """

    uses_labels: ClassVar[bool] = True
    takes_several_labels: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "A. Radford et al. Learning Transferable Visual Models from Natural Language Supervision. ICML 2021."
    )

    def __init__(
        self,
        members: int = 1,
        temperature: float = 0.07,
        contrast_weight: float = 1.0,
        class_weight: float = 1.0,
        dropout: float = 0.5,
        representation: Representation | None = None,
        epochs: int | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.members = members
        self.temperature = temperature
        self.contrast_weight = contrast_weight
        self.class_weight = class_weight
        self.dropout = dropout
        self.representation = representation
        self.epochs = epochs

    def saw(self, protocol: Protocol, data: TrainingData) -> str:
        """What this method's fit reads under a protocol, in a few words."""
        pairs = data.unlabelled_pairs
        used = pairs is not None and len(pairs) > 0 and self.contrast_weight > 0
        return super().saw(protocol, data) + " + unlabelled training pairs" * used

    def _check(self) -> None:
        for name in ("members", "epochs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1.")
        if self.representation is not None and self.representation not in get_args(Representation):
            choices = ", ".join(get_args(Representation))
            raise ConfigError(f"representation is {self.representation!r}; choose one of {choices}.")
        if self.class_weight == 0 and self.representation in ("posteriors", "both"):
            raise ConfigError(
                f"representation is '{self.representation}' but class_weight is 0, so no probabilities are learned; "
                "choose 'embedding' or raise class_weight."
            )
        self._options()

    def _options(self) -> TwoTowerOptions:
        return TwoTowerOptions(self.temperature, self.contrast_weight, self.class_weight, dropout=self.dropout)

    def _choices(self) -> tuple[Representation, ...]:
        if self.representation is not None:
            return (self.representation,)
        return REPRESENTATIONS if self.class_weight > 0 else ("embedding",)

    def _train(self, context: StageContext) -> dict[str, Chain]:
        names = context.data.modalities
        source = documents(context.data, with_pool=self.contrast_weight > 0)
        source = source if source.paired else replace(source, pool={})
        sizes = SIZES[self.profile]
        sizes = sizes if self.epochs is None else replace(sizes, epochs=self.epochs, least_steps=1)
        scalings: dict[str, Chain] = {name: _scaling(context, name) for name in names}
        rows = {name: _training_rows(source, name, chain) for name, chain in scalings.items()}
        net = TwoTowerNet(
            {name: values.shape[1] for name, values in rows.items()},
            len(context.data.classes),
            context.random("two towers"),
            members=self.members,
            hidden=sizes.hidden,
            width=sizes.width,
        )
        tensors = {name: context.tensor(values) for name, values in rows.items()}
        objective = TwoTowerObjective(net, tensors, context.tensor(source.targets), self._options())
        pool = {name: part.shape[0] for name, part in source.pool.items()}
        batches = _batches(len(source.targets), pool, sizes, context.seed)
        validation = Validation.of(context.data)
        held: dict[str, Singles] = {}
        scored: dict[str, Features | str] = {}
        scorer: Validate | None = None
        if validation is not None:
            held = {name: run_chain(chain, validation.rows[name]) for name, chain in scalings.items()}
            scored = validation_inputs(validation, held)
            scorer = _scorer(context, net, validation, held, self._choices())
        settings = _settings(context, sizes, batches)
        trained = context.train(
            "two towers",
            objective,
            settings,
            inputs={**rows, "targets": source.targets, **scored},
            options={**asdict(self._options()), **asdict(sizes), "choices": self._choices()},
            batches=batches,
            validate=scorer,
        )
        embedders = {name: frozen_embedder(net, name) for name in names}
        representation, search = _chosen(embedders, validation, held, self._choices())
        self.record_["selection"] = search.trials
        self.record_["monitoring"] = monitoring(trained.history)
        self.record_["chosen"] = {
            "representation": representation,
            "members": self.members,
            "steps": settings.steps,
            "best_step": trained.history.best_step,
        }
        return {name: (*scalings[name], replace(embedders[name], representation=representation)) for name in names}


def frozen_embedder(net: TwoTowerNet, modality: str) -> TwoTowerEmbedder:
    """What a trained net gives for a modality, without torch."""
    *hidden, last = net.layers(modality)
    towers = [
        (*(_frozen_layer(layer, member, "relu") for layer in hidden), _frozen_layer(last, member, "linear"))
        for member in range(net.members)
    ]
    classifiers = [_frozen_layer(net.classifier, member, "linear") for member in range(net.members)]
    return TwoTowerEmbedder(tuple(towers), tuple(classifiers), REPRESENTATIONS[0])


def _frozen_layer(layer: MemberLinear, member: int, activation: str) -> DenseLayer:
    assert layer.bias is not None
    return DenseLayer(frozen(layer.weight_of(member)), frozen(layer.bias[member]), activation)


def _scorer(
    context: StageContext,
    net: TwoTowerNet,
    validation: Validation,
    rows: Mapping[str, Singles],
    choices: Sequence[Representation],
) -> Validate:
    """The mean MAP of both directions on validation, of the representation that does best now."""
    tensors = {name: context.tensor(values) for name, values in rows.items()}

    def score() -> float:
        parts = {}
        for name, encoded in ((name, net.encode(name, values)) for name, values in tensors.items()):
            probabilities = encoded["classes"].softmax(-1).mean(0)
            parts[name] = list(encoded["embedding"].cpu().numpy()), probabilities.cpu().numpy()
        return max(_score(validation, parts, choice) for choice in choices)

    return score


def _score(validation: Validation, parts: Mapping[str, tuple[list[Singles], Singles]], choice: str) -> float:
    return validation.score({name: represented(*each, choice) for name, each in parts.items()})


def _chosen(
    embedders: Mapping[str, TwoTowerEmbedder],
    validation: Validation | None,
    rows: Mapping[str, Singles],
    choices: Sequence[Representation],
) -> tuple[Representation, Search]:
    """The representation that does best on validation; the first without it."""
    search, best = Search(), choices[0]
    if validation is not None:
        parts = {name: each.parts(rows[name]) for name, each in embedders.items()}
        for choice in choices:
            if search.add({"representation": choice}, _score(validation, parts, choice)):
                best = choice
    return best, search


def _scaling(context: StageContext, name: str) -> Chain:
    def chain(rows: Features, kind: BlockKind) -> Chain:
        return fit_scaling(rows, kind), Clip(COUNT_CLIP if kind == "counts" else CLIP)

    return prepare_blocks(context.data.train.having(name).features(name), context.data.kinds[name], chain)


def _training_rows(source: Documents, name: str, chain: Chain) -> Singles:
    """Scaled rows of the labelled documents, and of the unlabelled ones after them."""
    parts = [source.labelled.features(name), *([source.pool[name]] if name in source.pool else [])]
    return np.concatenate([run_chain(chain, part) for part in parts])


def _batches(labelled: int, pool: Mapping[str, int], sizes: TowerSizes, seed: int) -> MixedBatches:
    unlabelled = max(pool.values(), default=0)
    share = max(LABELLED_SHARE, labelled / (labelled + unlabelled)) if unlabelled else None
    return MixedBatches(labelled, pool, sizes.batch_size, seed, labelled_share=share, paired=unlabelled > 0)


def _settings(context: StageContext, sizes: TowerSizes, batches: MixedBatches) -> LoopSettings:
    pairs = batches.labelled + max(batches.unlabelled.values(), default=0)
    steps = max(sizes.epochs * max(1, pairs // sizes.batch_size), sizes.least_steps)
    every = -(-steps // VALIDATIONS)
    return context.network_settings(steps, sizes.batch_size, Cosine(RATE, steps), WEIGHT_DECAY, every)
