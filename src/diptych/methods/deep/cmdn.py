"""Cross-media multiple deep networks."""

from collections.abc import Mapping
from typing import ClassVar

from diptych._core.errors import ConfigError
from diptych.features import fit_scaling
from diptych.methods.deep.autoencoders import train_bimodal
from diptych.methods.deep.base_network import train_supervised
from diptych.methods.deep.dbn import EmbeddedModality, JointEmbedder, sigmoid_layer, train_dbn, train_joint, train_rbm
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen_layer
from diptych.methods.deep.layers import Chain, Parallel, run_chain
from diptych.methods.selection import Search, Validation
from diptych.nets import Autoencoder, BernoulliRBM, ReconstructionObjective


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
    IJCAI 2016. Changes: autoencoder inputs are brought to [0, 1]; embeddings are scaled with training statistics and
    not with each split's own; the number of bimodal autoencoders is chosen on validation.

    Args:
        depth: how many bimodal autoencoders; None chooses on validation.
        profile: see `DeepMethod`.
        seed: see `DeepMethod`.
        device: see `DeepMethod`.
        cache: see `DeepMethod`.
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
