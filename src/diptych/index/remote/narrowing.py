"""A search's condition and its modality as one condition."""

from diptych.index.filters import And, Comparison, Condition, Key


def narrowed(condition: Condition | None, modality: str | None) -> Condition | None:
    """Both must hold; None where neither was given."""
    if modality is None:
        return condition
    alone = Comparison(Key(("modality",)), "=", modality)
    return And((alone, condition)) if condition else alone
