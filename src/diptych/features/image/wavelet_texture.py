"""The 128-d wavelet texture: how strongly a picture varies, by scale and orientation."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pywt  # type: ignore[import-untyped]
from numpy.typing import NDArray

from diptych._core.arrays import ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import grey
from diptych.features.image.descriptor import FixedDescriptor

WAVELET = "db8"
"""Daubechies' orthogonal wavelet of 16 taps, the one Manjunath and Ma take."""

LEVELS = 3
BANDS = ("LL", "LH", "HL", "HH")
"""First letter: low or high frequencies from left to right; second letter: from top to bottom."""

SPLIT_AGAIN = 3
"""The tree splits the first three bands of every node again: all but HH."""


@lru_cache(maxsize=64)
def _analysis(side: int) -> Singles:
    """The matrix that turns `side` samples into ⌈side/2⌉ low and as many high coefficients, low ones first.

    Beyond the border the signal is mirrored, which makes no false edges; the coefficients that lie mostly out there
    are left out.
    """
    half = -(-side // 2)
    low, high = pywt.dwt(np.eye(side), WAVELET, mode="symmetric", axis=0)
    start = (len(low) - half) // 2
    return np.concatenate([low[start : start + half], high[start : start + half]]).astype(np.float32)


def split(nodes: Singles) -> Singles:
    """Cut each of (n, height, width) images into its four bands: (n, 4, ⌈height/2⌉, ⌈width/2⌉), as in `BANDS`."""
    height, width = nodes.shape[1:]
    whole = _analysis(height) @ nodes @ _analysis(width).T
    top, left = -(-height // 2), -(-width // 2)
    low, high = whole[:, :top], whole[:, top:]
    bands = (low[..., :left], high[..., :left], low[..., left:], high[..., left:])
    return np.stack(bands, axis=1)


def tree_nodes() -> tuple[str, ...]:
    """The 52 bands of the tree, level after level, each named by its way down: `"LL"`, ..., `"HL/LH/HH"`."""
    names: list[str] = []
    parents = [""]
    for _ in range(LEVELS):
        children = [[f"{parent}{band}" for band in BANDS] for parent in parents]
        names += [name for family in children for name in family]
        parents = [f"{name}/" for family in children for name in family[:SPLIT_AGAIN]]
    return tuple(names)


def pyramid_nodes() -> tuple[str, ...]:
    """The 12 bands of the pyramid, which splits LL alone."""
    return tuple("LL/" * level + band for level in range(LEVELS) for band in BANDS)


_PYRAMID_IN_TREE = [tree_nodes().index(name) for name in pyramid_nodes()]


def _statistics(bands: Singles) -> NDArray[np.float32]:
    """The mean and the standard deviation of the magnitudes in each (..., height, width) band: (n, 2)."""
    magnitudes = np.abs(bands.reshape(-1, bands.shape[-2] * bands.shape[-1]))
    return np.stack([magnitudes.mean(axis=1), magnitudes.std(axis=1)], axis=1)


@stateful
@dataclass(frozen=True)
class WaveletTexture(FixedDescriptor):
    """Means and standard deviations of wavelet magnitudes (Manjunath & Ma, PAMI 1996; "WT" in NUS-WIDE).

    The grey picture, from 0 to 1, is split into bands LL, LH, HL and HH (`BANDS`; horizontal stripes show in LH,
    upright ones in HL) at three levels, in two ways: the pyramid splits LL again (12 bands), the tree LL, LH and HL
    (4 + 12 + 36 = 52 bands). Columns 0 to 23 are the pyramid's, 24 to 127 the tree's; each band has two columns, the
    mean of |coefficient| and then its standard deviation. Bands come in the order of `pyramid_nodes` and
    `tree_nodes`. The pyramid is part of the tree, so that its columns occur twice: the layout is that of NUS-WIDE.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The pyramid's and the tree's."""
        meaning = "Mean (even column) or standard deviation (odd) of wavelet magnitudes in a band of the "
        pyramid, tree = 2 * len(pyramid_nodes()), 2 * len(tree_nodes())
        return (
            Block("wavelet pyramid", 0, pyramid, meaning + "pyramid."),
            Block("wavelet tree", pyramid, pyramid + tree, meaning + "tree."),
        )

    def describe(self, picture: ImageArray) -> Singles:
        """The row of one picture."""
        nodes = grey(picture)[None].astype(np.float32) / np.float32(255)
        levels = []
        for _ in range(LEVELS):
            bands = split(nodes)
            levels.append(_statistics(bands))
            nodes = bands[:, :SPLIT_AGAIN].reshape(-1, *bands.shape[2:])
        tree = np.concatenate(levels)
        return np.concatenate([tree[_PYRAMID_IN_TREE], tree]).ravel()
