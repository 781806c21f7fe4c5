"""Trace every method, frozen towers included, into a graph."""

from typing import TYPE_CHECKING

from diptych._core.errors import ConfigError
from diptych.export.graph import Traced, side_by_side, trace_steps, traces_method, traces_step
from diptych.export.layer_tracers import joint_mean_field
from diptych.features.scaling import BlockScaling, Scaling
from diptych.methods.baselines import Chance, Identity
from diptych.methods.deep.towers import (
    LEAST_PROBABILITY,
    BranchEmbedder,
    BranchLayer,
    ClassProbabilityEmbedder,
    MemberTower,
    Tower,
)
from diptych.methods.linear.kcca import KCCA
from diptych.methods.linear.kernels import POLY_OFFSET, Kernel
from diptych.methods.linear.linear_method import LinearMethod
from diptych.methods.linear.partner_space import PartnerEmbedder, Spaces
from diptych.methods.semantic.jrl import JRL, Voters
from diptych.methods.semantic.lgcfl import LGCFL
from diptych.methods.semantic.local_ranking import LocalExperts
from diptych.methods.semantic.matching import KernelSemanticMatching, SemanticCorrelationMatching, SemanticMatching
from diptych.methods.semantic.posteriors import KernelPosteriors, Posteriors
from diptych.methods.semantic.tina import TINA


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


@traces_step("methods.semantic.posteriors:Posteriors")
def posteriors(classes: Posteriors, rows: Traced) -> Traced:
    """softmax(x W + b)."""
    return (rows @ classes.weights + classes.intercepts).softmax()


@traces_step("methods.semantic.posteriors:KernelPosteriors")
def kernel_posteriors(classes: KernelPosteriors, rows: Traced) -> Traced:
    """softmax(k(x) A + b)."""
    compared = kernel(classes.kernel, rows, rows.like(classes.landmarks.T))
    return (compared @ classes.weights + classes.intercepts).softmax()


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
    """What the nearest voters say: see `diptych.methods.semantic.jrl`."""
    voters = codes.like(of.embeddings.T)
    nearest, places = _squared_distances(codes, voters).smallest(min(neighbours, len(of.embeddings)))
    distances = nearest.apply("Sqrt")
    # log 1 / (1 + e^d) without overflow, for d is never negative
    affinities = (distances + ((distances * -1.0).apply("Exp") + 1.0).apply("Log")) * -1.0
    weights = affinities.softmax().unsqueezed()
    return (codes.like(of.ballots).picked(places) * weights).sum(1).squeezed(1)


def _squared_distances(rows: Traced, others: Traced) -> Traced:
    return ((rows @ others) * -2.0 + (rows * rows).sum() + (others * others).sum(0)).maximum(0.0)


if TYPE_CHECKING:  # their modules import torch, which tracing their frozen layers does not need
    from diptych.methods.deep.dbn import MultimodalDBN
    from diptych.methods.deep.deep_method import DeepMethod
    from diptych.methods.deep.multimodal_dbm import MultimodalDBM


@traces_method("baselines:Chance")
def chance(method: Chance, modality: str, rows: Traced) -> Traced:
    """No graph can do this."""
    raise ConfigError("'chance' cannot be exported: it draws embeddings from a hash of each row; no graph can.")


@traces_method("baselines:Identity")
def identity(method: Identity, modality: str, rows: Traced) -> Traced:
    """The rows themselves, at length one."""
    return rows.unit_rows()


@traces_method("linear.linear_method:LinearMethod")
@traces_method("semantic.lgcfl:LGCFL")
def linear(method: LinearMethod | LGCFL, modality: str, rows: Traced) -> Traced:
    """Scale, centre, multiply."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    return (scaled - method.centres_[modality]) @ method.weights_[modality]


@traces_method("linear.kcca:KCCA")
def kernel_cca(method: KCCA, modality: str, rows: Traced) -> Traced:
    """Scale, compare with the landmarks, multiply."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    compared = kernel(method.kernels_[modality], scaled, scaled.like(method.landmarks_[modality].T))
    return compared @ method.alphas_[modality] - method.offsets_[modality]


