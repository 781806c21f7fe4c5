"""Semantic matching: items are compared by what class each of them seems to be of."""

from collections.abc import Mapping

from diptych.arrays import Features, Floats
from diptych.data import TrainingData
from diptych.errors import ConfigError, FitError
from diptych.features import Scaling, fit_scaling
from diptych.methods.base import Method
from diptych.methods.correlated_rows import CorrelatedRows
from diptych.methods.posterior_search import LabelledRows, Strengths, choose_posteriors, given_strengths
from diptych.methods.posteriors import Posteriors
from diptych.methods.selection import Search, Validation
from diptych.progress import Progress

RIDGE_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
COMPONENTS_GRID = (5, 10, 20, 50, 100, 200)
_RIDGE_UNCHOSEN, _COMPONENTS_UNCHOSEN = 1e-1, 20


class SemanticMatching(Method):
    """Semantic matching: the code of a row is its vector of class posteriors, whatever modality it is of.

    Each modality m has a multinomial logistic regression of its own,

        p_m(c | x) = exp(w_c · x + b_c) / Σ_k exp(w_k · x + b_k)
        minimise (1/n) Σ_i −log p_m(c_i | x_i) + (strength_m / 2) ‖W‖²,

    and posteriors are compared by cosine. It needs no pairs: an item counts for the modalities it has. It needs
    exactly one label per labelled item.

    Paper: Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy and Vasconcelos, "A New Approach to
    Cross-Modal Multimedia Retrieval", ACM Multimedia 2010.

    What differs from the paper: rows are scaled first, the penalty's strength is chosen on validation for each
    modality, and the similarity is the plain cosine.

    Args:
        strength: the penalty's weight, one for all modalities or one for each by name; None to choose on validation.
        scaling: the recipe for every modality's rows.

    Example:
        >>> from diptych.methods import create
        >>> create("sm", strength={"image": 0.1, "text": 0.01})
        SemanticMatching(strength={'image': 0.1, 'text': 0.01})
    """

    uses_labels = True
    max_modalities = None
    citation = (
        "Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy, Vasconcelos: "
        "A New Approach to Cross-Modal Multimedia Retrieval. ACM Multimedia 2010."
    )

    def __init__(self, strength: Strengths = None, scaling: str = "auto") -> None:
        self.strength = strength
        self.scaling = scaling

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        given = given_strengths(self.strength, data.modalities)
        problem = SemanticProblem.of(data, self.scaling)
        self.scalings_: dict[str, Scaling] = problem.scalings
        self.posteriors_, strengths, search = choose_posteriors(problem, given, progress)
        self.record_["selection"] = search.trials
        self.record_["chosen"] = {"strength": strengths}

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self.posteriors_[modality](self.scalings_[modality](rows))
