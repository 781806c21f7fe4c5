"""What one modality of a dataset is: its kind, its dimension and its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from diptych._core.arrays import Booleans, Features
from diptych._core.errors import DataError

BlockKind = Literal["dense", "counts"]
Kind = str
"""What the columns of a row are: "dense" or "counts", or blocks of both such as "counts:3000+dense:384"."""

KINDS: tuple[BlockKind, ...] = get_args(BlockKind)


@dataclass(frozen=True)
class KindBlock:
    """A run of columns of one kind.

    Attributes:
        kind: "dense" or "counts".
        start: the first column.
        stop: one past the last.
    """

    kind: BlockKind
    start: int
    stop: int

    @property
    def width(self) -> int:
        """How many columns it has."""
        return self.stop - self.start


def join_kinds(parts: Sequence[tuple[Kind, int]]) -> Kind:
    """The kind of rows put side by side, from the kind and the width of each part.

    >>> join_kinds([("counts", 3000), ("dense", 384)])
    'counts:3000+dense:384'
    >>> join_kinds([("dense", 10), ("dense", 20)])
    'dense'
    """
    blocks = [block for kind, width in parts for block in kind_blocks(kind, width)]
    kinds = {block.kind for block in blocks}
    return kinds.pop() if len(kinds) == 1 else "+".join(f"{block.kind}:{block.width}" for block in blocks)


def kind_blocks(kind: Kind, dimension: int) -> tuple[KindBlock, ...]:
    """The runs of columns that a kind names, in rows of so many columns.

    >>> [block.kind for block in kind_blocks("counts:2+dense:3", 5)]
    ['counts', 'dense']

    Raises:
        DataError: when the kind is unknown or its blocks have another width.
    """
    if kind in KINDS:
        return (KindBlock(kind, 0, dimension),)
    blocks: list[KindBlock] = []
    for part in kind.split("+"):
        name, _, width = part.partition(":")
        if name not in KINDS or not width.isdecimal() or int(width) < 1:
            raise DataError(
                f"the kind {kind!r} is unknown; it must be one of {', '.join(KINDS)}, or blocks such as "
                "'counts:3000+dense:384'."
            )
        start = blocks[-1].stop if blocks else 0
        blocks.append(KindBlock(name, start, start + int(width)))
    if blocks[-1].stop != dimension:
        raise DataError(f"the kind {kind!r} describes {blocks[-1].stop} columns, but there are {dimension}.")
    return tuple(blocks)


@dataclass(frozen=True)
class Modality:
    """The description of a modality in `dataset.json`.

    Attributes:
        name: how code and users call it: "image", "text", or any other word.
        kind: "dense" for real numbers, "counts" for non-negative whole numbers kept sparse, or blocks of both, which
            are kept dense (see `join_kinds`).
        dimension: the length of one row.
        items: how many items have this modality.
    """

    name: str
    kind: Kind
    dimension: int
    items: int

    @property
    def blocks(self) -> tuple[KindBlock, ...]:
        """The runs of columns of one kind."""
        return kind_blocks(self.kind, self.dimension)

    @property
    def file(self) -> str:
        """The file inside the dataset's folder that holds the rows of the items that have it."""
        return f"{self.name}.npz" if self.kind == "counts" else f"{self.name}.npy"


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
