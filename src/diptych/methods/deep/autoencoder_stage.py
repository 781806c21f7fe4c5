"""A stacked autoencoder per modality: the intra-modality half of CMDN."""

from diptych.features import fit_scaling
from diptych.methods.deep.dbn_stage import CodedModality
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.workshop import Workshop, frozen_layer
from diptych.nets import Autoencoder, ReconstructionObjective


def train_autoencoder(shop: Workshop, modality: str) -> CodedModality:
    """Train d → w → d, then d → w → w/2 → w → d grown from it; the code is the innermost layer.

    Inputs are brought to [0, 1] with training statistics (word frequencies for counts), which the sigmoid output needs.
    """
    rows = shop.data.train.having(modality).features(modality)
    scaled: Chain = (fit_scaling(rows, shop.data.kinds[modality], {"counts": "tf+minmax", "dense": "minmax"}),)
    values = run_chain(scaled, rows)
    source, width = shop.tensor(values), shop.profile.dense_widths[1]
    single = Autoencoder((values.shape[1], width), shop.random("autoencoder", modality, "1"))
    outer = shop.train(
        f"{modality} autoencoder",
        ReconstructionObjective(single, source),
        shop.settings("autoencoder"),
        inputs={"rows": values},
    )
    deep = single.deepened(width // 2, shop.random("autoencoder", modality, "2"))
    inner = shop.train(
        f"{modality} deep autoencoder",
        ReconstructionObjective(deep, source),
        shop.settings("autoencoder-deep"),
        inputs={"rows": values},
        upstream=(outer.key,),
    )
    layers = tuple(frozen_layer(layer, "relu") for layer in deep.encoder.layers)
    return CodedModality((*scaled, *layers), inner.key, width // 2)
