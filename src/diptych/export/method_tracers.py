"""Every method, and every step of the methods without networks, as a graph."""

from typing import TYPE_CHECKING

from diptych._core.errors import ConfigError
from diptych.export.layer_tracers import joint_mean_field
from diptych.export.traced import Traced, side_by_side, trace_steps, traces_method, traces_step
from diptych.features.scaling import BlockScaling, Scaling
from diptych.methods.algebra.kernels import POLY_OFFSET, Kernel
from diptych.methods.chance import Chance
from diptych.methods.class_votes import Voters
from diptych.methods.identity import Identity
from diptych.methods.jrl import JRL
from diptych.methods.kcca import KCCA
from diptych.methods.lgcfl import LGCFL
from diptych.methods.linear import LinearMethod
from diptych.methods.posteriors import Posteriors
from diptych.methods.semantic import SemanticCorrelationMatching, SemanticMatching


@traces_step("features.scaling:Scaling")
def scaled(scaling: Scaling, rows: Traced) -> Traced:
    """(transform(x) − shift) / scale, in double precision."""
    values = (_transformed(scaling, rows.astype("float64")) - scaling.shift) / scaling.scale
    return values.clip(0.0, 1.0) if scaling.recipe.endswith("minmax") else values


@traces_step("features.scaling:BlockScaling")
def scaled_blocks(scaling: BlockScaling, rows: Traced) -> Traced:
    """Each block of columns under its own scaling."""
    pairs = zip(scaling.parts, scaling.places, strict=True)
    return side_by_side([scaled(part, rows.columns(place.start, place.stop)) for part, place in pairs])


def _transformed(scaling: Scaling, rows: Traced) -> Traced:
    match scaling.recipe.split("+")[0]:
        case "sqrt":
            return rows.apply("Sign") * rows.apply("Abs").apply("Sqrt")
        case "log":
            return rows.maximum(scaling.floor).apply("Log")
        case "log1p":
            return (rows.maximum(0.0) + 1.0).apply("Log")
        case "tf":
            return rows / rows.sum().maximum(1e-10)
        case "tfidf":
            weighted = (rows.maximum(0.0) + 1.0).apply("Log") * (1.0 if scaling.rarity is None else scaling.rarity)
            return weighted / (weighted * weighted).sum().apply("Sqrt").maximum(1e-10)
        case _:
            return rows


@traces_step("methods.posteriors:Posteriors")
def posteriors(classes: Posteriors, rows: Traced) -> Traced:
    """softmax(x W + b)."""
    return (rows @ classes.weights + classes.intercepts).softmax()


def kernel(of: Kernel, rows: Traced, landmarks: Traced) -> Traced:
    """The kernel of every row with every landmark; the landmarks come transposed."""
    products = rows @ landmarks
    match of.name:
        case "rbf":
            values = (_squared_distances(rows, landmarks) * -of.gamma).apply("Exp")
        case "poly":
            values = (products * of.gamma + POLY_OFFSET) ** of.degree
        case _:
            values = products
    return values / of.divisor


def votes(of: Voters, neighbours: int, codes: Traced) -> Traced:
    """What the nearest voters say: see `diptych.methods.class_votes`."""
    voters = codes.like(of.codes.T)
    nearest, places = _squared_distances(codes, voters).smallest(min(neighbours, len(of.codes)))
    distances = nearest.apply("Sqrt")
    # log 1 / (1 + e^d) without overflow, for d is never negative
    affinities = (distances + ((distances * -1.0).apply("Exp") + 1.0).apply("Log")) * -1.0
    weights = affinities.softmax().unsqueezed()
    return (codes.like(of.ballots).picked(places) * weights).sum(1).squeezed(1)


def _squared_distances(rows: Traced, others: Traced) -> Traced:
    return ((rows @ others) * -2.0 + (rows * rows).sum() + (others * others).sum(0)).maximum(0.0)


if TYPE_CHECKING:  # their modules import torch, which tracing their frozen layers does not need
    from diptych.methods.deep.deep_method import DeepMethod
    from diptych.methods.multimodal_dbm import MultimodalDBM
    from diptych.methods.multimodal_dbn import MultimodalDBN


@traces_method("chance:Chance")
def chance(method: Chance, modality: str, rows: Traced) -> Traced:
    """No graph can do this."""
    raise ConfigError("'chance' cannot be exported: it draws codes from a hash of each row, which is no graph.")


@traces_method("identity:Identity")
def identity(method: Identity, modality: str, rows: Traced) -> Traced:
    """The rows themselves, at length one."""
    return rows.unit_rows()


@traces_method("linear:LinearMethod")
@traces_method("lgcfl:LGCFL")
def linear(method: LinearMethod | LGCFL, modality: str, rows: Traced) -> Traced:
    """Scale, centre, multiply."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    return (scaled - method.centres_[modality]) @ method.weights_[modality]


@traces_method("kcca:KCCA")
def kernel_cca(method: KCCA, modality: str, rows: Traced) -> Traced:
    """Scale, compare with the landmarks, multiply."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    compared = kernel(method.kernels_[modality], scaled, scaled.like(method.landmarks_[modality].T))
    return compared @ method.alphas_[modality] - method.offsets_[modality]


@traces_method("semantic:SemanticMatching")
def semantic(method: SemanticMatching, modality: str, rows: Traced) -> Traced:
    """Scale, then class posteriors."""
    return trace_steps((method.scalings_[modality], method.posteriors_[modality]), rows)


@traces_method("semantic:SemanticCorrelationMatching")
def semantic_correlation(method: SemanticCorrelationMatching, modality: str, rows: Traced) -> Traced:
    """Canonical projections, then class posteriors."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    projected = (scaled - method.centres_[modality]) @ method.weights_[modality]
    return trace_steps((method.posteriors_[modality],), projected)


@traces_method("jrl:JRL")
def joint_representation(method: JRL, modality: str, rows: Traced) -> Traced:
    """Scale and project; where neighbours vote, let them."""
    projected = trace_steps((method.scalings_[modality],), rows) @ method.projections_[modality]
    return projected if method.voters_ is None else votes(method.voters_, method.neighbours, projected)


@traces_method("deep.deep_method:DeepMethod")
def deep(method: "DeepMethod", modality: str, rows: Traced) -> Traced:
    """A chain of frozen layers."""
    return trace_steps(method.chains_[modality], rows)


@traces_method("multimodal_dbn:MultimodalDBN")
def multimodal_dbn(method: "MultimodalDBN", modality: str, rows: Traced) -> Traced:
    """The joint code inferred from one modality alone."""
    from diptych.methods.deep.joint_machine import JointCode

    return trace_steps((*method.chains_[modality], JointCode(method.joint_, modality)), rows)


@traces_method("multimodal_dbm:MultimodalDBM")
def multimodal_dbm(method: "MultimodalDBM", modality: str, rows: Traced) -> Traced:
    """The joint layer's mean field, with the other modality unknown."""
    visible = trace_steps(method.chains_[modality], rows).astype("float32")
    return joint_mean_field(method.weights_, method.layout_.kinds, modality, visible)
