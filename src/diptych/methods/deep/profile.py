"""How wide and how long deep methods train: the profiles, and the sizes of CDMLMR's network.

The published settings of every stage stand in `PUBLISHED`, with their sources in docs/explanation/methods/deep.md. A
profile says how many steps each stage takes and how wide its layers are; rates and momenta then shrink with the number
of steps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from diptych._core.errors import ConfigError
from diptych.training import Constant, Exponential, InverseT, LoopSettings, Ramp

_TEN_THOUSAND_RAMP = Ramp(0.5, 0.9, 10_000)

PUBLISHED: Mapping[str, LoopSettings] = {
    "gaussian-rbm": LoopSettings(100_000, 128, "sgd", InverseT(0.001), _TEN_THOUSAND_RAMP, weight_decay=1e-3),
    "rbm-over-gaussian": LoopSettings(200_000, 128, "sgd", InverseT(0.05), _TEN_THOUSAND_RAMP, weight_decay=1e-3),
    "replicated-softmax": LoopSettings(100_000, 128, "sgd", InverseT(0.1), Ramp(0.5, 0.9, 5_000), weight_decay=1e-4),
    "rbm-over-softmax": LoopSettings(200_000, 128, "sgd", InverseT(0.01), _TEN_THOUSAND_RAMP, weight_decay=1e-3),
    "joint-rbm": LoopSettings(200_000, 128, "sgd", InverseT(0.01), Ramp(0.5, 0.9, 5_000), weight_decay=1e-4),
    "fusion-rbm": LoopSettings(100_000, 115, "sgd", InverseT(0.01), Ramp(0.5, 0.9, 5_000), weight_decay=1e-4),
    "boltzmann-machine": LoopSettings(20_000, 128, "sgd", InverseT(0.001), Ramp(0.5, 0.9, 5_000), weight_decay=1e-4),
    "supervised": LoopSettings(50_000, 100, "sgd", Exponential(0.01), Constant(0.9), weight_decay=1e-3),
    "bimodal-first": LoopSettings(2_000, 231, "sgd", InverseT(0.05), _TEN_THOUSAND_RAMP, weight_decay=1e-4),
    "bimodal": LoopSettings(20_000, 200, "sgd", InverseT(0.05), _TEN_THOUSAND_RAMP, weight_decay=1e-4),
    "correspondence": LoopSettings(20_000, 200, "sgd", InverseT(0.05), _TEN_THOUSAND_RAMP, weight_decay=1e-4),
    "correspondence-cross": LoopSettings(20_000, 200, "sgd", InverseT(0.01), _TEN_THOUSAND_RAMP, weight_decay=1e-4),
    "autoencoder": LoopSettings(100_000, 115, "sgd", Constant(0.1), Ramp(0.5, 0.9, 50_000), weight_decay=1e-3),
    "autoencoder-deep": LoopSettings(100_000, 115, "sgd", InverseT(0.01), _TEN_THOUSAND_RAMP, weight_decay=1e-4),
    "metric": LoopSettings(5_000, 100, "sgd", Constant(0.001), Constant(0.9), weight_decay=0.004, decay_biases=True),
    "deep-cca": LoopSettings(10_000, 800, "adam", Constant(0.001), Constant(0.9), weight_decay=1e-5),
}

SPARSITY: Mapping[str, tuple[float, float]] = {
    "gaussian-rbm": (0.2, 0.1),
    "rbm-over-gaussian": (0.1, 0.01),
    "replicated-softmax": (0.2, 0.01),
    "rbm-over-softmax": (0.1, 0.01),
}
"""Target activity of the hidden units and the cost of missing it."""

CD_STEP_UP: Mapping[str, tuple[int, int]] = {
    "gaussian-rbm": (50_000, 10_000),
    "rbm-over-gaussian": (15_000, 5_000),
    "replicated-softmax": (15_000, 5_000),
    "rbm-over-softmax": (15_000, 5_000),
    "joint-rbm": (15_000, 5_000),
}
"""When the order of contrastive divergence begins to grow in the `paper` profile, and how often."""


@dataclass(frozen=True)
class Profile:
    """A complete set of options.

    Attributes:
        name: what users call it.
        steps: training steps by stage; a stage that is not named takes the published number.
        dense_widths: the two layers of a DBN over dense rows.
        count_widths: the two layers of a DBN over counts.
        width_per_column: the first layer is no wider than this many units per input column (at least 128).
        joint_width: the joint layer of the multimodal machines.
        supervised_width: each of the three layers of the supervised net.
        supervised_dropout: share of its hidden units dropped in training.
        pathway_width: each layer of the multi-task network's pathways and branches.
        embedding_width: embeddings of the bimodal and correspondence autoencoders used as baselines.
        validations: how often a stage that keeps its best weights is scored on validation.
        patience: validations without improvement after which such a stage stops.
        cd_step_up: whether contrastive divergence grows its order as published, or stays at one.
    """

    name: str
    steps: Mapping[str, int] = field(default_factory=dict)
    dense_widths: tuple[int, int] = (2048, 1024)
    count_widths: tuple[int, int] = (1024, 1024)
    width_per_column: int | None = None
    joint_width: int = 2048
    supervised_width: int = 1024
    supervised_dropout: float = 0.0
    pathway_width: int = 256
    embedding_width: int = 1024
    validations: int = 20
    patience: int | None = None
    cd_step_up: bool = False

    def settings(self, stage: str, seed: int) -> LoopSettings:
        """The training settings of a stage."""
        published = PUBLISHED[stage]
        steps = self.steps.get(stage, published.steps)
        shorter = steps < published.steps
        return replace(
            published,
            steps=steps,
            rate=published.rate.scaled_to(steps) if shorter else published.rate,
            momentum=published.momentum.scaled_to(steps) if shorter else published.momentum,
            validate_every=max(1, steps // self.validations),
            patience=self.patience,
            seed=seed,
        )

    def dbn_widths(self, kind: str, columns: int) -> tuple[int, int]:
        """The two layers of a DBN over rows of a kind and width."""
        first, second = self.count_widths if kind == "counts" else self.dense_widths
        if self.width_per_column is not None:
            first = min(first, max(128, self.width_per_column * columns))
        return first, second


def _steps(rbm: int, supervised: int, bimodal_first: int, autoencoder: int) -> dict[str, int]:
    rbms = ("gaussian-rbm", "rbm-over-gaussian", "replicated-softmax", "rbm-over-softmax", "joint-rbm", "fusion-rbm")
    coders = ("bimodal", "correspondence", "correspondence-cross", "autoencoder", "autoencoder-deep")
    return (
        dict.fromkeys(rbms, rbm)
        | dict.fromkeys(coders, autoencoder)
        | {"supervised": supervised, "bimodal-first": bimodal_first, "boltzmann-machine": rbm // 5}
        | {"deep-cca": max(autoencoder // 4, 50)}
    )


PROFILES: Mapping[str, Profile] = {
    "paper": Profile("paper", cd_step_up=True),
    "standard": Profile(
        "standard",
        steps=_steps(rbm=2_000, supervised=2_000, bimodal_first=2_000, autoencoder=2_000),
        dense_widths=(1024, 512),
        count_widths=(512, 512),
        width_per_column=4,
        joint_width=512,
        supervised_width=512,
        supervised_dropout=0.5,
        embedding_width=256,
        patience=6,
    ),
    "fast": Profile(
        "fast",
        # A fifth of the others' published rate takes more steps to get anywhere.
        steps=_steps(rbm=600, supervised=200, bimodal_first=300, autoencoder=1_000)
        | {"correspondence-cross": 3_000, "metric": 600},
        dense_widths=(128, 64),
        count_widths=(128, 64),
        width_per_column=4,
        joint_width=64,
        supervised_width=64,
        pathway_width=64,
        embedding_width=32,
        validations=4,
        patience=3,
    ),
}


def profile(name: str) -> Profile:
    """The profile of that name."""
    if name not in PROFILES:
        raise ConfigError(f"profile is {name!r}; choose one of {', '.join(PROFILES)}.")
    return PROFILES[name]


WIDE_COLUMNS = 256
"""Columns from which on a modality is called wide, and gets wider layers."""

MANY_ROWS_PER_COLUMN = 20
"""Rows for each column of narrow features from which on no column is dropped and no rows are blended."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of CDMLMR's network, as `sizes_for` decides them.

    Attributes:
        members: networks trained side by side.
        width: of the hidden layers, of S and of the branches.
        dbn_widths: of the two machines.
        dense_steps: of a machine over dense rows or over another machine.
        count_steps: of a machine over counts, which learns more slowly.
        batch_size: labelled documents in a batch.
        steps: of the network.
        input_dropout: share of the features dropped.
        dropout: share of the supervised nets' units dropped.
        mixup: parameter of the Beta distribution.
        weight_decay: of AdamW.
    """

    members: int
    width: int
    dbn_widths: tuple[int, int]
    dense_steps: int
    count_steps: int
    batch_size: int
    steps: int
    input_dropout: float
    dropout: float
    mixup: float
    weight_decay: float


def sizes_for(rows: int, columns: Iterable[int]) -> Sizes:
    """The sizes of CDMLMR's network for so many labelled documents, and features of so many columns in each modality.

    The rule was made on four data sets and subsets of them from 300 to 7,369 rows; docs/explanation/methods/cdmlmr.md
    shows the curve. The fewer rows there are beside the columns, the more is dropped, blended and decayed; narrow
    features with many rows are read as they are, because each of few columns says what no other does, and for longer,
    because validation then still rises after 240 steps. The fewer rows there are at all, the smaller the batches, so
    that there are enough steps; members are as many as time allows.

    >>> sizes_for(7_369, (1_280, 1_000)).members, sizes_for(2_173, (128, 10)).members
    (2, 5)
    """
    widest = max(columns)
    scarce, wide = rows < 2 * widest, widest >= WIDE_COLUMNS
    ample = not wide and rows >= MANY_ROWS_PER_COLUMN * widest
    batch = 256 if rows >= 4_000 else 128 if rows >= 600 else 64
    return Sizes(
        members=2 if wide else 5,
        width=256 if wide else 128,
        dbn_widths=(256, 128) if rows >= 4_000 else (128, 64),
        dense_steps=200,
        count_steps=500,
        batch_size=batch,
        steps=min(2_000, max(480 if ample else 240, round(10 * rows / batch))),
        input_dropout=0.5 if 2 * rows < widest else 0.4 if scarce else 0.0 if ample else 0.2,
        dropout=0.1 if ample else 0.3,
        mixup=1.0 if scarce else 0.0 if ample else 0.4,
        weight_decay=0.3 if scarce else 0.01,
    )


FAST = Sizes(
    members=2,
    width=48,
    dbn_widths=(48, 32),
    dense_steps=100,
    count_steps=200,
    batch_size=64,
    steps=120,
    input_dropout=0.1,
    dropout=0.1,
    mixup=0.4,
    weight_decay=0.01,
)
"""A small network for tests and glimpses."""
