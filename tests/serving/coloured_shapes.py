"""A world small enough to know the right answers: images of coloured shapes and sentences about them."""

from dataclasses import dataclass
from io import BytesIO
from itertools import product

import numpy as np
from PIL import Image, ImageDraw

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 170, 70),
    "blue": (50, 80, 220),
    "yellow": (235, 205, 40),
    "purple": (150, 60, 190),
    "grey": (128, 128, 128),
}
SHAPES = ("circle", "square", "triangle")
SPLITS = ("train", "test")
DIMENSION = 7


@dataclass(frozen=True)
class Shape:
    """One thing of the world."""

    colour: str
    shape: str
    split: str

    @property
    def name(self) -> str:
        return f"{self.colour}-{self.shape}-{self.split}"

    @property
    def sentence(self) -> str:
        return f"a {self.colour} {self.shape}, alone on white"


def world() -> list[Shape]:
    return [Shape(*one) for one in product(COLOURS, SHAPES, SPLITS)]


def image(thing: Shape, side: int = 96, kind: str = "PNG") -> bytes:
    image = Image.new("RGB", (side, side), "white")
    draw = ImageDraw.Draw(image)
    margin = side // (5 if thing.split == "train" else 7)
    box = (margin, margin, side - margin, side - margin)
    colour = COLOURS[thing.colour]
    if thing.shape == "circle":
        draw.ellipse(box, fill=colour)
    elif thing.shape == "square":
        draw.rectangle(box, fill=colour)
    else:
        draw.polygon([(side // 2, margin), (margin, side - margin), (side - margin, side - margin)], fill=colour)
    out = BytesIO()
    image.save(out, kind)
    return out.getvalue()


def vector_of_words(words: str) -> np.ndarray | None:
    """Colour words and shape words each point somewhere; None for words that say nothing."""
    row = np.zeros(DIMENSION)
    for word in words.lower().replace(",", " ").split():
        if word in COLOURS:
            row += _coloured(COLOURS[word])
        if word in SHAPES:
            row[4 + SHAPES.index(word)] += 0.25
    return row if row.any() else None


def vector_of_image(data: bytes) -> np.ndarray:
    pixels = np.asarray(Image.open(BytesIO(data)).convert("RGB")).reshape(-1, 3)
    inked = pixels[(pixels < 245).any(axis=1)]
    return _coloured(inked.mean(axis=0) if len(inked) else np.array([250.0, 250.0, 250.0]))


def _coloured(rgb) -> np.ndarray:
    row = np.zeros(DIMENSION)
    centred = np.asarray(rgb, dtype=float) / 255 - 0.5
    row[:3], row[3] = centred, 0.05
    return row / np.linalg.norm(row)
