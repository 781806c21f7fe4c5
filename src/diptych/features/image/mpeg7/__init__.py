"""Visual descriptors of the MPEG-7 standard (ISO/IEC 15938-3; Manjunath et al., IEEE CSVT 2001), kept as real numbers.

The standard quantises each descriptor to a few bits for storage. Here nothing is quantised: rows go to learning, not
into a bit stream. In the two colour histograms a square root stands for its uneven steps, finer for rare colours.
"""

from diptych.features.image.mpeg7.colour_layout import ColourLayout
from diptych.features.image.mpeg7.colour_structure import ColourStructure
from diptych.features.image.mpeg7.edge_histogram import EdgeHistogram
from diptych.features.image.mpeg7.scalable_colour import ScalableColour

__all__ = ["ColourLayout", "ColourStructure", "EdgeHistogram", "ScalableColour"]
