"""What went wrong on the way, each with its reason, and what came of the rest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from diptych.data.tables import Problem, ProblemKind


@dataclass(frozen=True)
class IngestReport:
    """What came of an ingest; the same inputs give the same report.

    Attributes:
        items: how many items the dataset holds; several captions of one image count once.
        with_modality: how many of them have each modality.
        columns: which column was read as what.
        problems: all that was left out or read with doubt, in order.
    """

    items: int
    with_modality: dict[str, int]
    columns: dict[str, str | None]
    problems: Sequence[Problem]

    def count(self, kind: ProblemKind) -> int:
        """How many problems there are of a kind."""
        return sum(problem.kind == kind for problem in self.problems)

    def to_json(self) -> dict[str, Any]:
        """The report as it is written beside the dataset."""
        return {
            "items": self.items,
            "with_modality": self.with_modality,
            "columns": self.columns,
            "broken_pictures": self.count("picture"),
            "skipped_rows": self.count("row"),
            "problems": [asdict(problem) for problem in self.problems],
        }
