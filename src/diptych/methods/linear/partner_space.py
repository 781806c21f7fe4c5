"""The partner space: embeddings by which an item finds its own partner, beside the class embeddings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.progress import Progress
from diptych._core.state import stateful, stateful_as
from diptych.data import Partition, TrainingData
from diptych.evaluation import evaluate_instances
from diptych.features.scaling import Scaling, fit_scaling
from diptych.methods.linear.algebra import spectrum
from diptych.methods.linear.cca import correlations_of
from diptych.methods.selection import FEWEST_PAIRS, Search, Validation
from diptych.methods.training_inputs import presence, scaled_pairs

RIDGES = (1.0, 0.3, 0.1)
COMPONENTS = (128, 64, 256)
POWERS = (1.0, 0.5, 2.0)
"""The values tried, one after the other, the first of each being taken where there is no validation.

Of values that do nearly as well as the best (`NEARLY`) the first stays: a strong ridge travels better to new data.
"""

NEARLY = 0.01

CLASS_WEIGHTS = (0.5, 0.0, 1.0)
PARTNER_WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
UNVALIDATED_WEIGHT = 0.5
TOLERATED_LOSS = 0.002
"""How much class MAP on validation the partner space may cost where both purposes are asked for at once."""


@stateful_as("PartnerCode")
@dataclass(frozen=True)
class PartnerEmbedder:
    """Canonical projections of one modality, each times a power of its correlation, at length one.

    Where the features of all modalities share a space already, they take the place of projections.

    Attributes:
        scaling: of the features.
        centre: what is subtracted of scaled rows: for projections, the mean of the training rows.
        weights: columns × components; None for the features themselves.
    """

    scaling: Scaling
    centre: Floats
    weights: Floats | None

    @property
    def width(self) -> int:
        """How many columns an embedding has."""
        return len(self.centre) if self.weights is None else int(self.weights.shape[1])

    def __call__(self, rows: Features) -> Singles:
        """Embed stored rows."""
        embeddings = self.scaling(rows) - self.centre
        embeddings = embeddings if self.weights is None else embeddings @ self.weights
        return np.asarray(
            embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12), dtype=np.float32
        )


@stateful
@dataclass(frozen=True)
class Spaces:
    """A modality's embeddings for both purposes side by side: the class embedding, then the partner embedding.

    The partner embedding holds the class embedding too, because the class helps to find the very item.

    Attributes:
        class_embedder: gives the class embedding, at length one.
        partner_embedder: gives the partner embedding without the class, at length one.
        class_weight: how long the class embedding is inside the partner embedding, whose projections have length one.
        partner_weight: how long the partner embedding is, where the class embedding has length one.
    """

    class_embedder: Any = field(metadata={"stored": "class_code"})
    partner_embedder: PartnerEmbedder = field(metadata={"stored": "partner_code"})
    class_weight: float
    partner_weight: float

    def __call__(self, rows: Features) -> Singles:
        """Embed stored rows."""
        return joined(self.class_embedder(rows), self.partner_embedder(rows), self.class_weight, self.partner_weight)


def joined(classes: Singles, partners: Singles, class_weight: float, partner_weight: float) -> Singles:
    """Put class embeddings beside partner embeddings of the wanted lengths; both come at length one."""
    return np.concatenate([classes, np.float32(partner_weight) * with_class(partners, classes, class_weight)], axis=1)


def with_class(partners: Singles, classes: Singles, weight: float) -> Singles:
    """Partner embeddings that know the class as well, at length one."""
    if weight == 0:
        return partners
    both = np.concatenate([partners, np.float32(weight) * classes], axis=1)
    return np.asarray(both / np.float32(np.sqrt(1.0 + weight**2)), dtype=np.float32)


@dataclass(frozen=True)
class JoinedSpaces:
    """Both spaces of every modality.

    Attributes:
        embedders: from stored rows to both embeddings side by side.
        widths: how many columns each space has.
        chosen: what validation chose.
        trials: what it said of each value tried.
    """

    embedders: dict[str, Spaces]
    widths: dict[str, int]
    chosen: dict[str, float]
    trials: list[dict[str, Any]]


def add_partner_space(
    data: TrainingData, class_embedders: Mapping[str, Callable[[Features], Singles]], progress: Progress
) -> JoinedSpaces:
    """Learn the partner space, and choose on validation how much the spaces count beside each other.

    Args:
        data: what the protocol lets through.
        class_embedders: what gives each modality's class embeddings, at length one.
        progress: called with the progress.
    """
    scorer, validation = PartnerScorer.of(data), Validation.of(data)
    partners, values, search = fit_partner_embedders(data, scorer, progress)
    class_weight, partner_weight = CLASS_WEIGHTS[0], UNVALIDATED_WEIGHT
    if scorer is not None:
        found = {name: (partners[name](rows), class_embedders[name](rows)) for name, rows in scorer.rows.items()}
        weights = Search()
        for weight in CLASS_WEIGHTS:
            score = scorer.score({name: with_class(*embeddings, weight) for name, embeddings in found.items()})
            weights.add({"class_weight": weight}, score)
        class_weight = weights.best["class_weight"]
        search.trials.extend(weights.trials)
    if validation is not None:
        held_out = {name: (class_embedders[name](rows), partners[name](rows)) for name, rows in validation.rows.items()}
        partner_weight = _partner_weight(validation, held_out, class_weight)
    embedders = {name: Spaces(class_embedders[name], partners[name], class_weight, partner_weight) for name in partners}
    first = next(iter(partners))
    classes = class_embedders[first](data.train.having(first).take(np.arange(1)).features(first)).shape[1]
    width = partners[first].width + (classes if class_weight else 0)
    chosen = {**values, "class_weight": class_weight, "partner_weight": partner_weight}
    return JoinedSpaces(embedders, {"class": classes, "partner": width}, chosen, search.trials)


def _partner_weight(
    validation: Validation, held_out: Mapping[str, tuple[Singles, Singles]], class_weight: float
) -> float:
    """The largest length of the partner embedding that leaves class MAP nearly where it was."""
    alone = validation.score({name: classes for name, (classes, _) in held_out.items()})
    for weight in PARTNER_WEIGHTS:
        both = {name: joined(*embeddings, class_weight, weight) for name, embeddings in held_out.items()}
        if validation.score(both) >= alone - TOLERATED_LOSS:
            return weight
    return PARTNER_WEIGHTS[-1]


class PartnerScorer:
    """The mean reciprocal rank of validation items' own partners, averaged over the directions that have any."""

    def __init__(self, part: Partition, modalities: tuple[str, ...]) -> None:
        self.parts = {name: part.having(name) for name in modalities}
        self.rows = {name: each.features(name) for name, each in self.parts.items()}
        documents = {name: each.documents for name, each in self.parts.items()}
        self.directions = [(a, b) for a, b in permutations(modalities, 2) if np.isin(documents[a], documents[b]).any()]

    @classmethod
    def of(cls, data: TrainingData) -> "PartnerScorer | None":
        """Take the validation split; None where too few items have a partner."""
        if data.validation is None or len(data.validation.having_two_of(*data.modalities)) < FEWEST_PAIRS:
            return None
        return cls(data.validation, data.modalities)

    def score(self, embeddings: Mapping[str, Singles]) -> float:
        """Score embeddings of the validation rows."""
        ranks = [
            evaluate_instances(
                embeddings[a], embeddings[b], self.parts[a].documents.tolist(), self.parts[b].documents.tolist()
            ).mean_reciprocal_rank
            for a, b in self.directions
        ]
        return float(np.mean(ranks))


