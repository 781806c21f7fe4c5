"""Torch building blocks: machines, nets and their objectives. How long and how fast to train is decided elsewhere."""

from diptych.nets.autoencoder import (
    Autoencoder,
    BimodalAutoencoder,
    BimodalObjective,
    CorrespondenceAutoencoder,
    CorrespondenceObjective,
    ReconstructionObjective,
    Variant,
)
from diptych.nets.boltzmann_learning import (
    ContrastiveDivergence,
    DeepBoltzmannObjective,
    Order,
    PersistentChains,
    SparsityPenalty,
    constant_order,
    step_up_order,
)
from diptych.nets.deep_boltzmann import DeepBoltzmannMachine, Layers, Pathway
from diptych.nets.deep_cca import DeepCCA, DeepCCAObjective, canonical_correlations
from diptych.nets.dense import (
    Activation,
    ClassificationObjective,
    DenseStack,
    FeedForward,
    Scheme,
    activation_function,
    dense,
    dropout,
)
from diptych.nets.rbm import (
    BernoulliRBM,
    GaussianRBM,
    ReplicatedSoftmax,
    RestrictedBoltzmannMachine,
    multinomial_counts,
    sample_binary,
)
from diptych.nets.rows import RowSource, SparseRows, in_chunks

__all__ = [
    "Activation",
    "Autoencoder",
    "BernoulliRBM",
    "BimodalAutoencoder",
    "BimodalObjective",
    "ClassificationObjective",
    "ContrastiveDivergence",
    "CorrespondenceAutoencoder",
    "CorrespondenceObjective",
    "DeepBoltzmannMachine",
    "DeepBoltzmannObjective",
    "DeepCCA",
    "DeepCCAObjective",
    "DenseStack",
    "FeedForward",
    "GaussianRBM",
    "Layers",
    "Order",
    "Pathway",
    "PersistentChains",
    "ReconstructionObjective",
    "ReplicatedSoftmax",
    "RestrictedBoltzmannMachine",
    "RowSource",
    "Scheme",
    "SparseRows",
    "SparsityPenalty",
    "Variant",
    "activation_function",
    "canonical_correlations",
    "constant_order",
    "dense",
    "dropout",
    "in_chunks",
    "multinomial_counts",
    "sample_binary",
    "step_up_order",
]
