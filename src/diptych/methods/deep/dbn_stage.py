"""Stage one: a two-layer deep belief network per modality, trained layer by layer."""

import logging
from dataclasses import dataclass
from functools import cache

import scipy.sparse as sp

from diptych._core.arrays import Features, Sparse
from diptych.data import KindBlock, kind_blocks
from diptych.features import fit_scaling
from diptych.methods.deep.blocks import columns_of
from diptych.methods.deep.layers import Chain, Clip, CountLayer, DenseLayer, Parallel, run_chain
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


def train_dbn(shop: Workshop, modality: str, *, counts_alone: bool = False) -> CodedModality:
    """Train both layers on every training item that has the modality, labelled or not.

    Counts go into a Replicated Softmax. Dense rows are standardised and go into a Gaussian machine, whatever the
    modality is called: topic proportions and pretrained features are no counts. Of rows with blocks of both, each block
    goes into a machine of its own, and the second layer reads what both give.

    Args:
        shop: the fit's workshop.
        modality: which one.
        counts_alone: of rows with several blocks, read the first block of counts alone.
    """
    rows = shop.data.train.having(modality).features(modality)
    blocks = kind_blocks(shop.data.kinds[modality], rows.shape[1])
    if len(blocks) > 1 and counts_alone:
        blocks = tuple(block for block in blocks if block.kind == "counts")[:1]
    machines = [_bottom_layer(shop, modality, rows, block, whole=len(blocks) == 1) for block in blocks]
    bottom: Chain = machines[0].chain
    if len(machines) > 1 or blocks[0].width < rows.shape[1]:
        chains: tuple[Chain, ...] = tuple(
            (columns_of(block), *each.chain) for block, each in zip(blocks, machines, strict=True)
        )
        bottom = chains[0] if len(chains) == 1 else (Parallel(chains),)
    first_width = sum(each.width for each in machines)
    second_width = shop.profile.dbn_widths(blocks[0].kind, blocks[0].width)[1]
    codes = run_chain(bottom, rows)
    upper = BernoulliRBM(first_width, second_width, random=shop.random("dbn", modality, "2"))
    above = "rbm-over-softmax" if blocks[0].kind == "counts" else "rbm-over-gaussian"
    keys = tuple(each.key for each in machines)
    key = train_rbm(shop, f"{modality} RBM 2", above, upper, shop.tensor(codes), codes, keys)
    return CodedModality((*bottom, sigmoid_layer(upper)), key, second_width)


def _bottom_layer(shop: Workshop, modality: str, rows: Features, block: KindBlock, *, whole: bool) -> CodedModality:
    """The first layer over one block of columns."""
    name = "1" if whole else f"1 {block.kind} {block.start}"
    part = rows if block.width == rows.shape[1] else rows[:, block.start : block.stop]
    width = shop.profile.dbn_widths(block.kind, block.width)[0]
    if block.kind == "counts":
        return _count_layer(shop, modality, name, sp.csr_array(part), width)
    return _gaussian_layer(shop, modality, name, part, width)


@cache
def announce_stand_in(modality: str) -> None:
    """Say once, however many fits follow, that words came as dense rows."""
    _log.info("'%s' holds dense rows, not counts: a Gaussian machine stands in for the Replicated Softmax.", modality)


def sigmoid_layer(rbm: RestrictedBoltzmannMachine) -> DenseLayer:
    """The way up through a machine whose gains are one."""
    return DenseLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), "sigmoid")


def _count_layer(shop: Workshop, modality: str, name: str, rows: Sparse, width: int) -> CodedModality:
    rbm = ReplicatedSoftmax(rows.shape[1], width, random=shop.random("dbn", modality, name))
    key = train_rbm(shop, f"{modality} RBM {name}", "replicated-softmax", rbm, SparseRows(rows), rows)
    layer = CountLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), rbm.up_gain, rbm.document_length)
    return CodedModality((layer,), key, width)


def _gaussian_layer(shop: Workshop, modality: str, name: str, rows: Features, width: int) -> CodedModality:
    if modality == "text" and name == "1":
        announce_stand_in(modality)
    prepared: Chain = (fit_scaling(rows, "dense"), Clip(CLIP))
    values = run_chain(prepared, rows)
    rbm = GaussianRBM(values.shape[1], width, random=shop.random("dbn", modality, name))
    key = train_rbm(shop, f"{modality} RBM {name}", "gaussian-rbm", rbm, shop.tensor(values), values)
    return CodedModality((*prepared, sigmoid_layer(rbm)), key, width)