def fit_partner_embedders(
    data: TrainingData, scorer: PartnerScorer | None, progress: Progress
) -> tuple[dict[str, PartnerEmbedder], dict[str, float], Search]:
    """Ridge CCA of the training pairs; ridge, components and power are chosen by how often partners are found.

    More than two modalities are joined by generalised CCA, see `CCA`.

    Without validation pairs the first value of each grid is taken. Where all modalities have as many columns, the
    features themselves are tried too, as encoders that were trained together share a space already.

    Returns:
        What embeds each modality, the values chosen, and the score of each value tried.
    """
    recipes = {name: "tfidf+centre" if kind == "counts" else "auto" for name, kind in data.kinds.items()}
    scalings, scaled = scaled_pairs(data, recipes)
    centres = {name: rows.mean(axis=0) for name, rows in scaled.items()}
    views = [spectrum(rows - centres[name]) for name, rows in scaled.items()]
    correlate = correlations_of(views, presence(data))
    held_out = {name: scalings[name](rows) - centres[name] for name, rows in scorer.rows.items()} if scorer else {}
    solved: dict[float, tuple[Floats, dict[str, Floats]]] = {}

    def solve(ridge: float) -> tuple[Floats, dict[str, Floats]]:
        if ridge not in solved:
            correlations, parts = correlate([ridge * view.mean_variance for view in views], max(COMPONENTS))
            weights = (view.weights(part) for view, part in zip(views, parts, strict=True))
            solved[ridge] = correlations, dict(zip(scaled, weights, strict=True))
        return solved[ridge]

    def projections_of(values: Mapping[str, float]) -> dict[str, Floats]:
        correlations, weights = solve(values["ridge"])
        kept = int(values["components"])
        emphasis = correlations[:kept] ** values["power"]
        return {name: weight[:, :kept] * emphasis for name, weight in weights.items()}

    search = Search()
    grid = {"ridge": RIDGES, "components": COMPONENTS, "power": POWERS}
    chosen = {name: options[0] for name, options in grid.items()}
    if scorer is not None:
        for name, options in grid.items():
            for value in options:
                trial = {**chosen, name: value}
                if any(trial == past["params"] for past in search.trials):
                    continue
                weights = projections_of(trial)
                search.add(trial, scorer.score({key: _singles(rows @ weights[key]) for key, rows in held_out.items()}))
                total = sum(len(values) - 1 for values in grid.values()) + 1
                progress("partner space", len(search.trials), total, {"validation MRR": search.best_score})
            chosen = _first_of_the_best(search, name, options)
    weights = projections_of(chosen)
    embedders = {name: PartnerEmbedder(scalings[name], centres[name], weights[name]) for name in scaled}
    if scorer is not None and len({rows.shape[1] for rows in scorer.rows.values()}) == 1:
        reached = next(trial["score"] for trial in search.trials if trial["params"] == chosen)
        shared, values, score = _features_as_embeddings(data, scorer, search)
        if score >= reached:
            return shared, values, search
    return embedders, chosen, search


