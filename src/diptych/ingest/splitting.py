"""Which split an item belongs to: as given, whatever the table calls it, or drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from diptych._core.errors import ConfigError, DataError
from diptych.data.splits import split_named, stratified_split
from diptych.ingest.items import Item


@dataclass(frozen=True)
class SplitShares:
    """The shares of a drawn split."""

    train: float = 0.7
    val: float = 0.1
    test: float = 0.2

    @classmethod
    def parse(cls, text: str) -> "SplitShares":
        """Read shares as a user writes them.

        >>> SplitShares.parse("80,10,10")
        SplitShares(train=0.8, val=0.1, test=0.1)
        """
        try:
            shares = [float(part) for part in text.split(",")]
        except ValueError:
            shares = []
        if len(shares) != 3 or min(shares) < 0 or not shares[0] or not 0 < sum(shares) < float("inf"):
            raise ConfigError(
                f"the split's shares are '{text}'; write three for train, val and test, such as 70,10,20."
            )
        return cls(*(share / sum(shares) for share in shares))


def assign_splits(
    items: Sequence[Item], labels: Sequence[Sequence[str]], shares: SplitShares | None, seed: int
) -> list[str]:
    """The split of each item: the given one, or one drawn with the same shares in every class.

    Items of one document stay together. Where splits are given, an item without one is a training item, and a word
    that means no split is an error; shares that a user states set the given splits aside.

    Args:
        items: the items.
        labels: the class names of each; the first decides where a drawn split is balanced.
        shares: of a drawn split; None to use the given splits where there are any.
        seed: of the draw.
    """
    if shares is None and any(item.split is not None for item in items):
        return [_given(item) for item in items]
    shares = shares or SplitShares()
    documents = {item.document: names[0] if names else None for item, names in zip(items, labels, strict=True)}
    drawn = stratified_split(list(documents.values()), seed, shares.val, shares.test)
    split_of = dict(zip(documents, drawn.tolist(), strict=True))
    return [split_of[item.document] for item in items]


def _given(item: Item) -> str:
    if item.split is None:
        return "train"
    split = split_named(item.split)
    if split is None:
        raise DataError(
            f"{item.where} has the split '{item.split}'; write train, val or test, name another column with "
            "--split-column (- for none), or draw splits with --split-shares."
        )
    return split
