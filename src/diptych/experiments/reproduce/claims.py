"""The claims of the paper in a form that rules can judge, and the evidence that the rules need."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Final

from diptych._core.arrays import Floats
from diptych.experiments.reproduce.studies import Figures, Study, row_of

Step = tuple[str, str]
"""The method that is claimed to be higher, and the one below it."""

FORMULA_TOLERANCE: Final = 0.03
DEEP_TOLERANCE: Final = 0.04
CHANCE_TOLERANCE: Final = 0.015

NOT_DEEP: Final = ("cca-paper", "cfa", "kcca-poly", "kcca-rbf", "jrl")
WITHOUT_LABELS: Final = (
    "cca-paper",
    "cfa",
    "kcca-poly",
    "kcca-rbf",
    "bimodal-ae",
    "multimodal-dbn",
    "corr-full-ae",
)
WITH_LABELS: Final = ("jrl", "cmdn", "cdmlmr")
LEFT_OUT: Final = ("cca", "sm", "scm", "cca3v", "dcca", "multimodal-dbm")


@dataclass(frozen=True)
class OrderClaim:
    """Some methods are above others in the average of both directions.

    Attributes:
        key: a short name.
        text: the claim in words.
        steps: who is above whom; all must hold.
        measure: "map" or "map@50".
    """

    key: str
    text: str
    steps: tuple[Step, ...]
    measure: str = "map"

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method it mentions, once."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step))


@dataclass(frozen=True)
class ChanceClaim:
    """A method's average MAP is no better than a random ranking's, on the paper's own inputs."""

    key: str
    text: str
    method: str
    tolerance: float = CHANCE_TOLERANCE


@dataclass(frozen=True)
class FiguresClaim:
    """Every published figure is reproduced, within a tolerance for each method.

    Attributes:
        key: a short name.
        text: the claim in words.
        published: the figures.
        columns: what the three figures of a triple stand for.
    """

    key: str
    text: str
    published: Figures
    columns: tuple[str, str, str]

    def tolerance(self, method: str) -> float:
        """How far a method's figure may be off; larger for networks, whose training is random."""
        return DEEP_TOLERANCE if row_of(method).deep else FORMULA_TOLERANCE


Claim = OrderClaim | ChanceClaim | FiguresClaim


def falling(*methods: str) -> tuple[Step, ...]:
    """Each method is above the next."""
    return tuple(pairwise(methods))


def above(higher: Sequence[str], lower: Sequence[str]) -> tuple[Step, ...]:
    """Each of the first is above each of the second; a method is not compared with itself."""
    return tuple((one, other) for one, other in product(higher, lower) if one != other)


_RIVALS = (*WITHOUT_LABELS, "jrl", "cmdn")

ORDERS: Final = (
    OrderClaim("best", "CDMLMR is the best method", above(["cdmlmr"], _RIVALS)),
    OrderClaim(
        "best-at-50",
        "CDMLMR is the best method by MAP over the first 50",
        above(["cdmlmr"], _RIVALS),
        measure="map@50",
    ),
    OrderClaim("above-cmdn", "CDMLMR is above CMDN, the best earlier method", falling("cdmlmr", "cmdn")),
    OrderClaim("top-three", "The best three are CDMLMR, CMDN and JRL, in this order", falling("cdmlmr", "cmdn", "jrl")),
    OrderClaim(
        "deep-above-linear",
        "The supervised deep methods, CDMLMR and CMDN, are above every linear and kernel method",
        above(["cdmlmr", "cmdn"], NOT_DEEP),
    ),
    OrderClaim(
        "deep-alone-is-not-enough",
        "Bimodal AE and Multimodal DBN are below KCCA with an RBF kernel",
        above(["kcca-rbf"], ["bimodal-ae", "multimodal-dbn"]),
    ),
    OrderClaim(
        "labels-help",
        "Every method that uses labels is above every method that does not",
        above(WITH_LABELS, WITHOUT_LABELS),
    ),
    OrderClaim(
        "corr-ae",
        "Corr-AE is the best method without labels",
        above(["corr-full-ae"], WITHOUT_LABELS),
    ),
    OrderClaim("kernel", "KCCA is better with an RBF than with a polynomial kernel", falling("kcca-rbf", "kcca-poly")),
    OrderClaim(
        "ablation-order",
        "Ablation: Base < Quad < Semi < CDMLMR",
        falling("cdmlmr", "cdmlmr-semi", "cdmlmr-quad", "base"),
    ),
    OrderClaim(
        "each-loss-helps",
        "Ablation: each loss alone improves on the base network",
        above(["cdmlmr-semi", "cdmlmr-quad"], ["base"]),
    ),
    OrderClaim(
        "both-losses",
        "Ablation: both losses together are better than each alone",
        above(["cdmlmr"], ["cdmlmr-semi", "cdmlmr-quad"]),
    ),
)

OUR_QUESTION: Final = OrderClaim(
    "beyond",
    "Our question: CDMLMR is above a tuned CCA and the methods that the paper omits",
    above(["cdmlmr"], LEFT_OUT),
)

POOLED: Final = ("cdmlmr", "cdmlmr-semi")


def under(method: str, protocol: str) -> str:
    """A method's name when two protocols are compared."""
    return f"{method}, {protocol}"


ACROSS: Final = tuple(
    OrderClaim(
        f"pool-helps-{method}",
        f"{row_of(method).title} is better if training also sees unlabelled items (transductive against inductive)",
        ((under(method, "transductive"), under(method, "inductive")),),
    )
    for method in POOLED
)
"""Claims that compare the protocols with each other."""


def claims_of(study: Study) -> tuple[Claim, ...]:
    """The claims to judge under each protocol; without published figures of this dataset only the orders remain."""
    if not study.published or study.published_on:
        return (*ORDERS, OUR_QUESTION)
    return (
        *ORDERS,
        ChanceClaim("cca-at-chance", "CCA is at chance level", "cca-paper"),
        FiguresClaim(
            "figures",
            f"The published figures are reproduced within {FORMULA_TOLERANCE} for closed-form methods and "
            f"{DEEP_TOLERANCE} for networks",
            study.published,
            study.columns,
        ),
        OUR_QUESTION,
    )


@dataclass(frozen=True)
class Evidence:
    """What one protocol and one variant of the embeddings say about every method.

    Attributes:
        items: by measure and method, one number per item, items in the same order; the mean is the score.
        missing: why a method has no complete result, as the end of a sentence that begins with its name.
        figures: by method, column and measure, the mean.
        chance: by measure, the level of a random ranking on average.
        inputs_differ: how the inputs differ from the paper's; empty when they do not.
    """

    items: Mapping[str, Mapping[str, Floats]]
    missing: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    inputs_differ: str = ""

    def absent(self, methods: Collection[str], measure: str = "map") -> list[str]:
        """A phrase for every one of the methods that cannot be judged."""
        known = self.items.get(measure, {})
        reasons = {name: self.missing.get(name, "was not run") for name in methods if name not in known}
        reasons |= {name: self.missing[name] for name in methods if name in self.missing}
        return [f"{name} {reason}" for name, reason in reasons.items()]
