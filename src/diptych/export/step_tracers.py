"""Steps of the methods without networks: scalings, kernels, posteriors, votes."""

from diptych.export.traced import Traced
from diptych.export.tracing import traces_step
from diptych.features.scaling import Scaling
from diptych.methods.algebra.kernels import POLY_OFFSET, Kernel
from diptych.methods.class_votes import Voters
from diptych.methods.posteriors import Posteriors


@traces_step("features.scaling:Scaling")
def scaled(scaling: Scaling, rows: Traced) -> Traced:
    """(transform(x) − shift) / scale, in double precision."""
    values = (_transformed(scaling, rows.astype("float64")) - scaling.shift) / scaling.scale
    return values.clip(0.0, 1.0) if scaling.recipe.endswith("minmax") else values


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
