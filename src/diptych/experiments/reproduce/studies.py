"""The comparisons that can be rerun, the figures their paper prints, and the methods in the order of its tables.

A new study is an importer and an entry in `STUDIES`. Source of the figures: X. Huang and Y. Peng, "Cross-modal Deep
Metric Learning with Multi-task Regularization", ICME 2017 (arXiv:1703.07026): MAP over all results, MAP over the first
50, and the ablation. Each triple is image → text, text → image and the average of the two. Its methods stand here under
their registry names; which variant its column "Corr-AE" shows is not stated, and it is taken to be the full one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Literal

from diptych._core.errors import ConfigError
from diptych.data.modality import Kind

Triple = tuple[float, float, float]
Figures = Mapping[str, Mapping[str, Triple]]
"""By method, then by measure ("map", "map@50")."""

CITATION: Final = (
    "X. Huang, Y. Peng: Cross-modal Deep Metric Learning with Multi-task Regularization. ICME 2017, arXiv:1703.07026."
)

WIKIPEDIA: Final[Figures] = {
    "cca-paper": {"map": (0.124, 0.120, 0.122), "map@50": (0.186, 0.167, 0.177)},
    "cfa": {"map": (0.236, 0.211, 0.224), "map@50": (0.315, 0.328, 0.322)},
    "kcca-poly": {"map": (0.200, 0.185, 0.193), "map@50": (0.245, 0.277, 0.261)},
    "kcca-rbf": {"map": (0.245, 0.219, 0.232), "map@50": (0.275, 0.341, 0.308)},
    "bimodal-ae": {"map": (0.236, 0.208, 0.222), "map@50": (0.282, 0.327, 0.305)},
    "multimodal-dbn": {"map": (0.149, 0.150, 0.150), "map@50": (0.189, 0.222, 0.206)},
    "corr-full-ae": {"map": (0.280, 0.242, 0.261), "map@50": (0.335, 0.368, 0.352)},
    "jrl": {"map": (0.344, 0.277, 0.311), "map@50": (0.310, 0.386, 0.348)},
    "cmdn": {"map": (0.393, 0.325, 0.359), "map@50": (0.360, 0.487, 0.424)},
    "cdmlmr": {"map": (0.412, 0.341, 0.377), "map@50": (0.388, 0.517, 0.453)},
    "base": {"map": (0.292, 0.240, 0.266)},
    "cdmlmr-semi": {"map": (0.364, 0.308, 0.336)},
    "cdmlmr-quad": {"map": (0.344, 0.280, 0.312)},
}

NUSWIDE10K: Final[Figures] = {
    "cca-paper": {"map": (0.120, 0.120, 0.120), "map@50": (0.205, 0.210, 0.208)},
    "cfa": {"map": (0.211, 0.188, 0.200), "map@50": (0.324, 0.332, 0.328)},
    "kcca-poly": {"map": (0.150, 0.149, 0.150), "map@50": (0.254, 0.250, 0.252)},
    "kcca-rbf": {"map": (0.232, 0.213, 0.223), "map@50": (0.301, 0.360, 0.331)},
    "bimodal-ae": {"map": (0.159, 0.172, 0.166), "map@50": (0.250, 0.297, 0.274)},
    "multimodal-dbn": {"map": (0.158, 0.130, 0.144), "map@50": (0.173, 0.203, 0.188)},
    "corr-full-ae": {"map": (0.223, 0.227, 0.225), "map@50": (0.331, 0.379, 0.355)},
    "jrl": {"map": (0.324, 0.263, 0.294), "map@50": (0.348, 0.458, 0.403)},
    "cmdn": {"map": (0.391, 0.357, 0.374), "map@50": (0.432, 0.497, 0.465)},
    "cdmlmr": {"map": (0.405, 0.379, 0.392), "map@50": (0.487, 0.553, 0.520)},
    "base": {"map": (0.264, 0.290, 0.277)},
    "cdmlmr-semi": {"map": (0.351, 0.342, 0.347)},
    "cdmlmr-quad": {"map": (0.326, 0.312, 0.319)},
}


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
    Row("sm-rbf", "SM, RBF kernel", "beyond"),
    Row("two-tower", "two towers", "beyond", deep=True),
    Row("scm", "SCM", "beyond"),
    Row("cca3v", "three-view CCA", "beyond"),
    Row("lgcfl", "LGCFL", "beyond"),
    Row("tina", "TINA", "beyond"),
    Row("triplet", "triplets", "beyond", deep=True),
    Row("dcca", "DCCA", "beyond", deep=True),
    Row("deep-corr", "deep correlation", "beyond", deep=True),
    Row("multimodal-dbm", "Multimodal DBM", "beyond", deep=True),
    Row("chance", "random embeddings", "beyond"),
)


def row_of(method: str) -> Row:
    """A method's line; one the line-up does not know stands beyond the paper's."""
    return next((row for row in LINEUP if row.method == method), Row(method, method, "beyond"))


@dataclass(frozen=True)
class PaperInput:
    """What the paper put into its methods for one modality."""

    kind: Kind
    dimension: int
    words: str


@dataclass(frozen=True)
class Part:
    """One way to describe the items of a study, for which the whole comparison is run.

    Attributes:
        name: of its folder.
        title: for headings.
        options: what the importer is told.
    """

    name: str
    title: str
    options: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True)
class Study:
    """One dataset of the paper, or one that is measured in the same way.

    Attributes:
        name: also that of the importer.
        title: for headings.
        modalities: who asks first and who second; published figures are in this order.
        where: where the files come from, as the end of a sentence.
        published: the paper's figures; empty when there are none to set beside ours.
        published_on: the dataset they are of, when it is another than this.
        inputs: the paper's features by modality.
        splits: the paper's number of items by split.
        released: what the importer's features are, by modality.
        caveat: what else differs from the paper.
        parts: the descriptions of the items that are compared side by side; empty when they come with the release.
        raw_features: the features that make the paper's inputs of released images and texts; empty where none do.
    """

    name: str
    title: str
    modalities: tuple[str, str]
    where: str
    published: Figures = field(default_factory=dict)
    published_on: str = ""
    inputs: Mapping[str, PaperInput] = field(default_factory=dict)
    splits: Mapping[str, int] = field(default_factory=dict)
    released: Mapping[str, str] = field(default_factory=dict)
    caveat: str = ""
    parts: tuple[Part, ...] = ()
    raw_features: Mapping[str, str] = field(default_factory=dict)

    @property
    def directions(self) -> tuple[str, str]:
        """The two directions, by the names results have for them."""
        first, second = self.modalities
        return f"{first}->{second}", f"{second}->{first}"

    @property
    def columns(self) -> tuple[str, str, str]:
        """What the three figures of a published triple stand for."""
        return (*self.directions, "average")


STUDIES: Final[dict[str, Study]] = {
    "wikipedia": Study(
        name="wikipedia",
        title="Wikipedia",
        modalities=("image", "text"),
        where="download the feature release of the cross-modal Wikipedia set (N. Rasiwasia and others, ACM Multimedia "
        "2010; the Statistical Visual Computing Lab of UC San Diego, svcl.ucsd.edu/projects/crossmodal)",
        published=WIKIPEDIA,
        inputs={
            "image": PaperInput("dense", 2296, "1,000 PHOW + 512 GIST + 784 MPEG-7"),
            "text": PaperInput("counts", 3000, "bag of words"),
        },
        splits={"train": 2173, "val": 231, "test": 462},
        released={"image": "bag of SIFT visual words", "text": "proportions of LDA topics"},
        raw_features={"image": "wikipedia", "text": "bow:3000"},
    ),
    "nuswide10k": Study(
        name="nuswide10k",
        title="NUS-WIDE-10k",
        modalities=("image", "text"),
        where="get the low-level features, the tags and the ground truth of NUS-WIDE (T.-S. Chua and others, ACM CIVR "
        "2009; the LMS lab of the National University of Singapore)",
        published=NUSWIDE10K,
        inputs={
            "image": PaperInput(
                "dense",
                1134,
                "64 colour histogram + 144 correlogram + 73 edges + 128 wavelets + 225 moments + 500 visual words",
            ),
            "text": PaperInput("counts", 1000, "bag of tags"),
        },
        splits={"train": 8000, "val": 1000, "test": 1000},
        released={"image": "the six low-level features", "text": "bag of tags"},
        caveat="Which 10,000 items the paper drew is not known; those here are drawn by seed in the way it describes.",
    ),
    "rsicd": Study(
        name="rsicd",
        title="RSICD",
        modalities=("image", "text"),
        where="get the images and captions of RSICD (X. Lu and others, IEEE Transactions on Geoscience and Remote "
        "Sensing 56(4), 2018)",
        published=NUSWIDE10K,
        published_on="NUS-WIDE-10k",
        caveat="RSICD is as large as NUS-WIDE-10k and has similar features here, but 30 classes of aerial images with "
        "five sentences each. The published figures are shown only for their order.",
        parts=(
            Part("hand-crafted", "Hand-crafted features", {"image_features": "nuswide", "text_features": "bow:1000"}),
            Part(
                "convolutional",
                "Convolutional features",
                {"image_features": "efficientnet-lite0", "text_features": "bow:1000"},
            ),
        ),
    ),
}


def study(name: str) -> Study:
    """A study by its name.

    Raises:
        ConfigError: when there is none of that name.
    """
    if name not in STUDIES:
        close = get_close_matches(name, STUDIES, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(STUDIES)}."
        raise ConfigError(f"there is nothing to reproduce called '{name}'; {hint}")
    return STUDIES[name]
