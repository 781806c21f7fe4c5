"""Which space of a model each measure is taken in, and how a reader is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diptych.experiments.judging import Relevance
from diptych.methods.base import Method
from diptych.methods.purposes import Purpose


@dataclass(frozen=True)
class MeasuredSpaces:
    """The purposes a model's scores were measured with; None where it has a single space.

    Attributes:
        main: of MAP and its kin.
        instance: of the search for an item's own partner.
    """

    main: Purpose | None
    instance: Purpose | None

    @classmethod
    def of(cls, method: Method, purpose: Purpose, relevance: Relevance) -> "MeasuredSpaces":
        """Decide: "auto" measures classes in the class space and partners in the partner space.

        Where relevance is by document, MAP looks for partners too.
        """
        main: Purpose = "class" if relevance == "class" else "partner"
        return cls(method.settle_purpose(purpose, auto=main), method.settle_purpose(purpose, auto="partner"))


def spaces_in_words(main: str | None, instance: str | None) -> str:
    """The spaces of MAP and of the partner measures for a note; empty where there is nothing to tell.

    >>> spaces_in_words("class", "partner")
    'MAP is measured in the class space, MRR and R@k in the partner space'
    """
    if main is None or instance is None:
        return ""
    if main == instance:
        return f"MAP, MRR and R@k are measured in {_space(main)}"
    return f"MAP is measured in {_space(main)}, MRR and R@k in {_space(instance)}"


def space_notes(results: Mapping[str, Any]) -> list[str]:
    """One sentence for each of a comparison's methods that has several spaces."""
    told = {
        name: spaces_in_words(block.get("purpose"), block.get("instance_purpose"))
        for name, block in results["methods"].items()
    }
    return [f"{name}: {words}" for name, words in told.items() if words]


def _space(purpose: str) -> str:
    return "both spaces side by side" if purpose == "both" else f"the {purpose} space"
