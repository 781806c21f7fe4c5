"""The comparisons that can be rerun: one entry for each dataset. A new one is an importer and an entry here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from diptych._core.errors import ConfigError
from diptych.data.modality import Kind
from diptych.experiments.reproduce.published import NUSWIDE10K, WIKIPEDIA, Figures


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
    options: Mapping[str, str] = field(hash=False)


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
        where="get the pictures and captions of RSICD (X. Lu and others, IEEE Transactions on Geoscience and Remote "
        "Sensing 56(4), 2018)",
        published=NUSWIDE10K,
        published_on="NUS-WIDE-10k",
        caveat="RSICD has NUS-WIDE-10k's size and here its kind of features, but 30 classes of aerial pictures with "
        "five sentences each: the published figures are shown for their order alone.",
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
