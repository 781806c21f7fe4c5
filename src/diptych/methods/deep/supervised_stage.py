"""Stage two: a three-layer supervised net per modality turns codes into class-aware codes."""

import numpy as np
import torch

from diptych.features import Scaling, fit_scaling
from diptych.methods.deep.dbn_stage import CodedModality
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.workshop import Workshop, frozen_layer
from diptych.nets import ClassificationObjective, FeedForward


def train_supervised(shop: Workshop, modality: str, coded: CodedModality) -> CodedModality:
    """Train on the labelled items that have the modality; keep the weights that classify validation best.

    The code is the third hidden layer. Inputs are z-scored with training statistics.
    """
    part = shop.data.train.having(modality).labelled()
    codes = run_chain(coded.chain, part.features(modality))
    scaling = fit_scaling(codes, "dense", "zscore")
    rows, labels = run_chain((scaling,), codes), part.labels.codes
    width = shop.profile.supervised_width
    net = FeedForward(
        codes.shape[1],
        len(shop.data.classes),
        shop.random("supervised", modality),
        hidden=(width, width, width),
        scheme="he",
        dropout_share=shop.profile.supervised_dropout,
    )
    judge = _accuracy_judge(shop, modality, coded, scaling, net)
    trained = shop.train(
        f"{modality} supervised net",
        ClassificationObjective(net, shop.tensor(rows), shop.tensor(labels)),
        shop.settings("supervised"),
        inputs={"rows": rows, "labels": labels[:, None], **judge.inputs},
        options={"dropout": shop.profile.supervised_dropout},
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
    shop: Workshop, modality: str, coded: CodedModality, scaling: Scaling, net: FeedForward
) -> _AccuracyJudge:
    nothing = np.zeros((0, coded.width), dtype=np.float32), np.zeros(0, dtype=np.int64)
    if shop.data.validation is None:
        return _AccuracyJudge(net, *nothing)
    part = shop.data.validation.having(modality).labelled()
    if not len(part):
        return _AccuracyJudge(net, *nothing)
    rows = run_chain((*coded.chain, scaling), part.features(modality))
    return _AccuracyJudge(net, rows, part.labels.codes)
