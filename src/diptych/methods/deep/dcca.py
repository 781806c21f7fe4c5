"""Deep canonical correlation analysis."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from diptych._core.arrays import Booleans, Features, Singles
from diptych._core.errors import ConfigError
from diptych.features import fit_scaling
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen_layer, validation_inputs
from diptych.methods.deep.layers import Chain, DenseLayer, run_chain
from diptych.methods.linear.algebra import spectrum
from diptych.methods.linear.cca import correlations_of
from diptych.methods.selection import Validation
from diptych.methods.training_inputs import row_numbers
from diptych.nets import DeepCCA, DeepCCAObjective, DenseStack
from diptych.training.loop import Validate

COMPONENTS = 10


class DCCA(DeepMethod):
    """A net per modality, trained so that the outputs of a pair correlate; linear CCA of the outputs on top. No labels.

    Loss: minus the sum of the singular values of Σ₁₁^(−½) Σ₁₂ Σ₂₂^(−½) of a large batch, with a ridge on Σ₁₁ and Σ₂₂.

    More than two modalities are trained by deep generalised CCA (Benton et al., Deep Generalized Canonical Correlation
    Analysis, 2017): minus the sum of (λ − 1)/(M − 1), λ being the leading eigenvalues of the sum of the modalities'
    projectors, with the same ridge. Items with at least two modalities contribute those they have.

    Paper: Andrew, Arora, Bilmes and Livescu, Deep Canonical Correlation Analysis, ICML 2013. Changes: Adam on large
    batches instead of full-batch L-BFGS after layer-wise pretraining; the weights that retrieve best on validation are
    kept.

    With `batch_size` (method `deep-corr`) it trains end to end on small batches, as Yan and Mikolajczyk do (Deep
    Correlation for Matching Images and Text, CVPR 2015): the covariances are then running averages over batches,
    because those of a single small batch could not be whitened.

    Args:
        components: outputs of each net.
        ridge: added to the diagonal of both covariances.
        batch_size: pairs in a batch; None for a batch large enough for its own covariances.
    """

    citation: ClassVar[str] = (
        "G. Andrew, R. Arora, J. Bilmes, K. Livescu. Deep Canonical Correlation Analysis. ICML 2013."
    )
    max_modalities: ClassVar[int | None] = None

    def __init__(
        self,
        components: int = COMPONENTS,
        ridge: float = 0.01,
        batch_size: int | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.components = components
        self.ridge = ridge
        self.batch_size = batch_size

    def _check(self) -> None:
        if self.components < 1:
            raise ConfigError(f"components is {self.components}; it must be at least 1.")
        if not self.ridge > 0:
            raise ConfigError(f"ridge is {self.ridge}; it must be positive.")
        if self.batch_size is not None and self.batch_size < 2:
            raise ConfigError(f"batch_size is {self.batch_size}; correlations need at least 2 pairs.")

    def _train(self, context: StageContext) -> dict[str, Chain]:
        pairs = context.data.train.having_two_of(*context.data.modalities)
        raw = {name: pairs.having(name).features(name) for name in context.data.modalities}
        present = {name: pairs.has(name) for name in raw}
        scalings: dict[str, Chain] = {
            name: (fit_scaling(values, context.data.kinds[name]),) for name, values in raw.items()
        }
        rows = {name: run_chain(chain, raw[name]) for name, chain in scalings.items()}
        width = context.profile.embedding_width
        net = DeepCCA(
            {name: (values.shape[1], width, width, self.components) for name, values in rows.items()},
            context.random("deep CCA"),
            running=self.batch_size is not None,
        )
        tensors = {name: context.tensor(values) for name, values in rows.items()}
        validation = Validation.of(context.data)
        scorer: Validate | None = None
        scored: dict[str, Features | str] = {}
        if validation is not None:
            held = {name: run_chain(chain, validation.rows[name]) for name, chain in scalings.items()}
            scorer = _scorer(net, rows, present, held, validation, self.ridge)
            scored = validation_inputs(validation, held)
        settings = context.settings("deep-cca")
        if self.batch_size is not None:
            settings = replace(settings, batch_size=self.batch_size)
        numbers = {name: row_numbers(pairs, name) for name in rows}
        missing = {f"rows of {name}": each for name, each in numbers.items() if each is not None}
        rows_of = {name: context.tensor(each) for name, each in numbers.items() if each is not None}
        context.train(
            "deep CCA",
            DeepCCAObjective(net, tensors, regularisation=self.ridge, rows_of=rows_of),
            settings,
            inputs={**rows, **missing, **scored},
            options={"ridge": self.ridge},
            validate=scorer,
        )
        rotations = _rotations(_outputs(net, rows), present, self.ridge)
        return {name: (*chain, *_layers(net, name), rotations[name]) for name, chain in scalings.items()}


def _layers(net: DeepCCA, modality: str) -> Chain:
    stack = net.nets[modality]
    assert isinstance(stack, DenseStack)
    *hidden, last = stack.layers
    return (*(frozen_layer(layer, "relu") for layer in hidden), frozen_layer(last, "linear"))


def _outputs(net: DeepCCA, rows: Mapping[str, Singles]) -> dict[str, Singles]:
    return {name: run_chain(_layers(net, name), values) for name, values in rows.items()}


def _rotations(outputs: Mapping[str, Singles], present: Mapping[str, Booleans], ridge: float) -> dict[str, DenseLayer]:
    """Linear CCA of the training outputs, as a last layer for each modality."""
    centres = {name: np.asarray(values.mean(axis=0), dtype=np.float64) for name, values in outputs.items()}
    views = [spectrum(values.astype(np.float64) - centres[name]) for name, values in outputs.items()]
    components = min(view.rank for view in views)
    _, parts = correlations_of(views, list(present.values()))([ridge] * len(views), components)
    weights = dict(zip(outputs, (view.weights(part) for view, part in zip(views, parts, strict=True)), strict=True))
    return {
        name: DenseLayer(weight.astype(np.float32), (-centres[name] @ weight).astype(np.float32), "linear")
        for name, weight in weights.items()
    }


def _scorer(
    net: DeepCCA,
    rows: Mapping[str, Singles],
    present: Mapping[str, Booleans],
    held: Mapping[str, Singles],
    validation: Validation,
    ridge: float,
) -> Validate:
    """Retrieve validation items through the net as it is and the rotation its training outputs ask for."""

    def score() -> float:
        rotations = _rotations(_outputs(net, rows), present, ridge)
        return validation.score({name: rotations[name](embeddings) for name, embeddings in _outputs(net, held).items()})

    return score
