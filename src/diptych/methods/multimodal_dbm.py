"""The multimodal deep Boltzmann machine."""

from typing import ClassVar

import numpy as np
import torch

from diptych._core.arrays import Features, Singles
from diptych.methods.deep.boltzmann_stage import pretrain
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.nets import DeepBoltzmannMachine, DeepBoltzmannObjective

_LEARNING = {"sweeps": 2, "iterations": 5}
_MEAN_FIELD_ROUNDS = 30


class MultimodalDBM(DeepMethod):
    """Two-layer pathways under a joint layer, as one undirected model; the code is the joint layer's mean field.

    Machines trained layer by layer, with the gains that let them fit together, start the model; then the variational
    lower bound is climbed with mean field for the data and persistent Gibbs chains for the model. A modality alone is
    embedded by inferring the joint layer with the other modality unknown. No labels.

    Paper: Srivastava and Salakhutdinov, Multimodal Learning with Deep Boltzmann Machines, NIPS 2012.
    """

    citation: ClassVar[str] = (
        "N. Srivastava, R. Salakhutdinov. Multimodal Learning with Deep Boltzmann Machines. NIPS 2012."
    )

    def _train(self, shop: Workshop) -> dict[str, Chain]:
        start = pretrain(shop)
        pairs = shop.data.train.having(*shop.data.modalities)
        rows = {name: run_chain(chain, pairs.features(name)) for name, chain in start.chains.items()}
        sources = {name: shop.tensor(values) for name, values in rows.items()}
        objective = DeepBoltzmannObjective(start.machine, sources, shop.random("chains"), **_LEARNING)
        shop.train(
            "deep Boltzmann machine",
            objective,
            shop.settings("boltzmann-machine"),
            inputs=rows,
            options=_LEARNING,
            upstream=start.keys,
        )
        self._machine = start.machine
        self.weights_ = {name: value.numpy().copy() for name, value in start.machine.state_dict().items()}
        self.layout_ = start.layout
        return dict(start.chains)

    def _embed(self, modality: str, rows: Features) -> Singles:
        visible = torch.from_numpy(run_chain(self.chains_[modality], rows))
        return np.asarray(self._restored().mean_field({modality: visible}, _MEAN_FIELD_ROUNDS).joint.numpy())

    def _restored(self) -> DeepBoltzmannMachine:
        """The machine, built from the learned weights when the model was loaded."""
        if not hasattr(self, "_machine"):
            self._machine = self.layout_.build()
            self._machine.load_state_dict({name: torch.from_numpy(value) for name, value in self.weights_.items()})
        return self._machine
