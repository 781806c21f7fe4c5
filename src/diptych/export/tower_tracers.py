"""Frozen towers, and the codes for both purposes that are made of them."""

from diptych.export.traced import Traced, side_by_side, trace_steps, traces_step
from diptych.methods.deep.towers import (
    LEAST_PROBABILITY,
    BranchCode,
    BranchLayer,
    ClassProbabilityCode,
    MemberTower,
    Tower,
)
from diptych.methods.partner_space import PartnerCode, Spaces


@traces_step("methods.partner_space:Spaces")
def spaces(step: Spaces, rows: Traced) -> Traced:
    """The class code, then the partner code, which holds the class code too where that has a weight."""
    classes = trace_steps((step.class_code,), rows)
    partners = trace_steps((step.partner_code,), rows)
    if step.class_weight != 0:
        partners = side_by_side([partners, classes * step.class_weight]) / (1.0 + step.class_weight**2) ** 0.5
    return side_by_side([classes, partners * step.partner_weight])


@traces_step("methods.partner_space:PartnerCode")
def partner_code(step: PartnerCode, rows: Traced) -> Traced:
    """Canonical projections, or the features themselves, at length one, in double precision to the end."""
    centred = trace_steps((step.scaling,), rows) - step.centre
    projected = centred if step.weights is None else centred @ step.weights
    return projected.unit_rows().astype("float32")


@traces_step("methods.deep.towers:ClassProbabilityCode")
def class_probability_code(step: ClassProbabilityCode, rows: Traced) -> Traced:
    """Class probabilities, brought to length one by an entry in the column of their modality."""
    features = _features(step.tower, rows)
    scores = _scores(step.tower, features, _entering(step.tower, rows, features))
    probabilities = _mean([each.astype("float64").softmax() for each in scores])
    if step.linear is not None:
        regressed = trace_steps((step.linear.posteriors,), features.astype("float64"))
        probabilities = probabilities * (1.0 - step.linear.weight) + regressed * step.linear.weight
    if step.temperature != 1.0:
        powers = probabilities.maximum(LEAST_PROBABILITY) ** (1.0 / step.temperature)
        probabilities = powers / powers.sum()
    squares = (probabilities * probabilities).sum()
    missing = (squares * -1.0 + 1.0).maximum(0.0).apply("Sqrt")
    extra = [missing if place == step.place else missing * 0.0 for place in range(step.modalities)]
    return side_by_side([probabilities, *extra]).astype("float32")


@traces_step("methods.deep.towers:BranchCode")
def branch_code(step: BranchCode, rows: Traced) -> Traced:
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
    """What the supervised net reads: the DBN's code, the features, or both."""
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
