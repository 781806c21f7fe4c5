"""LGCFL: a linear map of each modality into the label space that keeps or drops groups of columns together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Features, Floats, Integers
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.features import Scaling, load_pipeline
from diptych.methods.base import Method
from diptych.methods.selection import Search, Validation
from diptych.methods.semantic.posteriors import Strengths, given_strengths
from diptych.methods.training_inputs import fit_scalings

STRENGTH_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STRENGTH_UNCHOSEN = 0.01
GROUP_COLUMNS = 8
TOLERANCE = 1e-4
MAX_STEPS = 2_000
CHECK_EVERY = 10


class LGCFL(Method):
    """Local group based consistent feature learning: every modality is mapped into the label space by a sparse matrix.

    With X_m the scaled and centred rows of modality m, Y_m their labels as centred indicator columns, and the columns
    of X_m divided into groups g,

        minimise (1 / 2n) ‖X_m U_m − Y_m‖² + λ_m Σ_g √|g| ‖U_m^(g)‖_F

    for each modality; embeddings are X_m U_m, compared by cosine. The second term drops whole groups: a histogram
    without class information gets no weight. Since every modality is mapped onto the same labels, no pairs are needed:
    items contribute the modalities they have.

    Groups are what the feature pipeline calls its blocks (a descriptor, a cell), where it has several, and runs of
    `group_columns` neighbouring columns otherwise.

    Paper: Kang, Xiang, Liao, Xu, Pan: Learning Consistent Feature Representation for Cross-Modal Multimedia Retrieval,
    IEEE Transactions on Multimedia 2015. We had no access to the paper; this is our reading of its abstract and of
    later descriptions. λ is given as a share of λ_max, the smallest one for which U = 0; it is chosen on validation.

    Args:
        strength: λ as a fraction of λ_max, one for all modalities or one for each by name; 0 is least squares; None to
            choose on validation.
        group_columns: columns per group if the pipeline defines no groups; 1 is the row-sparse ℓ2,1 problem.
        scaling: a scaling recipe, or one by modality.

    Example:
        >>> from diptych.methods import create
        >>> create("lgcfl", strength=0.1)
        LGCFL(strength=0.1)
    """

    uses_pairs = False
    uses_labels = True
    max_modalities = None
    citation = (
        "Kang, Xiang, Liao, Xu, Pan: Learning Consistent Feature Representation for Cross-Modal Multimedia Retrieval. "
        "IEEE Transactions on Multimedia 17(3), 2015."
    )

    def __init__(
        self,
        strength: Strengths = None,
        group_columns: int = GROUP_COLUMNS,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.strength = strength
        self.group_columns = group_columns
        self.scaling = scaling

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        if self.group_columns < 1:
            raise ConfigError(f"group_columns is {self.group_columns}; it must be at least 1.")
        given = given_strengths(self.strength, data.modalities, zero=True)
        for name, value in given.items():
            if value is not None and value >= 1:
                raise ConfigError(
                    f"strength is {value} for '{name}', which leaves no weight at all; it must be below 1."
                )
        raw = {name: data.train.having(name).features(name) for name in data.modalities}
        self.scalings_: dict[str, Scaling] = fit_scalings(raw, data.kinds, self.scaling)
        self.centres_: dict[str, Floats] = {}
        problems = {}
        for name in data.modalities:
            rows, targets = self._labelled(data, name)
            self.centres_[name] = rows.mean(axis=0)
            groups = self._groups(name, rows.shape[1])
            problems[name] = GroupLasso.of(rows - self.centres_[name], targets - targets.mean(axis=0), groups)
        validation = Validation.of(data)
        held_out = {name: self._centred(name, rows) for name, rows in validation.rows.items()} if validation else {}
        self.weights_: dict[str, Floats]
        self.weights_, strengths, search = _choose(problems, given, validation, held_out, progress)
        self.record_["selection"] = search.trials
        self.record_["chosen"] = {
            "strength": strengths,
            "groups_kept": {name: f"{p.kept(self.weights_[name])} of {len(p.starts)}" for name, p in problems.items()},
        }

    def _labelled(self, data: TrainingData, name: str) -> tuple[Floats, Floats]:
        """Return the scaled labelled rows of a modality and their share in every class."""
        chosen = data.train.labels.is_labelled & data.train.has(name)
        if not chosen.any():
            raise FitError(f"LGCFL learns from labels and no labelled training item has '{name}'.")
        part = data.train.take(chosen)
        targets = part.labels.matrix.toarray() if data.soft_labels is None else data.soft_labels[chosen]
        targets = np.asarray(targets, dtype=np.float64)
        return self.scalings_[name](part.features(name)), targets / targets.sum(axis=1, keepdims=True)

    def _groups(self, name: str, columns: int) -> list[int]:
        """Return where every group of columns begins."""
        pipeline = load_pipeline(self.pipeline_folder) if self.pipeline_folder is not None else None
        if pipeline is not None and name in pipeline.modalities:
            blocks = pipeline.of(name).extractor.blocks
            if len(blocks) > 1:
                return [block.start for block in blocks]
        return list(range(0, columns, self.group_columns))

    def _centred(self, modality: str, rows: Features) -> Floats:
        return self.scalings_[modality](rows) - self.centres_[modality]

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self._centred(modality, rows) @ self.weights_[modality]


@dataclass(frozen=True)
class GroupLasso:
    """min (1/2n) ‖X U − Y‖² + λ Σ_g √|g| ‖U^(g)‖_F, known by what its solution depends on: XᵀX/n, XᵀY/n and ‖Y‖²/n.

    Attributes:
        gram: XᵀX/n.
        cross: XᵀY/n.
        energy: ‖Y‖²/n.
        starts: the first column of every group, in order.
    """

    gram: Floats
    cross: Floats
    energy: float
    starts: Integers

    @classmethod
    def of(cls, rows: Floats, targets: Floats, starts: Sequence[int]) -> "GroupLasso":
        """State the problem for rows, targets and the first column of every group."""
        count = len(rows)
        return cls(
            rows.T @ rows / count,
            rows.T @ targets / count,
            float(np.vdot(targets, targets)) / count,
            np.asarray(starts, dtype=np.int64),
        )

    @property
    def sizes(self) -> Integers:
        """How many columns every group has."""
        return np.diff(np.append(self.starts, len(self.gram)))

    @property
    def largest(self) -> float:
        """λ_max: from here on nothing but U = 0 solves the problem."""
        return float((self._norms(self.cross) / np.sqrt(self.sizes)).max())

    def solve(self, penalty: float, start: Floats | None = None) -> Floats:
        """Minimise by accelerated proximal steps until the duality gap is below `TOLERANCE` of ‖Y‖²/2n.

        Args:
            penalty: λ; 0 gives the least-squares solution of smallest norm.
            start: where to begin; zero if not given.
        """
        if penalty == 0:
            return np.asarray(np.linalg.pinv(self.gram, hermitian=True) @ self.cross)
        step = 1.0 / max(float(np.linalg.eigvalsh(self.gram)[-1]), np.finfo(np.float64).tiny)
        limits = step * penalty * np.sqrt(self.sizes)
        current = np.zeros_like(self.cross) if start is None else start
        ahead, momentum = current, 1.0
        for number in range(1, MAX_STEPS + 1):
            moved = self._shrink(ahead - step * (self.gram @ ahead - self.cross), limits)
            if np.vdot(ahead - moved, moved - current) > 0:  # momentum points uphill: begin it anew
                momentum = 1.0
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = moved + (momentum - 1.0) / following * (moved - current)
            current, momentum = moved, following
            if number % CHECK_EVERY == 0 and self.gap(current, penalty) <= TOLERANCE * self.energy / 2:
                break
        return current

    def gap(self, weights: Floats, penalty: float) -> float:
        """How far the objective is above that of a feasible point of the dual problem; never below its excess."""
        fitted = self.gram @ weights
        agreement = float(np.vdot(weights, self.cross))
        residual = self.energy - 2.0 * agreement + float(np.vdot(weights, fitted))
        roots = np.sqrt(self.sizes)
        primal = residual / 2.0 + penalty * float(roots @ self._norms(weights))
        slack = self._norms(self.cross - fitted) / roots
        share = min(1.0, penalty / max(float(slack.max()), np.finfo(np.float64).tiny))
        dual = share * (self.energy - agreement) - share**2 * residual / 2.0
        return primal - dual

    def kept(self, weights: Floats) -> int:
        """How many groups have any weight."""
        return int(np.count_nonzero(self._norms(weights)))

    def _norms(self, table: Floats) -> Floats:
        return np.asarray(np.sqrt(np.add.reduceat(np.square(table).sum(axis=1), self.starts)))

    def _shrink(self, table: Floats, limits: Floats) -> Floats:
        """Shorten every group's block by its limit; a shorter one becomes zero."""
        norms = self._norms(table)
        factors = np.maximum(0.0, 1.0 - limits / np.maximum(norms, np.finfo(np.float64).tiny))
        return np.asarray(table * np.repeat(factors, self.sizes)[:, np.newaxis])


