"""Frozen towers of CDMLMR and of two-tower: embed with NumPy, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.state import stateful, stateful_as
from diptych.methods.deep.layers import Chain, DenseLayer, run_chain
from diptych.methods.semantic.posteriors import KernelPosteriors, Posteriors

LEAST_PROBABILITY = 1e-12


@stateful
@dataclass(frozen=True)
class BranchLayer:
    """One branch: sigmoids less ½ at length one, and the softmax on them, if there is one."""

    layer: DenseLayer
    classes: DenseLayer | None

    def outputs(self, rows: Singles) -> Singles:
        """What the branch gives for the last layer of a pathway."""
        return unit_rows(self.layer(rows) - np.float32(0.5))


@stateful
@dataclass(frozen=True)
class MemberTower:
    """One modality's layers of one member, with every constant factor folded into the weights.

    Attributes:
        net: the supervised net, over the DBN's embedding and the features side by side.
        net_classes: the softmax on its last layer.
        shared: S, over the net's last layer and the features side by side.
        shared_classes: the softmax on S.
        pathway: the layers over S; none where S itself is retrieved.
        branches: the branches by the name of their loss.
    """

    net: tuple[DenseLayer, ...]
    net_classes: DenseLayer
    shared: DenseLayer
    shared_classes: DenseLayer
    pathway: tuple[DenseLayer, ...]
    branches: dict[str, BranchLayer]

    def shared_embedding(self, hidden: Singles, features: Singles) -> Singles:
        """S from the net's last layer."""
        return self.shared(np.concatenate([hidden, features], axis=1))

    def hidden(self, entering: Singles) -> Singles:
        """The net's last layer."""
        return run_chain(self.net, entering)


@stateful
@dataclass(frozen=True)
class Tower:
    """One modality of the trained network: from stored rows to class probabilities, or to embeddings.

    Attributes:
        prepare: from stored rows to features.
        dbn: the fine-tuned machines, over stored rows or, where they read them, over scaled features; none without.
        dbn_reads_counts: which of the two.
        reads_features: whether the supervised net reads the features beside the DBN's embedding.
        members: the members' layers.
        heads: the softmax layers whose mean counts: "net", "shared" and names of branches.
    """

    prepare: Chain
    dbn: Chain
    dbn_reads_counts: bool
    reads_features: bool
    members: tuple[MemberTower, ...]
    heads: tuple[str, ...]

    def posteriors(self, rows: Features) -> Floats:
        """The class probabilities of rows, averaged over members and heads.

        In double precision, because what is missing from a probability near one decides `padded`'s last entry.
        """
        features, entering = self._inputs(rows)
        scores = [each for member in self.members for each in self._scores(member, features, entering)]
        return np.asarray(np.mean([softmax(each.astype(np.float64), axis=1) for each in scores], axis=0))

    def embeddings(self, rows: Features) -> Singles:
        """The branches' outputs of all members side by side; S less ½ where there is no branch."""
        features, entering = self._inputs(rows)
        parts = []
        for member in self.members:
            embedding = member.shared_embedding(member.hidden(entering), features)
            upper = run_chain(member.pathway, embedding)
            parts += [branch.outputs(upper) for branch in member.branches.values()] or [embedding - np.float32(0.5)]
        return np.concatenate(parts, axis=1)

    def _inputs(self, rows: Features) -> tuple[Singles, Singles]:
        """Scaled features, and what the supervised net reads: the DBN's embedding, the features, or both."""
        features = run_chain(self.prepare, rows)
        parts = [2.0 * run_chain(self.dbn, rows if self.dbn_reads_counts else features) - 1.0] if self.dbn else []
        parts += [features] if self.reads_features else []
        return features, np.concatenate(parts, axis=1).astype(np.float32)

    def _scores(self, member: MemberTower, features: Singles, entering: Singles) -> list[Singles]:
        hidden = member.hidden(entering)
        embedding = member.shared_embedding(hidden, features)
        found = {"net": member.net_classes(hidden), "shared": member.shared_classes(embedding)}
        if set(self.heads) - {"net", "shared"}:
            upper = run_chain(member.pathway, embedding)
            for name, branch in member.branches.items():
                if branch.classes is not None:
                    found[name] = branch.classes(branch.outputs(upper))
        return [found[name] for name in self.heads]


Regression = Posteriors | KernelPosteriors


