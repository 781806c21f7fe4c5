"""The base network of CDMLMR."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from diptych.methods.deep.bimodal_stage import train_bimodal
from diptych.methods.deep.dbn_stage import CodedModality, train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain, Parallel
from diptych.methods.deep.supervised_stage import train_supervised
from diptych.methods.deep.workshop import Workshop

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

    def _train(self, shop: Workshop) -> dict[str, Chain]:
        return {name: coded.chain for name, coded in shared_codes(shop).items()}


def shared_codes(shop: Workshop, members: int = 1, *, with_dbn: bool = False) -> dict[str, CodedModality]:
    """Train the base network and return each modality's way to S.

    Args:
        shop: the fit's workshop.
        members: how many supervised nets and autoencoders to train on the same DBNs, each with a seed of its own;
            their codes stand side by side. A small supervised net depends on its seed more than one would like.
        with_dbn: put the DBNs' own codes beside S: what no label has filtered.
    """
    dbns = {name: train_dbn(shop, name) for name in shop.data.modalities}
    team = [_refine(replace(shop, seed=shop.seed + _SEED_STRIDE * member), dbns) for member in range(members)]
    return {name: _side_by_side(dbn, [codes[name] for codes in team], with_dbn) for name, dbn in dbns.items()}


def _refine(shop: Workshop, dbns: Mapping[str, CodedModality]) -> dict[str, CodedModality]:
    refined = {name: train_supervised(shop, name, dbn) for name, dbn in dbns.items()}
    middle = max(2, shop.profile.supervised_width // 2)
    return train_bimodal(shop, "bimodal autoencoder", "bimodal-first", refined, middle, supervised=True, rescale=True)


def _side_by_side(below: CodedModality, team: Sequence[CodedModality], with_dbn: bool) -> CodedModality:
    if len(team) == 1 and not with_dbn:
        return team[0]
    tails: tuple[Chain, ...] = tuple(coded.chain[len(below.chain) :] for coded in team)
    width = sum(coded.width for coded in team)
    if with_dbn:
        tails, width = (*tails, ()), width + below.width
    key = " ".join(coded.key for coded in team)
    return CodedModality((*below.chain, Parallel(tails)), key, width)
