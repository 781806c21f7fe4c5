"""Numbers that describe a picture: one descriptor a file, put side by side by recipes."""

from diptych.features.composition import ComposedExtractor, Composition
from diptych.features.image.colour_correlogram import ColourCorrelogram
from diptych.features.image.colour_histogram import ColourHistogram
from diptych.features.image.colour_moments import ColourMoments
from diptych.features.image.descriptor import FixedDescriptor
from diptych.features.image.edge_direction import EdgeDirection
from diptych.features.image.gist import Gist
from diptych.features.image.mpeg7 import ColourLayout, ColourStructure, EdgeHistogram, ScalableColour
from diptych.features.image.nuswide import nuswide
from diptych.features.image.resizing import Shrinking, ShrinkingExtractor, shrink
from diptych.features.image.visual_words import VisualWordHistogram, VisualWords, phow
from diptych.features.image.wavelet_texture import WaveletTexture
from diptych.features.image.wikipedia_recipe import wikipedia_pictures

__all__ = [
    "ColourCorrelogram",
    "ColourHistogram",
    "ColourLayout",
    "ColourMoments",
    "ColourStructure",
    "ComposedExtractor",
    "Composition",
    "EdgeDirection",
    "EdgeHistogram",
    "FixedDescriptor",
    "Gist",
    "ScalableColour",
    "Shrinking",
    "ShrinkingExtractor",
    "VisualWordHistogram",
    "VisualWords",
    "WaveletTexture",
    "nuswide",
    "phow",
    "shrink",
    "wikipedia_pictures",
]
