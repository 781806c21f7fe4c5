"""The array types that cross packages."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Strings = NDArray[np.str_]

ImageArray = NDArray[np.uint8]
"""A decoded image: height × width × 3, sRGB."""

Sparse = sp.csr_array
"""Counts: one row an item."""

Features = NDArray[Any] | Sparse
"""One modality's rows, dense or sparse; what importers write and methods read."""
