"""Every method as a graph, from a modality's stored rows to its codes."""

from typing import TYPE_CHECKING

from diptych.errors import ConfigError
from diptych.export.boltzmann_tracer import joint_mean_field
from diptych.export.step_tracers import kernel, votes
from diptych.export.traced import Traced
from diptych.export.tracing import trace_steps, traces_method
from diptych.methods.chance import Chance
from diptych.methods.jrl import JRL
from diptych.methods.kcca import KCCA
from diptych.methods.linear import LinearMethod
from diptych.methods.semantic import SemanticCorrelationMatching, SemanticMatching

if TYPE_CHECKING:  # their modules import torch, which tracing their frozen layers does not need
    from diptych.methods.deep.deep_method import DeepMethod
    from diptych.methods.multimodal_dbm import MultimodalDBM
    from diptych.methods.multimodal_dbn import MultimodalDBN


@traces_method("chance:Chance")
def chance(method: Chance, modality: str, rows: Traced) -> Traced:
    """No graph can do this."""
    raise ConfigError("'chance' cannot be exported: it draws codes from a hash of each row, which is no graph.")


@traces_method("linear:LinearMethod")
def linear(method: LinearMethod, modality: str, rows: Traced) -> Traced:
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
