"""Torch building blocks: machines, nets and their objectives. How long and how fast to train is decided elsewhere."""

from diptych.nets.autoencoder import Autoencoder, ReconstructionObjective
from diptych.nets.bimodal_autoencoder import BimodalAutoencoder, BimodalObjective
from diptych.nets.boltzmann_learning import DeepBoltzmannObjective, PersistentChains
from diptych.nets.contrastive_divergence import ContrastiveDivergence, Order, constant_order, step_up_order
from diptych.nets.correspondence_autoencoder import CorrespondenceAutoencoder, CorrespondenceObjective, Variant
from diptych.nets.dbn import DeepBeliefNetwork
from diptych.nets.deep_boltzmann import DeepBoltzmannMachine, Layers, Pathway
from diptych.nets.deep_cca import DeepCCA, DeepCCAObjective, canonical_correlations
from diptych.nets.dense import Activation, DenseStack, Scheme, activation_function, dense, dropout
from diptych.nets.feed_forward import ClassificationObjective, FeedForward
from diptych.nets.multimodal_rbm import Completion, complete
from diptych.nets.rbm import BernoulliRBM, GaussianRBM, RestrictedBoltzmannMachine, sample_binary
from diptych.nets.replicated_softmax import ReplicatedSoftmax, multinomial_counts
from diptych.nets.row_source import JoinedRows, RowSource, SparseRows, in_chunks
from diptych.nets.sparsity import SparsityPenalty

__all__ = [
    "Activation",
    "Autoencoder",
    "BernoulliRBM",
    "BimodalAutoencoder",
    "BimodalObjective",
    "ClassificationObjective",
    "Completion",
    "ContrastiveDivergence",
    "CorrespondenceAutoencoder",
    "CorrespondenceObjective",
    "DeepBeliefNetwork",
    "DeepBoltzmannMachine",
    "DeepBoltzmannObjective",
    "DeepCCA",
    "DeepCCAObjective",
    "DenseStack",
    "FeedForward",
    "GaussianRBM",
    "JoinedRows",
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
    "complete",
    "constant_order",
    "dense",
    "dropout",
    "in_chunks",
    "multinomial_counts",
    "sample_binary",
    "step_up_order",
]
