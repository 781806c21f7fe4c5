"""What is left of two towers when they only have to embed: frozen layers, and what of them is retrieved."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from diptych._core.arrays import Features, Singles
from diptych._core.state import stateful
from diptych.methods.deep.layers import DenseLayer, run_chain
from diptych.methods.deep.towers import unit_rows


@stateful
@dataclass(frozen=True)
class TwoTowerCode:
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
