"""Cross-media multiple deep networks, and the base network that CDMLMR shares with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from diptych._core.errors import ConfigError
from diptych.features import Scaling, fit_scaling
from diptych.methods.deep.autoencoders import train_bimodal
from diptych.methods.deep.dbn import EmbeddedModality, JointEmbedder, sigmoid_layer, train_dbn, train_joint, train_rbm
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen_layer
from diptych.methods.deep.layers import Chain, Parallel, run_chain
from diptych.methods.selection import Search, Validation
from diptych.nets import Autoencoder, BernoulliRBM, ClassificationObjective, FeedForward, ReconstructionObjective


def train_supervised(context: StageContext, modality: str, embedded: EmbeddedModality) -> EmbeddedModality:
    """Train on the labelled items that have the modality; keep the weights that classify validation best.

    The embedding is the third hidden layer. Inputs are z-scored with training statistics.
    """
    part = context.data.train.having(modality).labelled()
    embeddings = run_chain(embedded.chain, part.features(modality))
    scaling = fit_scaling(embeddings, "dense", "zscore")
    rows, labels = run_chain((scaling,), embeddings), part.labels.codes
    width = context.profile.supervised_width
    net = FeedForward(
        embeddings.shape[1],
        len(context.data.classes),
        context.random("supervised", modality),
        hidden=(width, width, width),
        scheme="he",
        dropout_share=context.profile.supervised_dropout,
    )
    scorer = _accuracy_scorer(context, modality, embedded, scaling, net)
    trained = context.train(
        f"{modality} supervised net",
        ClassificationObjective(net, context.tensor(rows), context.tensor(labels)),
        context.settings("supervised"),
        inputs={"rows": rows, "labels": labels[:, None], **(scorer.inputs if scorer else {})},
        options={"dropout": context.profile.supervised_dropout},
        upstream=(embedded.key,),
        validate=scorer,
    )
    layers = tuple(frozen_layer(layer, "relu") for layer in net.body.layers)
    return EmbeddedModality((*embedded.chain, scaling, *layers), trained.key, width)


class _AccuracyScorer:
    """The share of validation items classified correctly, minus a little cross-entropy to break ties."""

    def __init__(self, net: FeedForward, rows: np.ndarray, labels: np.ndarray) -> None:
        self.net = net
        self.inputs = {"validation rows": rows, "validation labels": labels[:, None]}
        self._rows, self._labels = torch.from_numpy(rows), torch.from_numpy(labels)

    def __call__(self) -> float:
        device = next(self.net.parameters()).device
        scores = self.net(self._rows.to(device)).cpu()
        accuracy = (scores.argmax(1) == self._labels).float().mean()
        loss = torch.nn.functional.cross_entropy(scores, self._labels)
        return float(accuracy - 1e-3 * loss)


def _accuracy_scorer(
    context: StageContext, modality: str, embedded: EmbeddedModality, scaling: Scaling, net: FeedForward
) -> _AccuracyScorer | None:
    if context.data.validation is None:
        return None
    part = context.data.validation.having(modality).labelled()
    if not len(part):
        return None
    return _AccuracyScorer(net, run_chain((*embedded.chain, scaling), part.features(modality)), part.labels.codes)


_SEED_STRIDE = 1_000_003
"""Between the seeds of two members: nobody numbers runs so high."""


class BaseNetwork(DeepMethod):
    """DBN per modality, supervised net per modality, bimodal autoencoder: shallow shared embeddings S.

    Each stage is frozen before the next and sees the training split only; S of a modality is the middle layer of the
    autoencoder reached from that modality alone, half as wide as its input.

    Paper: Huang and Peng, Cross-modal Deep Metric Learning with Multi-task Regularization, ICME 2017. The ablation
    "Base" retrieves with S directly. Changes: inputs of the autoencoder are brought to [0, 1] with training
    statistics, because a sigmoid cannot reconstruct unbounded embeddings; every stage that sees labels keeps its best
    weights by validation.
    """

    uses_labels: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "X. Huang, Y. Peng. Cross-modal Deep Metric Learning with Multi-task Regularization. ICME 2017."
    )

    def _train(self, context: StageContext) -> dict[str, Chain]:
        return {name: embedded.chain for name, embedded in shared_embeddings(context).items()}


def shared_embeddings(
    context: StageContext, members: int = 1, *, with_dbn: bool = False
) -> dict[str, EmbeddedModality]:
    """Train the base network and return each modality's way to S.

    Args:
        context: what the stages of the fit share.
        members: how many supervised nets and autoencoders to train on the same DBNs, each with a seed of its own;
            their embeddings stand side by side. A small supervised net depends on its seed more than one would like.
        with_dbn: put the DBNs' own embeddings beside S: what no label has filtered.
    """
    dbns = {name: train_dbn(context, name) for name in context.data.modalities}
    team = [_refine(replace(context, seed=context.seed + _SEED_STRIDE * member), dbns) for member in range(members)]
    return {name: _side_by_side(dbn, [embeddings[name] for embeddings in team], with_dbn) for name, dbn in dbns.items()}


def _refine(context: StageContext, dbns: Mapping[str, EmbeddedModality]) -> dict[str, EmbeddedModality]:
    refined = {name: train_supervised(context, name, dbn) for name, dbn in dbns.items()}
    middle = max(2, context.profile.supervised_width // 2)
    return train_bimodal(
        context, "bimodal autoencoder", "bimodal-first", refined, middle, supervised=True, rescale=True
    )


def _side_by_side(below: EmbeddedModality, team: Sequence[EmbeddedModality], with_dbn: bool) -> EmbeddedModality:
    if len(team) == 1 and not with_dbn:
        return team[0]
    tails: tuple[Chain, ...] = tuple(embedded.chain[len(below.chain) :] for embedded in team)
    width = sum(embedded.width for embedded in team)
    if with_dbn:
        tails, width = (*tails, ()), width + below.width
    key = " ".join(embedded.key for embedded in team)
    return EmbeddedModality((*below.chain, Parallel(tails)), key, width)


def train_autoencoder(context: StageContext, modality: str) -> EmbeddedModality:
    """Train d → w → d, then d → w → w/2 → w → d grown from it; the embedding is the innermost layer.

    Inputs are brought to [0, 1] with training statistics (word frequencies for counts), which the sigmoid output needs.
    """
    rows = context.data.train.having(modality).features(modality)
    scaled: Chain = (fit_scaling(rows, context.data.kinds[modality], {"counts": "tf+minmax", "dense": "minmax"}),)
    values = run_chain(scaled, rows)
    source, width = context.tensor(values), context.profile.dense_widths[1]
    single = Autoencoder((values.shape[1], width), context.random("autoencoder", modality, "1"))
    outer = context.train(
        f"{modality} autoencoder",
        ReconstructionObjective(single, source),
        context.settings("autoencoder"),
        inputs={"rows": values},
    )
    deep = single.deepened(width // 2, context.random("autoencoder", modality, "2"))
    inner = context.train(
        f"{modality} deep autoencoder",
        ReconstructionObjective(deep, source),
        context.settings("autoencoder-deep"),
        inputs={"rows": values},
        upstream=(outer.key,),
    )
    layers = tuple(frozen_layer(layer, "relu") for layer in deep.encoder.layers)
    return EmbeddedModality((*scaled, *layers), inner.key, width // 2)


DEPTH = 4


class CMDN(DeepMethod):
    """Separate and joint embeddings of each modality, fused, refined by labels, and combined by stacked autoencoders.

    1. A stacked autoencoder per modality gives the separate embedding, a multimodal DBN the joint embedding
       inferred from that modality alone.
    2. A fusion machine per modality joins the two; a supervised net refines the result.
    3. Up to four bimodal autoencoders with a softmax head, each half as wide as the one below, combine the modalities.

    Paper: Peng, Huang and Qi, Cross-media Shared Representation by Hierarchical Learning with Multiple Deep Networks,
    IJCAI 2016. Changes: autoencoder inputs are scaled to [0, 1]; embeddings are scaled with training statistics instead
    of each split's own; the number of bimodal autoencoders is chosen on validation.

    Args:
        depth: how many bimodal autoencoders; None chooses on validation.
    """

    uses_labels: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Y. Peng, X. Huang, J. Qi. Cross-media Shared Representation by Hierarchical Learning with Multiple Deep "
        "Networks. IJCAI 2016."
    )

    def __init__(
        self,
        depth: int | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.depth = depth

    def _check(self) -> None:
        if self.depth is not None and self.depth < 1:
            raise ConfigError(f"depth is {self.depth}; it must be at least 1, or none to choose on validation.")

    def _train(self, context: StageContext) -> dict[str, Chain]:
        beliefs = {name: train_dbn(context, name) for name in context.data.modalities}
        machine, joint_key = train_joint(context, beliefs)
        refined = {}
        for name, belief in beliefs.items():
            separate = train_autoencoder(context, name)
            joint = EmbeddedModality((*belief.chain, JointEmbedder(machine, name)), joint_key, len(machine.hidden_bias))
            refined[name] = train_supervised(context, name, _train_fusion(context, name, separate, joint))
        return self._combine(context, refined)

    def _combine(self, context: StageContext, embedded: Mapping[str, EmbeddedModality]) -> dict[str, Chain]:
        """Stack bimodal autoencoders and keep the depth that retrieves best."""
        validation = Validation.of(context.data)
        search, chosen = Search(), {}
        middle = context.profile.supervised_width
        for level in range(1, (self.depth or DEPTH) + 1):
            middle = max(2, middle // 2)
            kind = "bimodal-first" if level == 1 else "bimodal"
            embedded = train_bimodal(
                context, f"bimodal autoencoder {level}", kind, embedded, middle, supervised=True, rescale=level == 1
            )
            chains = {name: modality.chain for name, modality in embedded.items()}
            if self.depth is not None or validation is None or search.add({"depth": level}, _score(chains, validation)):
                chosen = chains
        self.record_["selection"] = search.trials
        self.record_["chosen"] = search.best if search.trials else {"depth": self.depth or DEPTH}
        return chosen


def _score(chains: Mapping[str, Chain], validation: Validation) -> float:
    return validation.score({name: run_chain(chain, validation.rows[name]) for name, chain in chains.items()})


def _train_fusion(
    context: StageContext, modality: str, separate: EmbeddedModality, joint: EmbeddedModality
) -> EmbeddedModality:
    """A machine over the separate embedding, brought to [0, 1], and the joint embedding side by side."""
    rows = context.data.train.having(modality).features(modality)
    scaling = fit_scaling(run_chain(separate.chain, rows), "dense", "minmax")
    parallel = Parallel(((*separate.chain, scaling), joint.chain))
    values = parallel(rows)
    width = context.profile.dense_widths[1]
    rbm = BernoulliRBM(values.shape[1], width, random=context.random("fusion", modality))
    name = f"{modality} fusion RBM"
    key = train_rbm(context, name, "fusion-rbm", rbm, context.tensor(values), values, (separate.key, joint.key))
    return EmbeddedModality((parallel, sigmoid_layer(rbm)), key, width)
