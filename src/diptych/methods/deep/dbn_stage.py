"""Stage one: a two-layer deep belief network per modality, trained layer by layer."""

import logging
from dataclasses import dataclass
from functools import cache

import numpy as np

from diptych.arrays import Features
from diptych.features import fit_scaling
from diptych.methods.deep.layers import Chain, Clip, CountLayer, DenseLayer, run_chain
from diptych.methods.deep.profile import CD_STEP_UP, SPARSITY
from diptych.methods.deep.workshop import Workshop, frozen
from diptych.nets import (
    BernoulliRBM,
    ContrastiveDivergence,
    GaussianRBM,
    ReplicatedSoftmax,
    RestrictedBoltzmannMachine,
    RowSource,
    SparseRows,
    SparsityPenalty,
    step_up_order,
)

_log = logging.getLogger(__name__)
CLIP = 5.0


@dataclass(frozen=True)
class CodedModality:
    """A modality after some stages: the chain that gives its codes, the last stage's key, and the codes' width."""

    chain: Chain
    key: str
    width: int


def train_rbm(
    shop: Workshop,
    name: str,
    kind: str,
    rbm: RestrictedBoltzmannMachine,
    rows: RowSource,
    hashed: Features,
    upstream: tuple[str, ...] = (),
) -> str:
    """Train one machine by contrastive divergence with the settings of its kind, and return its key."""
    sparsity = SparsityPenalty(rbm.weight.shape[1], *SPARSITY[kind]) if kind in SPARSITY else None
    order = step_up_order(*CD_STEP_UP[kind]) if shop.profile.cd_step_up and kind in CD_STEP_UP else None
    objective = ContrastiveDivergence(rbm, rows, order=order, sparsity=sparsity)
    options = {
        "kind": kind,
        "step_up": CD_STEP_UP[kind] if order is not None else None,
        "sparsity": SPARSITY.get(kind),
        "gains": [rbm.up_gain, rbm.down_gain],
        "document_length": getattr(rbm, "document_length", None),
    }
    trained = shop.train(
        name, objective, shop.settings(kind), inputs={"rows": hashed}, options=options, upstream=upstream
    )
    return trained.key


def train_dbn(shop: Workshop, modality: str) -> CodedModality:
    """Train both layers on every training item that has the modality, labelled or not.

    Counts go into a Replicated Softmax. Dense rows are standardised and go into a Gaussian machine, whatever the
    modality is called: topic proportions and pretrained features are no counts.
    """
    rows = shop.data.train.having(modality).features(modality)
    kind = shop.data.kinds[modality]
    first_width, second_width = shop.profile.dbn_widths(kind, rows.shape[1])
    if kind == "counts":
        bottom, key, above = _count_layer(shop, modality, rows, first_width)
    else:
        bottom, key, above = _gaussian_layer(shop, modality, rows, first_width)
    codes = run_chain(bottom, rows)
    upper = BernoulliRBM(first_width, second_width, random=shop.random("dbn", modality, "2"))
    key = train_rbm(shop, f"{modality} RBM 2", above, upper, shop.tensor(codes), codes, (key,))
    return CodedModality((*bottom, sigmoid_layer(upper)), key, second_width)


@cache
def announce_stand_in(modality: str) -> None:
    """Say once, however many fits follow, that words came as dense rows."""
    _log.warning(
        "'%s' holds dense rows, not counts: a Gaussian machine stands in for the Replicated Softmax.", modality
    )


def sigmoid_layer(rbm: RestrictedBoltzmannMachine) -> DenseLayer:
    """The way up through a machine whose gains are one."""
    return DenseLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), "sigmoid")


def _count_layer(shop: Workshop, modality: str, rows: Features, width: int) -> tuple[Chain, str, str]:
    assert not isinstance(rows, np.ndarray)
    rbm = ReplicatedSoftmax(rows.shape[1], width, random=shop.random("dbn", modality, "1"))
    key = train_rbm(shop, f"{modality} RBM 1", "replicated-softmax", rbm, SparseRows(rows), rows)
    layer = CountLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), rbm.up_gain, rbm.document_length)
    return (layer,), key, "rbm-over-softmax"


def _gaussian_layer(shop: Workshop, modality: str, rows: Features, width: int) -> tuple[Chain, str, str]:
    if modality == "text":
        announce_stand_in(modality)
    prepared: Chain = (fit_scaling(rows, "dense"), Clip(CLIP))
    values = run_chain(prepared, rows)
    rbm = GaussianRBM(values.shape[1], width, random=shop.random("dbn", modality, "1"))
    key = train_rbm(shop, f"{modality} RBM 1", "gaussian-rbm", rbm, shop.tensor(values), values)
    return (*prepared, sigmoid_layer(rbm)), key, "rbm-over-gaussian"