@traces_method("semantic.matching:KernelSemanticMatching")
@traces_method("semantic.matching:SemanticMatching")
def semantic(method: SemanticMatching | KernelSemanticMatching, modality: str, rows: Traced) -> Traced:
    """Scale, then class posteriors."""
    return trace_steps((method.scalings_[modality], method.posteriors_[modality]), rows)


@traces_method("semantic.matching:SemanticCorrelationMatching")
def semantic_correlation(method: SemanticCorrelationMatching, modality: str, rows: Traced) -> Traced:
    """Canonical projections, then class posteriors."""
    scaled = trace_steps((method.scalings_[modality],), rows)
    projected = (scaled - method.centres_[modality]) @ method.weights_[modality]
    return trace_steps((method.posteriors_[modality],), projected)


@traces_method("semantic.jrl:JRL")
def joint_representation(method: JRL, modality: str, rows: Traced) -> Traced:
    """Scale and project; where neighbours vote, let them."""
    projected = trace_steps((method.scalings_[modality],), rows) @ method.projections_[modality]
    return projected if method.voters_ is None else votes(method.voters_, method.neighbours, projected)


@traces_step("methods.semantic.local_ranking:LocalExperts")
def local_experts(step: LocalExperts, rows: Traced) -> Traced:
    """Principal axes, memberships, then every expert's projection by its membership: added up or side by side."""
    reduced = (rows - step.mean) @ step.axes
    memberships = (_squared_distances(reduced, reduced.like(step.centres.T)) / (-2.0 * step.width)).softmax()
    local = [
        (reduced @ step.projections[:, expert]) * memberships.columns(expert, expert + 1)
        for expert in range(len(step.centres))
    ]
    return _mean(local) * float(len(local)) if step.is_summed else side_by_side(local)


@traces_method("semantic.tina:TINA")
def tina(method: TINA, modality: str, rows: Traced) -> Traced:
    """Scale, then the local experts."""
    return trace_steps((method.scalings_[modality], method.experts_[modality]), rows)


@traces_method("deep.deep_method:DeepMethod")
def deep(method: "DeepMethod", modality: str, rows: Traced) -> Traced:
    """A chain of frozen layers."""
    return trace_steps(method.chains_[modality], rows)


@traces_method("deep.dbn:MultimodalDBN")
def multimodal_dbn(method: "MultimodalDBN", modality: str, rows: Traced) -> Traced:
    """The joint representation inferred from one modality alone."""
    from diptych.methods.deep.dbn import JointEmbedder

    return trace_steps((*method.chains_[modality], JointEmbedder(method.joint_, modality)), rows)


@traces_method("deep.multimodal_dbm:MultimodalDBM")
def multimodal_dbm(method: "MultimodalDBM", modality: str, rows: Traced) -> Traced:
    """The joint layer's mean field, with the other modality unknown."""
    visible = trace_steps(method.chains_[modality], rows).astype("float32")
    return joint_mean_field(method.weights_, method.layout_.kinds, modality, visible)


@traces_step("methods.linear.partner_space:Spaces")
def spaces(step: Spaces, rows: Traced) -> Traced:
    """The class embedding, then the partner embedding, which holds the class embedding too where that has a weight."""
    classes = trace_steps((step.class_embedder,), rows)
    partners = trace_steps((step.partner_embedder,), rows)
    if step.class_weight != 0:
        partners = side_by_side([partners, classes * step.class_weight]) / (1.0 + step.class_weight**2) ** 0.5
    return side_by_side([classes, partners * step.partner_weight])


