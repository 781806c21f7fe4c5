"""The figures that the reproduced paper prints, as facts.

Source: X. Huang and Y. Peng, "Cross-modal Deep Metric Learning with Multi-task Regularization", ICME 2017
(arXiv:1703.07026): MAP over all results, MAP over the first 50, and the ablation. Each triple is image → text,
text → image and the average of the two. Its methods stand here under the names the registry has for them; which
variant its column "Corr-AE" shows is not stated, and it is taken to be the full one.
"""

from collections.abc import Mapping
from typing import Final

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
