"""Deep belief networks: two layers for each modality, and the multimodal DBN with a joint layer above them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from diptych._core.arrays import Features, Singles, Sparse
from diptych._core.errors import ConfigError
from diptych._core.state import stateful, stateful_as
from diptych.data import KindBlock, kind_blocks
from diptych.features import fit_scaling
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen
from diptych.methods.deep.layers import Chain, Clip, CountLayer, DenseLayer, Parallel, columns_of, run_chain
from diptych.methods.deep.profile import CD_STEP_UP, SPARSITY
from diptych.methods.purposes import Purpose
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
class EmbeddedModality:
    """A modality after some stages: the chain that embeds it, the last stage's key, and the width of the embeddings."""

    chain: Chain
    key: str
    width: int


def train_rbm(
    context: StageContext,
    name: str,
    kind: str,
    rbm: RestrictedBoltzmannMachine,
    rows: RowSource,
    hashed: Features,
    upstream: tuple[str, ...] = (),
) -> str:
    """Train one machine by contrastive divergence with the settings of its kind, and return its key."""
    sparsity = SparsityPenalty(rbm.weight.shape[1], *SPARSITY[kind]) if kind in SPARSITY else None
    order = step_up_order(*CD_STEP_UP[kind]) if context.profile.cd_step_up and kind in CD_STEP_UP else None
    objective = ContrastiveDivergence(rbm, rows, order=order, sparsity=sparsity)
    options = {
        "kind": kind,
        "step_up": CD_STEP_UP[kind] if order is not None else None,
        "sparsity": SPARSITY.get(kind),
        "gains": [rbm.up_gain, rbm.down_gain],
        "document_length": getattr(rbm, "document_length", None),
    }
    trained = context.train(
        name, objective, context.settings(kind), inputs={"rows": hashed}, options=options, upstream=upstream
    )
    return trained.key


def train_dbn(context: StageContext, modality: str, *, counts_alone: bool = False) -> EmbeddedModality:
    """Train both layers on every training item that has the modality, labelled or not.

    Counts go into a Replicated Softmax. Dense rows are standardised and go into a Gaussian machine, whatever the
    modality is called: topic proportions and pretrained features are no counts. Of rows with blocks of both, each block
    goes into a machine of its own, and the second layer reads what both give.

    Args:
        context: what the stages of the fit share.
        modality: which one.
        counts_alone: of rows with several blocks, read the first block of counts alone.
    """
    rows = context.data.train.having(modality).features(modality)
    blocks = kind_blocks(context.data.kinds[modality], rows.shape[1])
    if len(blocks) > 1 and counts_alone:
        blocks = tuple(block for block in blocks if block.kind == "counts")[:1]
    machines = [_bottom_layer(context, modality, rows, block, whole=len(blocks) == 1) for block in blocks]
    bottom: Chain = machines[0].chain
    if len(machines) > 1 or blocks[0].width < rows.shape[1]:
        chains: tuple[Chain, ...] = tuple(
            (columns_of(block), *each.chain) for block, each in zip(blocks, machines, strict=True)
        )
        bottom = chains[0] if len(chains) == 1 else (Parallel(chains),)
    first_width = sum(each.width for each in machines)
    second_width = context.profile.dbn_widths(blocks[0].kind, blocks[0].width)[1]
    embeddings = run_chain(bottom, rows)
    upper = BernoulliRBM(first_width, second_width, random=context.random("dbn", modality, "2"))
    above = "rbm-over-softmax" if blocks[0].kind == "counts" else "rbm-over-gaussian"
    keys = tuple(each.key for each in machines)
    key = train_rbm(context, f"{modality} RBM 2", above, upper, context.tensor(embeddings), embeddings, keys)
    return EmbeddedModality((*bottom, sigmoid_layer(upper)), key, second_width)


def _bottom_layer(
    context: StageContext, modality: str, rows: Features, block: KindBlock, *, whole: bool
) -> EmbeddedModality:
    """The first layer over one block of columns."""
    name = "1" if whole else f"1 {block.kind} {block.start}"
    part = rows if block.width == rows.shape[1] else rows[:, block.start : block.stop]
    width = context.profile.dbn_widths(block.kind, block.width)[0]
    if block.kind == "counts":
        return _count_layer(context, modality, name, sp.csr_array(part), width)
    return _gaussian_layer(context, modality, name, part, width)


@cache
def announce_stand_in(modality: str) -> None:
    """Log once per process that a text modality holds dense rows."""
    _log.info("'%s' holds dense rows, not counts: a Gaussian machine stands in for the Replicated Softmax.", modality)


def sigmoid_layer(rbm: RestrictedBoltzmannMachine) -> DenseLayer:
    """The way up through a machine whose gains are one."""
    return DenseLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), "sigmoid")


def _count_layer(context: StageContext, modality: str, name: str, rows: Sparse, width: int) -> EmbeddedModality:
    rbm = ReplicatedSoftmax(rows.shape[1], width, random=context.random("dbn", modality, name))
    key = train_rbm(context, f"{modality} RBM {name}", "replicated-softmax", rbm, SparseRows(rows), rows)
    layer = CountLayer(frozen(rbm.weight), frozen(rbm.hidden_bias), rbm.up_gain, rbm.document_length)
    return EmbeddedModality((layer,), key, width)


def _gaussian_layer(context: StageContext, modality: str, name: str, rows: Features, width: int) -> EmbeddedModality:
    if modality == "text" and name == "1":
        announce_stand_in(modality)
    prepared: Chain = (fit_scaling(rows, "dense"), Clip(CLIP))
    values = run_chain(prepared, rows)
    rbm = GaussianRBM(values.shape[1], width, random=context.random("dbn", modality, name))
    key = train_rbm(context, f"{modality} RBM {name}", "gaussian-rbm", rbm, context.tensor(values), values)
    return EmbeddedModality((*prepared, sigmoid_layer(rbm)), key, width)


