"""The base network of CDMLMR."""

from typing import ClassVar

from diptych.methods.deep.bimodal_stage import train_bimodal
from diptych.methods.deep.dbn_stage import CodedModality, train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain
from diptych.methods.deep.supervised_stage import train_supervised
from diptych.methods.deep.workshop import Workshop


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


def shared_codes(shop: Workshop) -> dict[str, CodedModality]:
    """Train the base network and return each modality's way to S."""
    refined = {name: train_supervised(shop, name, train_dbn(shop, name)) for name in shop.data.modalities}
    middle = max(2, shop.profile.supervised_width // 2)
    return train_bimodal(shop, "bimodal autoencoder", "bimodal-first", refined, middle, supervised=True, rescale=True)
