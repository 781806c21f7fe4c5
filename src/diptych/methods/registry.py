"""Every method by name; a method's module is imported when it is first used."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diptych._core.errors import ConfigError

if TYPE_CHECKING:
    from diptych.methods.base import Method


@dataclass(frozen=True)
class Entry:
    """How to make a method.

    Attributes:
        target: "module:Class".
        summary: one line for tables and help.
        defaults: parameters that make this variant of the class.
        extra: the optional dependency group it needs, if any.
        chooses: whether it fits one of the other methods, so that a table of all methods has no need of it.
    """

    target: str
    summary: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    extra: str | None = None
    chooses: bool = False


def _deep(target: str, summary: str, defaults: Mapping[str, Any] | None = None) -> Entry:
    """A method that needs torch."""
    return Entry(f"diptych.methods.deep.{target}", summary, defaults or {}, extra="deep")


_METHODS: dict[str, Entry] = {
    "auto": Entry(
        "diptych.methods.auto:Auto",
        "chooses a method that suits the data, by labels, pairs and validation, within a minute",
        chooses=True,
    ),
    "identity": Entry(
        "diptych.methods.baselines:Identity",
        "the unchanged features, for encoders that already share a space (zero-shot); learns nothing",
    ),
    "chance": Entry("diptych.methods.baselines:Chance", "random embeddings, the chance level"),
    "cca-paper": Entry("diptych.methods.linear.cca:CCA", "CCA without a ridge, all components", {"mode": "paper"}),
    "cca": Entry("diptych.methods.linear.cca:CCA", "ridge CCA, ridge and components chosen on validation"),
    "cfa": Entry("diptych.methods.linear.cca:CFA", "cross-modal factor analysis"),
    "kcca-poly": Entry("diptych.methods.linear.kcca:KCCA", "kernel CCA, polynomial kernel", {"kernel": "poly"}),
    "kcca-rbf": Entry("diptych.methods.linear.kcca:KCCA", "kernel CCA, Gaussian kernel", {"kernel": "rbf"}),
    "cca3v": Entry("diptych.methods.linear.cca:CCA3V", "CCA with the labels as a third view"),
    "sm": Entry("diptych.methods.semantic.matching:SemanticMatching", "class posteriors of each modality"),
    "sm-rbf": Entry(
        "diptych.methods.semantic.matching:KernelSemanticMatching", "class posteriors, on a Gaussian kernel of the rows"
    ),
    "scm": Entry("diptych.methods.semantic.matching:SemanticCorrelationMatching", "class posteriors on top of CCA"),
    "jrl": Entry("diptych.methods.semantic.jrl:JRL", "joint representation learning with a graph"),
    "lgcfl": Entry(
        "diptych.methods.semantic.lgcfl:LGCFL", "linear maps into the label space, sparse by groups of columns"
    ),
    "tina": Entry(
        "diptych.methods.semantic.tina:TINA", "local projections that rank by a semantic hierarchy of the classes"
    ),
    "bimodal-ae": _deep("autoencoders:BimodalAE", "bimodal autoencoder over two DBNs"),
    "multimodal-dbn": _deep("dbn:MultimodalDBN", "joint machine over two DBNs, generated embeddings"),
    "multimodal-dbm": _deep("multimodal_dbm:MultimodalDBM", "deep Boltzmann machine over both modalities"),
    "corr-ae": _deep("autoencoders:CorrAE", "correspondence autoencoder", {"variant": "corr"}),
    "corr-cross-ae": _deep("autoencoders:CorrAE", "correspondence cross-autoencoder", {"variant": "cross"}),
    "corr-full-ae": _deep("autoencoders:CorrAE", "correspondence full-autoencoder", {"variant": "full"}),
    "dcca": _deep("dcca:DCCA", "deep canonical correlation analysis"),
    "deep-corr": _deep(
        "dcca:DCCA",
        "deep CCA on small batches, end to end",
        {"components": 64, "batch_size": 128},
    ),
    "cmdn": _deep("cmdn:CMDN", "cross-media multiple deep networks"),
    "base": _deep("cdmlmr:CDMLMR", "the base network of CDMLMR", {"losses": "none"}),
    "cdmlmr-semi": _deep("cdmlmr:CDMLMR", "CDMLMR with the contrastive loss alone", {"losses": "contrastive"}),
    "cdmlmr-quad": _deep("cdmlmr:QuadrupletCDMLMR", "CDMLMR with the quadruplet loss alone", {"losses": "quadruplet"}),
    "triplet": _deep("cdmlmr:TripletNetwork", "CDMLMR's towers under a triplet loss", {"losses": "triplet"}),
    "cdmlmr-staged": _deep("cdmlmr_staged:StagedCDMLMR", "CDMLMR as published: each stage frozen before the next"),
    "two-tower": _deep("two_tower:TwoTower", "two nets under cross-entropy and InfoNCE, a simple modern baseline"),
    "cdmlmr": _deep("cdmlmr:CDMLMR", "cross-modal deep metric learning with multi-task regularization"),
}


def entries() -> dict[str, Entry]:
    """Every method by name: the built-in ones and those that installed packages announce under `diptych.methods`."""
    foreign = {
        point.name: Entry(f"{point.module}:{point.attr}", "from an installed package")
        for point in entry_points(group="diptych.methods")
    }
    return foreign | _METHODS


def names() -> list[str]:
    """Every method's name, in the order tables show them."""
    return list(entries())


