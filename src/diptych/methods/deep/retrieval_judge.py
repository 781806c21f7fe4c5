"""Judge a network while it trains: retrieve validation items with its codes as they are."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from diptych._core.arrays import Singles
from diptych.data.fingerprint import hash_records
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.methods.selection import Validation

Coder = Callable[[str, torch.Tensor], torch.Tensor]
"""From a modality and its rows to codes, as `code` of the autoencoders."""


class RetrievalJudge:
    """The mean MAP over both directions on validation, of the codes a network gives now.

    Attributes:
        inputs: what the judgement depends on, for the stage's key.
    """

    def __init__(self, shop: Workshop, validation: Validation, rows: Mapping[str, Singles], coder: Coder) -> None:
        self.validation = validation
        self.coder = coder
        self.inputs: dict[str, np.ndarray | str] = {f"validation {name}": value for name, value in rows.items()}
        self.inputs["validation labels"] = labels_key(validation)
        self._rows = {name: shop.tensor(value) for name, value in rows.items()}

    def __call__(self) -> float:
        """Score the network as it is."""
        codes = {name: self.coder(name, rows).detach().cpu().numpy() for name, rows in self._rows.items()}
        return self.validation.score(codes)


def retrieval_judge(shop: Workshop, chains: Mapping[str, Chain], coder: Coder) -> RetrievalJudge | None:
    """The judge over the validation split, for a network that reads the chains' codes; None without validation."""
    validation = Validation.of(shop.data)
    if validation is None:
        return None
    rows = {name: run_chain(chain, validation.rows[name]) for name, chain in chains.items()}
    return RetrievalJudge(shop, validation, rows, coder)


def labels_key(validation: Validation) -> str:
    """A hash of what a judgement depends on beside the rows: the labels, and how many results count."""
    labels = [[*part.matrix.indices.tolist(), *part.matrix.indptr.tolist()] for part in validation.labels.values()]
    return hash_records([validation.k, labels])
