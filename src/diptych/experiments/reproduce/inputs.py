"""How the inputs here differ from the paper's."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych.data import Dataset
from diptych.experiments.reproduce.lineup import Row
from diptych.experiments.reproduce.studies import PaperInput, Study

NOT_IN_PAPER = "not in the paper"


@dataclass(frozen=True)
class InputReport:
    """The inputs of a dataset beside those of the paper.

    Attributes:
        same: whether kinds, dimensions and split sizes are the paper's, so that absolute figures can be compared.
        words: what differs, or that nothing does.
        network_words: what differs for networks on top of that; empty when nothing does.
        modalities: for each modality the paper's input and the one here, in words.
    """

    same: bool
    words: str
    network_words: str
    modalities: dict[str, dict[str, str]]

    def of_row(self, row: Row) -> str:
        """What to say of one line of a table."""
        if row.group in ("variant", "beyond"):
            return NOT_IN_PAPER
        return f"{self.words}; {self.network_words}" if row.deep and self.network_words else self.words

    def to_json(self) -> dict[str, Any]:
        """The report as recorded beside the results."""
        return {"same_as_paper": self.same, "words": self.words, "modalities": self.modalities}


def compare_inputs(dataset: Dataset, study: Study) -> InputReport:
    """Set a dataset's kinds, dimensions and split sizes beside those the paper states."""
    here = {name: dataset.modalities[name] for name in study.modalities}
    ours = study.released if dataset.source.get("importer") == study.name else {}
    modalities = {
        name: {
            "paper": _words(study.inputs[name]) if name in study.inputs else "–",
            "here": f"{each.dimension:,}-d {each.kind}" + (f" ({ours[name]})" if name in ours else ""),
        }
        for name, each in here.items()
    }
    if not study.inputs:
        return InputReport(False, "the paper did not use this dataset", "", modalities)
    differences, network = [], []
    for name, each in here.items():
        paper = study.inputs[name]
        if (each.dimension, each.kind) != (paper.dimension, paper.kind):
            kinds = ("", "") if each.kind == paper.kind else (f" {each.kind}", f" {paper.kind}")
            differences.append(f"{name} {each.dimension:,}-d{kinds[0]} for {paper.dimension:,}-d{kinds[1]}")
        if (paper.kind, each.kind) == ("counts", "dense"):
            network.append(f"dense {name} goes into a Gaussian machine, not into a Replicated Softmax")
    for split, expected in study.splits.items():
        count = int(np.count_nonzero(dataset.splits == split))
        if count != expected:
            differences.append(f"{count:,} {split} items for {expected:,}")
    words = ", ".join(differences) or "as in the paper"
    return InputReport(not differences, words, "; ".join(network), modalities)


def _words(paper: PaperInput) -> str:
    return f"{paper.dimension:,}-d {paper.kind} ({paper.words})"
