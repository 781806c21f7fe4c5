"""What is compared: features and methods, the defaults first."""

from dataclasses import dataclass
from typing import Literal

from diptych.features import DEFAULT_FEATURES

Part = Literal["defaults", "encoders", "methods"]
DEFAULT_METHOD = "auto"
MODES = ("lexical", "vector", "hybrid")


@dataclass(frozen=True)
class System:
    """A way to make an index.

    Attributes:
        image: the image features as a user writes them.
        text: the text features.
        method: the method.
        part: in which part of the report it stands.
    """

    image: str
    text: str
    method: str
    part: Part

    @property
    def name(self) -> str:
        """What differs from the defaults, or "defaults"."""
        given = (("images", self.image), ("texts", self.text), ("method", self.method))
        usual = (DEFAULT_FEATURES["image"], DEFAULT_FEATURES["text"], DEFAULT_METHOD)
        changed = [f"{what} {value}" for (what, value), default in zip(given, usual, strict=True) if value != default]
        return ", ".join(changed) or "defaults"


DEFAULTS = System(DEFAULT_FEATURES["image"], DEFAULT_FEATURES["text"], DEFAULT_METHOD, "defaults")
_IMAGES = ("efficientnet-lite0", "efficientnet-lite0+colour-moments")
_TEXTS = ("minilm", "wordllama", "use", "bow:3000+minilm", "tfidf:3000", "bow:3000")
_METHODS = ("cdmlmr", "cca", "sm")

SYSTEMS: tuple[System, ...] = (
    DEFAULTS,
    *(System(image, DEFAULTS.text, DEFAULT_METHOD, "encoders") for image in _IMAGES if image != DEFAULTS.image),
    *(System(DEFAULTS.image, text, DEFAULT_METHOD, "encoders") for text in _TEXTS if text != DEFAULTS.text),
    *(System(DEFAULTS.image, DEFAULTS.text, method, "methods") for method in _METHODS),
)
