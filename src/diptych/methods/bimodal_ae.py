"""The bimodal autoencoder as a method of its own, without labels."""

from typing import ClassVar

from diptych.methods.deep.bimodal_stage import train_bimodal
from diptych.methods.deep.dbn_stage import train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain
from diptych.methods.deep.workshop import Workshop


class BimodalAE(DeepMethod):
    """Codes of two DBNs meet in the middle layer of an autoencoder that must rebuild both from either alone.

    z = σ(W₁x₁ + W₂x₂ + b); a missing modality counts as zero, and training shows each pair three times: first
    modality alone, second alone, both. No labels.

    Paper: Ngiam et al., Multimodal Deep Learning, ICML 2011; as a retrieval baseline, Feng et al., ACM MM 2014. The
    weights that retrieve best on validation are kept.
    """

    citation: ClassVar[str] = "J. Ngiam et al. Multimodal Deep Learning. ICML 2011."

    def _train(self, shop: Workshop) -> dict[str, Chain]:
        coded = {name: train_dbn(shop, name) for name in shop.data.modalities}
        shared = train_bimodal(
            shop, "bimodal AE", "bimodal", coded, shop.profile.code_width, supervised=False, rescale=False
        )
        return {name: modality.chain for name, modality in shared.items()}