@stateful_as("LinearMember")
@dataclass(frozen=True)
class RegressionMember:
    """Logistic regression as a member, on the scaled features or on a kernel of them.

    Attributes:
        posteriors: the fitted regression.
        weight: its share in the mean of class probabilities.
    """

    posteriors: Regression
    weight: float


@stateful_as("ClassProbabilityCode")
@dataclass(frozen=True)
class ClassProbabilityEmbedder:
    """Give embeddings whose cosine with another modality's is the probability that both items are of one class.

    The probabilities p of an item and q of another give Σ p_c q_c, the chance that the two share a class. Each is
    embedded as p with one more entry that brings it to length one, in a column that belongs to its modality alone:
    then the cosine *is* that sum, and a ranking by cosine is a ranking by the probability of being relevant.

    Attributes:
        tower: the network's part.
        regression: the regression; None without one.
        place: the modality's number, which decides its column.
        modalities: how many there are.
        temperature: below 1 it sharpens the probabilities, for an average of cautious guesses is too cautious.
    """

    tower: Tower
    regression: RegressionMember | None = field(metadata={"stored": "linear"})
    place: int
    modalities: int
    temperature: float = 1.0

    def probabilities(self, rows: Features) -> Floats:
        """The class probabilities of rows."""
        network = self.tower.posteriors(rows)
        if self.regression is None:
            return tempered(network, self.temperature)
        features = run_chain(self.tower.prepare, rows)
        regressed = self.regression.posteriors(features.astype(np.float64))
        share = self.regression.weight
        return tempered((1.0 - share) * network + share * regressed, self.temperature)

    def __call__(self, rows: Features) -> Singles:
        """Embed stored rows."""
        return padded(self.probabilities(rows), self.place, self.modalities)


@stateful_as("BranchCode")
@dataclass(frozen=True)
class BranchEmbedder:
    """The embeddings of a tower as they are, less their mean over the training items; length one for each row."""

    tower: Tower
    centre: Singles

    def __call__(self, rows: Features) -> Singles:
        """Embed stored rows."""
        return unit_rows(self.tower.embeddings(rows) - self.centre)


def tempered(probabilities: Floats, temperature: float) -> Floats:
    """Rows of probabilities to the power 1 / temperature, adding up to one again."""
    if temperature == 1.0:
        return probabilities
    powers = np.maximum(probabilities, LEAST_PROBABILITY) ** (1.0 / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def padded(probabilities: Floats, place: int, modalities: int) -> Singles:
    """Bring rows of probabilities to length one by an entry in the column of their modality."""
    extra = np.zeros((len(probabilities), modalities))
    extra[:, place] = np.sqrt(np.maximum(1.0 - np.square(probabilities).sum(axis=1), 0.0))
    return np.concatenate([probabilities, extra], axis=1).astype(np.float32)


def unit_rows(rows: Singles) -> Singles:
    """Rows at length one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)


@stateful_as("TwoTowerCode")
@dataclass(frozen=True)
class TwoTowerEmbedder:
    """One modality's towers of all members, frozen: from scaled rows to what is retrieved.

    Attributes:
        towers: the members' layers.
        classifiers: the members' classifiers, over their embeddings.
        representation: what is retrieved, "embedding", "posteriors" or "both".
    """

    towers: tuple[tuple[DenseLayer, ...], ...]
    classifiers: tuple[DenseLayer, ...]
    representation: str

    def parts(self, rows: Features) -> tuple[list[Singles], Singles]:
        """Every member's embeddings, and the class probabilities averaged over members."""
        embeddings = [run_chain(tower, rows) for tower in self.towers]
        scores = [layer(each) for layer, each in zip(self.classifiers, embeddings, strict=True)]
        return embeddings, np.mean([softmax(each, axis=1) for each in scores], axis=0)

    def __call__(self, rows: Features) -> Singles:
        """Embed scaled rows."""
        return represented(*self.parts(rows), self.representation)


def represented(embeddings: Sequence[Singles], posteriors: Singles, representation: str) -> Singles:
    """Embeddings of all members, class probabilities, or both side by side, each part at length one."""
    if representation == "posteriors":
        return unit_rows(posteriors)
    together = unit_rows(np.concatenate([unit_rows(each) for each in embeddings], axis=1))
    return together if representation == "embedding" else np.concatenate([together, unit_rows(posteriors)], axis=1)