@stateful
@dataclass(frozen=True)
class JointMachine:
    """The top of a multimodal DBN: one hidden layer over the embeddings of several modalities.

    Attributes:
        weights: visible × hidden, by modality.
        visible_biases: by modality.
        hidden_bias: shared.
        iterations: rounds of mean field when a modality is missing.
    """

    weights: dict[str, Singles]
    visible_biases: dict[str, Singles]
    hidden_bias: Singles
    iterations: int

    @classmethod
    def of(cls, rbm: BernoulliRBM, iterations: int = 10) -> "JointMachine":
        """Freeze a trained machine with named groups."""
        weight, bias = (part.detach().cpu().numpy().copy() for part in (rbm.weight, rbm.visible_bias))
        return cls(
            {name: weight[rbm.columns(name)].copy() for name in rbm.groups},
            {name: bias[rbm.columns(name)].copy() for name in rbm.groups},
            rbm.hidden_bias.detach().cpu().numpy().copy(),
            iterations,
        )

    def complete(self, known: Mapping[str, Singles]) -> tuple[dict[str, Singles], Singles]:
        """The embeddings of all modalities, given or generated, and the joint embedding.

        Missing embeddings start at zero; then h ← σ(Σ v_m W_m + c) and each missing v_m ← σ(W_m h + b_m), in turn.
        """
        given = self.hidden_bias + sum(values @ self.weights[name] for name, values in known.items())
        missing = [name for name in self.weights if name not in known]
        generated: dict[str, Singles] = {}
        hidden = _sigmoid(given)
        for _ in range(self.iterations if missing else 0):
            generated = {name: _sigmoid(hidden @ self.weights[name].T + self.visible_biases[name]) for name in missing}
            hidden = _sigmoid(given + sum(values @ self.weights[name] for name, values in generated.items()))
        return {**known, **generated}, hidden


def _sigmoid(inputs: Singles) -> Singles:
    return np.asarray(expit(inputs), dtype=np.float32)


@stateful_as("JointCode")
@dataclass(frozen=True)
class JointEmbedder:
    """The joint embedding inferred from one modality alone, as a step of a chain."""

    machine: JointMachine
    modality: str

    def __call__(self, embeddings: Features) -> Singles:
        """Infer the joint layer from this modality's embeddings."""
        return self.machine.complete({self.modality: np.asarray(embeddings, dtype=np.float32)})[1]


def train_joint(context: StageContext, embedded: Mapping[str, EmbeddedModality]) -> tuple[JointMachine, str]:
    """Train on the embeddings of training pairs; return the machine, frozen, and its key."""
    pairs = context.data.train.having(*embedded)
    rows = np.concatenate([run_chain(m.chain, pairs.features(name)) for name, m in embedded.items()], axis=1)
    rbm = BernoulliRBM(
        {name: modality.width for name, modality in embedded.items()},
        context.profile.joint_width,
        random=context.random("joint"),
    )
    upstream = tuple(modality.key for modality in embedded.values())
    key = train_rbm(context, "joint RBM", "joint-rbm", rbm, context.tensor(rows), rows, upstream)
    return JointMachine.of(rbm), key


Representation = Literal["generated", "joint"]


class MultimodalDBN(DeepMethod):
    """A joint machine over the embeddings of two DBNs, p(h = 1 | v₁, v₂) = σ(v₁W₁ + v₂W₂ + c). No labels.

    Under "generated", a query's embedding of the *other* modality is filled in by mean field and compared with the
    gallery's true embeddings, so the space depends on the direction. Under "joint", both sides are compared by
    the joint layer inferred from each alone. `embed` always gives the joint embedding, the one space an index can hold.

    Paper: Srivastava and Salakhutdinov, Learning Representations for Multimodal Data with Deep Belief Nets, ICML 2012
    workshop; retrieval by generated embeddings as in Feng et al., ACM MM 2014.

    Args:
        representation: "generated" or "joint".
    """

    citation: ClassVar[str] = (
        "N. Srivastava, R. Salakhutdinov. Learning Representations for Multimodal Data with Deep Belief Nets. 2012."
    )

    def __init__(
        self,
        representation: Representation = "generated",
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.representation = representation

    def _check(self) -> None:
        if self.representation not in ("generated", "joint"):
            raise ConfigError(f"representation is {self.representation!r}; choose 'generated' or 'joint'.")

    def _train(self, context: StageContext) -> dict[str, Chain]:
        embedded = {name: train_dbn(context, name) for name in context.data.modalities}
        self.joint_, _ = train_joint(context, embedded)
        return {name: modality.chain for name, modality in embedded.items()}

    def _embed(self, modality: str, rows: Features) -> Singles:
        return run_chain((*self.chains_[modality], JointEmbedder(self.joint_, modality)), rows)

    def represent(
        self,
        query_modality: str,
        gallery_modality: str,
        queries: Features,
        gallery: Features,
        purpose: Purpose = "auto",
    ) -> tuple[Singles, Singles]:
        """Compare generated with true embeddings of the gallery's modality, or joint embeddings with each other."""
        if self.representation == "joint" or query_modality == gallery_modality:
            return super().represent(query_modality, gallery_modality, queries, gallery, purpose)
        self.settle_purpose(purpose)
        self._check_features(query_modality, queries)
        self._check_features(gallery_modality, gallery)
        embeddings, _ = self.joint_.complete({query_modality: run_chain(self.chains_[query_modality], queries)})
        return embeddings[gallery_modality], run_chain(self.chains_[gallery_modality], gallery)
