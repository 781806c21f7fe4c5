"""The methods, one contract for all: make one by name with `create`, keep it with `save_model` and `load_model`.

The classes of the built-in methods are attributes too, and are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diptych._core.errors import lazy_exports
from diptych.methods.registry import Entry, create, entry, method_class, names

if TYPE_CHECKING:
    from diptych.methods.auto import Auto
    from diptych.methods.base import Method
    from diptych.methods.baselines import Chance, Identity
    from diptych.methods.deep.autoencoders import BimodalAE, CorrAE
    from diptych.methods.deep.cdmlmr import CDMLMR, QuadrupletCDMLMR, TripletNetwork
    from diptych.methods.deep.cdmlmr_staged import StagedCDMLMR
    from diptych.methods.deep.cmdn import CMDN
    from diptych.methods.deep.dbn import MultimodalDBN
    from diptych.methods.deep.dcca import DCCA
    from diptych.methods.deep.multimodal_dbm import MultimodalDBM
    from diptych.methods.deep.two_tower import TwoTower
    from diptych.methods.linear.cca import CCA, CCA3V, CFA
    from diptych.methods.linear.kcca import KCCA
    from diptych.methods.model_folder import load_model, model_fingerprint, save_model
    from diptych.methods.selection import Search, Validation
    from diptych.methods.semantic.jrl import JRL
    from diptych.methods.semantic.lgcfl import LGCFL
    from diptych.methods.semantic.matching import KernelSemanticMatching, SemanticCorrelationMatching, SemanticMatching
    from diptych.methods.semantic.tina import TINA

__all__ = [
    "CCA",
    "CCA3V",
    "CDMLMR",
    "CFA",
    "CMDN",
    "DCCA",
    "JRL",
    "KCCA",
    "LGCFL",
    "TINA",
    "Auto",
    "BimodalAE",
    "Chance",
    "CorrAE",
    "Entry",
    "Identity",
    "KernelSemanticMatching",
    "Method",
    "MultimodalDBM",
    "MultimodalDBN",
    "QuadrupletCDMLMR",
    "Search",
    "SemanticCorrelationMatching",
    "SemanticMatching",
    "StagedCDMLMR",
    "TripletNetwork",
    "TwoTower",
    "Validation",
    "create",
    "entry",
    "load_model",
    "method_class",
    "model_fingerprint",
    "names",
    "save_model",
]


_load = lazy_exports(
    __name__,
    {
        "base": ["Method"],
        "model_folder": ["load_model", "model_fingerprint", "save_model"],
        "selection": ["Search", "Validation"],
    },
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class of methods, or whatever an attribute may be
    """Import what is exported, or a method's class by its name: `diptych.methods.JRL`."""
    for target in (entry(known).target for known in names()):
        module, _, attribute = target.partition(":")
        if attribute == name:
            return getattr(import_module(module), attribute)
    return _load(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(entry(name).target.partition(":")[2] for name in names())})
