"""Which methods are rerun, what the paper calls them, and where they stand in the tables."""

from dataclasses import dataclass
from typing import Final, Literal

Group = Literal["paper", "ablation", "variant", "beyond"]

GROUP_TITLES: Final[dict[Group, str]] = {
    "paper": "the paper's methods",
    "ablation": "the paper's ablation",
    "variant": "other variants of the paper's methods",
    "beyond": "methods beyond the paper's",
}


@dataclass(frozen=True)
class Row:
    """One line of the tables.

    Attributes:
        method: the registry's name.
        title: the paper's name, or a plain one.
        group: the part of the table it stands in.
        deep: whether it trains networks, so that its published figure depends on more than its formula.
    """

    method: str
    title: str
    group: Group
    deep: bool = False


LINEUP: Final = (
    Row("cca-paper", "CCA, no ridge", "paper"),
    Row("cfa", "CFA", "paper"),
    Row("kcca-poly", "KCCA (poly)", "paper"),
    Row("kcca-rbf", "KCCA (RBF)", "paper"),
    Row("bimodal-ae", "Bimodal AE", "paper", deep=True),
    Row("multimodal-dbn", "Multimodal DBN", "paper", deep=True),
    Row("corr-full-ae", "Corr-AE (full)", "paper", deep=True),
    Row("jrl", "JRL", "paper"),
    Row("cmdn", "CMDN", "paper", deep=True),
    Row("cdmlmr", "CDMLMR", "paper", deep=True),
    Row("cdmlmr-staged", "CDMLMR, stage by stage", "variant", deep=True),
    Row("base", "Base", "ablation", deep=True),
    Row("cdmlmr-quad", "Quad", "ablation", deep=True),
    Row("cdmlmr-semi", "Semi", "ablation", deep=True),
    Row("cca", "CCA, tuned", "variant"),
    Row("corr-ae", "Corr-AE (plain)", "variant", deep=True),
    Row("corr-cross-ae", "Corr-AE (cross)", "variant", deep=True),
    Row("sm", "SM", "beyond"),
    Row("two-tower", "two towers", "beyond", deep=True),
    Row("scm", "SCM", "beyond"),
    Row("cca3v", "three-view CCA", "beyond"),
    Row("dcca", "DCCA", "beyond", deep=True),
    Row("multimodal-dbm", "Multimodal DBM", "beyond", deep=True),
    Row("chance", "random codes", "beyond"),
)


def row_of(method: str) -> Row:
    """A method's line; one the line-up does not know stands beyond the paper's."""
    return next((row for row in LINEUP if row.method == method), Row(method, method, "beyond"))