def _choose(
    problems: Mapping[str, GroupLasso],
    given: Mapping[str, float | None],
    validation: Validation | None,
    held_out: Mapping[str, Floats],
    progress: Progress,
) -> tuple[dict[str, Floats], dict[str, float], Search]:
    """Choose open strengths on validation: one for all modalities, then each modality's own in turn."""
    # From the strongest on, every solution is a good start for the next.
    paths = {name: _Path(problem) for name, problem in problems.items()}
    search = Search()
    best = {name: STRENGTH_UNCHOSEN if value is None else value for name, value in given.items()}
    vacant = [name for name, value in given.items() if value is None]
    if validation is not None and vacant:
        rounds = [vacant, *([name] for name in vacant)] if len(vacant) > 1 else [vacant]
        for names in rounds:
            for strength in sorted(STRENGTH_GRID, reverse=True):
                trial = best | dict.fromkeys(names, strength)
                embedded = {name: rows @ paths[name].solve(trial[name]) for name, rows in held_out.items()}
                search.add({"strength": trial}, validation.score(embedded))
                figures = {f"validation {validation.measure}": search.best_score}
                progress("choosing strengths", len(search.trials), len(rounds) * len(STRENGTH_GRID), figures)
            best = search.best["strength"]
    return {name: path.solve(best[name]) for name, path in paths.items()}, best, search


class _Path:
    """Solutions of one problem for several strengths, each found once."""

    def __init__(self, problem: GroupLasso) -> None:
        self._problem = problem
        self._solutions: dict[float, Floats] = {}

    def solve(self, strength: float) -> Floats:
        if strength not in self._solutions:
            nearest = min(self._solutions, key=lambda known: abs(known - strength), default=None)
            start = None if nearest is None else self._solutions[nearest]
            self._solutions[strength] = self._problem.solve(strength * self._problem.largest, start)
        return self._solutions[strength]