def comparable_names() -> list[str]:
    """Every method that a table of all methods holds: not those that only choose among others."""
    return [name for name, known in entries().items() if not known.chooses]


def names_of_any_number() -> list[str]:
    """The built-in methods that join any number of modalities, and learn from the data."""
    known = {name: declared(each) for name, each in _METHODS.items()}
    able = [name for name, found in known.items() if found is not None and found["max_modalities"] is None]
    return [name for name in able if name not in ("identity", "chance")]


def entry(name: str) -> Entry:
    """The registry's entry of a method."""
    known = entries()
    if name not in known:
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}."
        raise ConfigError(f"there is no method '{name}'; {hint}")
    return known[name]


def method_class(name: str) -> "type[Method]":
    """The class behind a method's name."""
    found = entry(name)
    module, _, attribute = found.target.partition(":")
    try:
        loaded: type[Method] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if found.extra is None or (error.name or "").startswith("diptych"):
            raise
        raise ConfigError(_missing(name, error.name, found.extra)) from None
    return loaded


def missing_package(name: str, known: Entry) -> str | None:
    """Say which package a built-in method needs that is not installed; None if it needs none."""
    extra = known.extra
    return _missing(name, "torch", extra) if extra == "deep" and find_spec("torch") is None else None


def _missing(name: str, package: str | None, extra: str) -> str:
    return f"'{name}' needs the optional package '{package}'; install it with: pip install 'diptych[{extra}]'"


def declared(known: Entry) -> dict[str, Any] | None:
    """Read what a built-in method's class declares of itself, such as `uses_labels`, without importing it.

    Returns:
        The constants of the class and of those it extends; None for a method of another package.
    """
    return _declared(known.target) if known.target.startswith("diptych.") else None


_CONSTANT = re.compile(r"^    (\w+)(?:: ClassVar\[[^\n]*\])? = (True|False|None|\d+)\b", re.MULTILINE)


@cache
def _declared(target: str) -> dict[str, Any]:
    """The constants of a class "module:Name" and of those it extends, by their lines: parsing would take too long."""
    module, _, name = target.partition(":")
    text = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py").read_text(encoding="utf-8")
    found = re.search(rf"^class {name}(?:\(([^)]*)\))?:\n((?:(?:    .*)?\n)*)", text, re.MULTILINE)
    if found is None:
        return {}
    constants: dict[str, Any] = {}
    for base in reversed(re.findall(r"\w+", found[1] or "")):
        place = re.search(rf"^from (diptych\.[\w.]+) import (?:\([^)]*|[^\n]*)\b{base}\b", text, re.MULTILINE)
        constants |= _declared(f"{place[1] if place else module}:{base}")
    return constants | {name: ast.literal_eval(value) for name, value in _CONSTANT.findall(found[2])}


def create(name: str, **params: Any) -> "Method":  # noqa: ANN401 - each parameter has its own type
    """Make a method by name, with its variant's defaults and the given parameters on top."""
    from diptych.methods.selection import check_names  # so that listing the methods imports none

    cls = method_class(name)
    check_names(f"method '{name}'", params, list(cls.parameter_defaults()))
    method = cls(**{**entry(name).defaults, **params})
    method.registry_name = name
    return method


def name_of(method: "Method") -> str:
    """The name a method is found by: the one it was made by, or the variant of its class whose defaults it has.

    Returns:
        The name; empty where its class is registered under none.
    """
    if method.registry_name:
        return method.registry_name
    cls, params = type(method), method.get_params()
    variants = {
        name: known.defaults
        for name, known in entries().items()
        if known.target.endswith(f":{cls.__name__}") and method_class(name) is cls
    }
    fitting = [name for name, given in variants.items() if all(params[key] == value for key, value in given.items())]
    return max(fitting, key=lambda name: len(variants[name]), default=next(iter(variants), ""))


PROFILES = ("fast", "standard", "paper")
"""How wide and how long deep methods train: for tests and demos, by default, as published."""
