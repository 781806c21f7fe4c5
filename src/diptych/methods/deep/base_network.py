"""Stage two: a three-layer supervised net per modality turns codes into class-aware codes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from diptych.features import Scaling, fit_scaling
from diptych.methods.deep.autoencoders import train_bimodal
from diptych.methods.deep.dbn import CodedModality, train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain, Parallel, run_chain
from diptych.methods.deep.stage_context import StageContext, frozen_layer
from diptych.nets import ClassificationObjective, FeedForward


def train_supervised(context: StageContext, modality: str, coded: CodedModality) -> CodedModality:
    """Train on the labelled items that have the modality; keep the weights that classify validation best.

    The code is the third hidden layer. Inputs are z-scored with training statistics.
    """
    part = context.data.train.having(modality).labelled()
    codes = run_chain(coded.chain, part.features(modality))
    scaling = fit_scaling(codes, "dense", "zscore")
    rows, labels = run_chain((scaling,), codes), part.labels.codes
    width = context.profile.supervised_width
    net = FeedForward(
        codes.shape[1],
        len(context.data.classes),
        context.random("supervised", modality),
        hidden=(width, width, width),
        scheme="he",
        dropout_share=context.profile.supervised_dropout,
    )
    judge = _accuracy_judge(context, modality, coded, scaling, net)
    trained = context.train(
        f"{modality} supervised net",
        ClassificationObjective(net, context.tensor(rows), context.tensor(labels)),
        context.settings("supervised"),
        inputs={"rows": rows, "labels": labels[:, None], **judge.inputs},
        options={"dropout": context.profile.supervised_dropout},
        upstream=(coded.key,),
        validate=judge if judge else None,
    )
    layers = tuple(frozen_layer(layer, "relu") for layer in net.body.layers)
    return CodedModality((*coded.chain, scaling, *layers), trained.key, width)


class _AccuracyJudge:
    """The share of validation items classified correctly, minus a little cross-entropy to break ties."""

    def __init__(self, net: FeedForward, rows: np.ndarray, labels: np.ndarray) -> None:
        self.net = net
        self.inputs = {"validation rows": rows, "validation labels": labels[:, None]}
        self._rows, self._labels = torch.from_numpy(rows), torch.from_numpy(labels)

    def __bool__(self) -> bool:
        return len(self._labels) > 0

    def __call__(self) -> float:
        device = next(self.net.parameters()).device
        scores = self.net(self._rows.to(device)).cpu()
        accuracy = (scores.argmax(1) == self._labels).float().mean()
        loss = torch.nn.functional.cross_entropy(scores, self._labels)
        return float(accuracy - 1e-3 * loss)


def _accuracy_judge(
    context: StageContext, modality: str, coded: CodedModality, scaling: Scaling, net: FeedForward
) -> _AccuracyJudge:
    nothing = np.zeros((0, coded.width), dtype=np.float32), np.zeros(0, dtype=np.int64)
    if context.data.validation is None:
        return _AccuracyJudge(net, *nothing)
    part = context.data.validation.having(modality).labelled()
    if not len(part):
        return _AccuracyJudge(net, *nothing)
    rows = run_chain((*coded.chain, scaling), part.features(modality))
    return _AccuracyJudge(net, rows, part.labels.codes)


_SEED_STRIDE = 1_000_003
"""Between the seeds of two members: nobody numbers runs so high."""


class BaseNetwork(DeepMethod):
    """DBN per modality, supervised net per modality, bimodal autoencoder: shallow shared codes S.

    Each stage is frozen before the next and sees the training split only; S of a modality is the middle layer of the
    autoencoder reached from that modality alone, half as wide as its input.

    Paper: Huang and Peng, Cross-modal Deep Metric Learning with Multi-task Regularization, ICME 2017. The ablation
    "Base" retrieves with S directly. Changes: inputs of the autoencoder are brought to [0, 1] with training
    statistics, because a sigmoid cannot reconstruct unbounded codes; every stage that sees labels keeps its best
    weights by validation.
    """

    uses_labels: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "X. Huang, Y. Peng. Cross-modal Deep Metric Learning with Multi-task Regularization. ICME 2017."
    )

    def _train(self, context: StageContext) -> dict[str, Chain]:
        return {name: coded.chain for name, coded in shared_codes(context).items()}


def shared_codes(context: StageContext, members: int = 1, *, with_dbn: bool = False) -> dict[str, CodedModality]:
    """Train the base network and return each modality's way to S.

    Args:
        context: what the stages of the fit share.
        members: how many supervised nets and autoencoders to train on the same DBNs, each with a seed of its own;
            their codes stand side by side. A small supervised net depends on its seed more than one would like.
        with_dbn: put the DBNs' own codes beside S: what no label has filtered.
    """
    dbns = {name: train_dbn(context, name) for name in context.data.modalities}
    team = [_refine(replace(context, seed=context.seed + _SEED_STRIDE * member), dbns) for member in range(members)]
    return {name: _side_by_side(dbn, [codes[name] for codes in team], with_dbn) for name, dbn in dbns.items()}


def _refine(context: StageContext, dbns: Mapping[str, CodedModality]) -> dict[str, CodedModality]:
    refined = {name: train_supervised(context, name, dbn) for name, dbn in dbns.items()}
    middle = max(2, context.profile.supervised_width // 2)
    return train_bimodal(
        context, "bimodal autoencoder", "bimodal-first", refined, middle, supervised=True, rescale=True
    )


def _side_by_side(below: CodedModality, team: Sequence[CodedModality], with_dbn: bool) -> CodedModality:
    if len(team) == 1 and not with_dbn:
        return team[0]
    tails: tuple[Chain, ...] = tuple(coded.chain[len(below.chain) :] for coded in team)
    width = sum(coded.width for coded in team)
    if with_dbn:
        tails, width = (*tails, ()), width + below.width
    key = " ".join(coded.key for coded in team)
    return CodedModality((*below.chain, Parallel(tails)), key, width)
