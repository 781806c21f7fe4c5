"""What one modality of a dataset is: its kind, its dimension and its rows."""

from dataclasses import dataclass
from typing import Literal

from diptych.arrays import Booleans, Features

Kind = Literal["dense", "counts"]
KINDS: tuple[Kind, ...] = ("dense", "counts")


@dataclass(frozen=True)
class Modality:
    """The description of a modality in `dataset.json`.

    Attributes:
        name: how code and users call it: "image", "text", or any other word.
        kind: "dense" for real numbers, "counts" for non-negative whole numbers kept sparse.
        dimension: the length of one row.
        items: how many items have this modality.
    """

    name: str
    kind: Kind
    dimension: int
    items: int

    @property
    def file(self) -> str:
        """The file inside the dataset's folder that holds the rows of the items that have it."""
        return f"{self.name}.npy" if self.kind == "dense" else f"{self.name}.npz"


@dataclass(frozen=True)
class ModalityRows:
    """One modality on its way into a dataset.

    Attributes:
        kind: see `Modality`.
        values: one row for each item that has the modality, in item order.
        present: which items have it; None when all have.
        origin: where the rows came from, for error messages (a file name).
    """

    kind: Kind
    values: Features
    present: Booleans | None = None
    origin: str = "the given array"