@traces_step("methods.linear.partner_space:PartnerEmbedder")
def partner_embedder(step: PartnerEmbedder, rows: Traced) -> Traced:
    """Canonical projections, or the features themselves, at length one, in double precision to the end."""
    centred = trace_steps((step.scaling,), rows) - step.centre
    projected = centred if step.weights is None else centred @ step.weights
    return projected.unit_rows().astype("float32")


@traces_step("methods.deep.towers:ClassProbabilityEmbedder")
def class_probability_embedder(step: ClassProbabilityEmbedder, rows: Traced) -> Traced:
    """Class probabilities, brought to length one by an entry in the column of their modality."""
    features = _features(step.tower, rows)
    scores = _scores(step.tower, features, _entering(step.tower, rows, features))
    probabilities = _mean([each.astype("float64").softmax() for each in scores])
    if step.regression is not None:
        regressed = trace_steps((step.regression.posteriors,), features.astype("float64"))
        probabilities = probabilities * (1.0 - step.regression.weight) + regressed * step.regression.weight
    if step.temperature != 1.0:
        powers = probabilities.maximum(LEAST_PROBABILITY) ** (1.0 / step.temperature)
        probabilities = powers / powers.sum()
    squares = (probabilities * probabilities).sum()
    missing = (squares * -1.0 + 1.0).maximum(0.0).apply("Sqrt")
    extra = [missing if place == step.place else missing * 0.0 for place in range(step.modalities)]
    return side_by_side([probabilities, *extra]).astype("float32")


@traces_step("methods.deep.towers:BranchEmbedder")
def branch_embedder(step: BranchEmbedder, rows: Traced) -> Traced:
    """The branches' outputs of all members, or S less ½, less their mean over the training items; length one."""
    features = _features(step.tower, rows)
    entering = _entering(step.tower, rows, features)
    parts = []
    for member in step.tower.members:
        code = _shared(member, _hidden(member, entering), features)
        upper = trace_steps(member.pathway, code)
        parts += [_outputs(branch, upper) for branch in member.branches.values()] or [code - 0.5]
    return (side_by_side(parts) - step.centre).unit_rows()


def _features(tower: Tower, rows: Traced) -> Traced:
    return trace_steps(tower.prepare, rows).astype("float32")


def _entering(tower: Tower, rows: Traced, features: Traced) -> Traced:
    """What the supervised net reads: the DBN's output, the features, or both."""
    parts = []
    if tower.dbn:
        parts.append(trace_steps(tower.dbn, rows if tower.dbn_reads_counts else features) * 2.0 - 1.0)
    if tower.reads_features:
        parts.append(features)
    return side_by_side(parts)


def _scores(tower: Tower, features: Traced, entering: Traced) -> list[Traced]:
    """What every softmax that counts is taken of, member by member."""
    return [each for member in tower.members for each in _member_scores(member, tower.heads, features, entering)]


def _member_scores(member: MemberTower, heads: tuple[str, ...], features: Traced, entering: Traced) -> list[Traced]:
    hidden = _hidden(member, entering)
    code = _shared(member, hidden, features)
    upper = trace_steps(member.pathway, code) if set(heads) - {"net", "shared"} else code
    scores = []
    for head in heads:
        if head == "net":
            scores.append(trace_steps((member.net_classes,), hidden))
        elif head == "shared":
            scores.append(trace_steps((member.shared_classes,), code))
        else:
            branch = member.branches[head]
            scores.append(trace_steps((branch.classes,), _outputs(branch, upper)))
    return scores


def _hidden(member: MemberTower, entering: Traced) -> Traced:
    return trace_steps(member.net, entering)


def _shared(member: MemberTower, hidden: Traced, features: Traced) -> Traced:
    return trace_steps((member.shared,), side_by_side([hidden, features]))


def _outputs(branch: BranchLayer, upper: Traced) -> Traced:
    return (trace_steps((branch.layer,), upper) - 0.5).unit_rows()


def _mean(parts: list[Traced]) -> Traced:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / len(parts)
