"""The multimodal deep belief network."""

from typing import ClassVar, Literal

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError
from diptych.methods.deep.dbn_stage import train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.joint_machine import JointCode
from diptych.methods.deep.joint_stage import train_joint
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.methods.purposes import Purpose

Representation = Literal["generated", "joint"]


class MultimodalDBN(DeepMethod):
    """A joint machine over the codes of two DBNs, p(h = 1 | v₁, v₂) = σ(v₁W₁ + v₂W₂ + c). No labels.

    Under "generated", a query's code of the *other* modality is filled in by mean field and compared with the gallery's
    true codes, so the space depends on the direction. Under "joint", both sides are compared by the joint layer
    inferred from each alone. `embed` always gives the joint code, the one space an index can hold.

    Paper: Srivastava and Salakhutdinov, Learning Representations for Multimodal Data with Deep Belief Nets, ICML 2012
    workshop; retrieval by generated codes as in Feng et al., ACM MM 2014.

    Args:
        representation: "generated" or "joint".
        profile: see `DeepMethod`.
        seed: see `DeepMethod`.
        device: see `DeepMethod`.
        cache: see `DeepMethod`.
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

    def _train(self, shop: Workshop) -> dict[str, Chain]:
        coded = {name: train_dbn(shop, name) for name in shop.data.modalities}
        self.joint_, _ = train_joint(shop, coded)
        return {name: modality.chain for name, modality in coded.items()}

    def _embed(self, modality: str, rows: Features) -> Singles:
        return run_chain((*self.chains_[modality], JointCode(self.joint_, modality)), rows)

    def represent(
        self,
        query_modality: str,
        gallery_modality: str,
        queries: Features,
        gallery: Features,
        purpose: Purpose = "auto",
    ) -> tuple[Singles, Singles]:
        """Compare generated with true codes of the gallery's modality, or joint codes with joint codes."""
        if self.representation == "joint" or query_modality == gallery_modality:
            return super().represent(query_modality, gallery_modality, queries, gallery, purpose)
        self.settle_purpose(purpose)
        self._check_features(query_modality, queries)
        self._check_features(gallery_modality, gallery)
        codes, _ = self.joint_.complete({query_modality: run_chain(self.chains_[query_modality], queries)})
        return codes[gallery_modality], run_chain(self.chains_[gallery_modality], gallery)