def _features_as_embeddings(
    data: TrainingData, scorer: PartnerScorer, search: Search
) -> tuple[dict[str, PartnerEmbedder], dict[str, float], float]:
    """The features themselves, or less their mean over the training pairs where that finds more partners.

    Encoders that were trained together keep their modalities apart by an offset, which the mean takes away.
    """
    pairs = data.train.having_two_of(*data.modalities)
    best: tuple[dict[str, PartnerEmbedder], dict[str, float], float] | None = None
    for centred in (0.0, 1.0):
        embedders = {}
        for name in data.modalities:
            rows = pairs.having(name).features(name)
            plain = fit_scaling(rows, data.kinds[name], "none")
            embedders[name] = PartnerEmbedder(plain, centred * plain(rows).mean(axis=0), None)
        score = scorer.score({name: embedders[name](rows) for name, rows in scorer.rows.items()})
        values = {"features": 1.0, "centred": centred}
        search.add(values, score)
        if best is None or score > (1.0 + NEARLY) * best[2]:
            best = embedders, values, score
    assert best is not None
    return best


def _first_of_the_best(search: Search, name: str, options: Sequence[float]) -> dict[str, Any]:
    """The first value of one parameter that does nearly as well as the best, with the rest of that trial."""
    good = search.nearly_best(NEARLY * search.best_score)
    return dict(min(good, key=lambda params: options.index(params[name])))


def _singles(rows: Floats) -> Singles:
    return np.asarray(rows, dtype=np.float32)
