"""Search images with texts and texts with images, in your own data.

Everything below is imported when it is first used:

    import diptych

    model = diptych.CDMLMR(seed=0).fit({"image": X, "text": Y}, labels=y)
    model.score({"image": X2, "text": Y2}, labels=y2)
    report = diptych.compare({"image": X, "text": Y}, labels=y, methods=["cca", "sm", "cdmlmr"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diptych._core.errors import lazy_exports

if TYPE_CHECKING:
    from diptych._core.errors import ConfigError, DataError, DiptychError, FitError, NotFittedError
    from diptych.api import build_index, compare, evaluate, load
    from diptych.comparison import ComparisonReport
    from diptych.data import Dataset, Draft, ModalityRows, Protocol, TrainingData, write_dataset
    from diptych.experiments import ModelScores
    from diptych.methods import (
        CCA,
        CCA3V,
        CDMLMR,
        CFA,
        CMDN,
        DCCA,
        JRL,
        KCCA,
        LGCFL,
        TINA,
        Auto,
        BimodalAE,
        Chance,
        CorrAE,
        Identity,
        KernelSemanticMatching,
        Method,
        MultimodalDBM,
        MultimodalDBN,
        QuadrupletCDMLMR,
        SemanticCorrelationMatching,
        SemanticMatching,
        StagedCDMLMR,
        TripletNetwork,
        TwoTower,
        create,
        load_model,
        names,
        save_model,
    )
    from diptych.search import Answer, Hit, QueryPart, Searcher

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
    "Answer",
    "Auto",
    "BimodalAE",
    "Chance",
    "ComparisonReport",
    "ConfigError",
    "CorrAE",
    "DataError",
    "Dataset",
    "DiptychError",
    "Draft",
    "FitError",
    "Hit",
    "Identity",
    "KernelSemanticMatching",
    "Method",
    "ModalityRows",
    "ModelScores",
    "MultimodalDBM",
    "MultimodalDBN",
    "NotFittedError",
    "Protocol",
    "QuadrupletCDMLMR",
    "QueryPart",
    "Searcher",
    "SemanticCorrelationMatching",
    "SemanticMatching",
    "StagedCDMLMR",
    "TrainingData",
    "TripletNetwork",
    "TwoTower",
    "build_index",
    "compare",
    "create",
    "evaluate",
    "load",
    "load_model",
    "names",
    "save_model",
    "write_dataset",
]


_MODULES = {
    "_core.errors": ["ConfigError", "DataError", "DiptychError", "FitError", "NotFittedError"],
    "api": ["build_index", "compare", "evaluate", "load"],
    "comparison": ["ComparisonReport"],
    "data": ["Dataset", "Draft", "ModalityRows", "Protocol", "TrainingData", "write_dataset"],
    "experiments": ["ModelScores"],
    "search": ["Answer", "Hit", "QueryPart", "Searcher"],
}
"""Where names are imported from; all others are those of `diptych.methods`."""

_MODULES["methods"] = sorted(set(__all__) - {name for names in _MODULES.values() for name in names})
_PACKAGES = ("data", "evaluation", "experiments", "features", "index", "ingest", "methods", "search", "sklearn")
_exported = lazy_exports(__name__, _MODULES)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    return import_module(f"{__name__}.{name}") if name in _PACKAGES else _exported(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
