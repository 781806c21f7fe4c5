"""Stage three: a bimodal autoencoder whose middle layer each modality can reach alone."""

from collections.abc import Mapping

from diptych.features import fit_scaling
from diptych.methods.deep.dbn_stage import CodedModality
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.retrieval_judge import retrieval_judge
from diptych.methods.deep.workshop import Workshop, frozen_layer
from diptych.nets import BimodalAutoencoder, BimodalObjective


def train_bimodal(
    shop: Workshop,
    name: str,
    kind: str,
    coded: Mapping[str, CodedModality],
    middle: int,
    *,
    supervised: bool,
    rescale: bool,
) -> dict[str, CodedModality]:
    """Train on pairs of codes and return each modality's own way to the middle layer.

    Args:
        shop: the fit's workshop.
        name: what to call the stage.
        kind: which settings it takes.
        coded: the modalities as they come in.
        middle: width of the middle layer.
        supervised: add the softmax head and learn from labelled pairs only; else from all pairs, without labels.
        rescale: bring unbounded codes to [0, 1] with training statistics, which the sigmoid reconstruction needs.
    """
    pairs = shop.data.train.having(*coded)
    pairs = pairs.labelled() if supervised else pairs
    chains: dict[str, Chain] = {name: modality.chain for name, modality in coded.items()}
    if rescale:
        codes = {name: run_chain(chain, pairs.features(name)) for name, chain in chains.items()}
        chains = {name: (*chain, fit_scaling(codes[name], "dense", "minmax")) for name, chain in chains.items()}
    rows = {name: run_chain(chain, pairs.features(name)) for name, chain in chains.items()}
    classes = len(shop.data.classes) if supervised else None
    net = BimodalAutoencoder(
        {name: values.shape[1] for name, values in rows.items()}, middle, shop.random("bimodal", name), classes=classes
    )
    labels = shop.tensor(pairs.labels.codes) if supervised else None
    judge = retrieval_judge(shop, chains, net.code)
    trained = shop.train(
        name,
        BimodalObjective(net, {key: shop.tensor(values) for key, values in rows.items()}, labels),
        shop.settings(kind),
        inputs={
            **{f"rows {key}": values for key, values in rows.items()},
            **({"labels": labels} if labels is not None else {}),
            **(judge.inputs if judge else {}),
        },
        options={"supervised": supervised, "classes": classes},
        upstream=tuple(modality.key for modality in coded.values()),
        validate=judge,
    )
    return {
        name: CodedModality((*chain, frozen_layer(net.encoders[name], "sigmoid", net.middle_bias)), trained.key, middle)
        for name, chain in chains.items()
    }
