"""The registry: names, classes, variants, and nothing imported before it is asked for."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import diptych.methods
from diptych._core.errors import ConfigError
from diptych.methods import Method, create, entry, method_class, names, registry


def test_names_are_distinct_and_described() -> None:
    assert len(set(names())) == len(names())
    assert {"chance", "cca", "sm", "scm", "jrl"} <= set(names())
    assert all(entry(name).summary for name in names())


def test_a_variant_is_a_class_with_other_defaults() -> None:
    assert create("cca-paper").get_params()["mode"] == "paper"
    assert create("cca").get_params()["mode"] == "tuned"
    assert create("cca-paper", mode="tuned").get_params()["mode"] == "tuned"
    assert create("cca-paper").registry_name == "cca-paper"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("jlr", "did you mean 'jrl'"), ("ccca", "did you mean 'cca'"), ("zzzz", "there are auto, identity, chance, ")],
)
def test_unknown_names_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no method '{name}'; {hint}"):
        create(name)


def test_unknown_parameters_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="method 'sm' has no parameter 'depth'; it has strength, scaling"):
        create("sm", depth=3)


def test_importing_the_package_imports_no_method() -> None:
    """Nor torch: a linear model must be usable where torch is not installed."""
    code = (
        "import sys, diptych.methods as m; m.names(); "
        "found = [n for n in sys.modules if n == 'torch' or n.startswith('diptych.methods.semantic.')]; "
        "assert not found, found; m.JRL; m.create('sm'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_classes_are_attributes_of_the_package() -> None:
    assert diptych.methods.JRL is method_class("jrl")
    assert issubclass(diptych.methods.SemanticMatching, Method)
    assert "JRL" in dir(diptych.methods)
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        _ = diptych.methods.Oracle


def test_methods_of_installed_packages_are_found(monkeypatch) -> None:
    foreign = [
        EntryPoint("guess", "diptych.methods.baselines:Chance", "diptych.methods"),
        EntryPoint("cca", "diptych.methods.baselines:Chance", "diptych.methods"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: foreign)
    assert type(create("guess", dimensions=2)).__name__ == "Chance"
    assert type(create("cca")).__name__ == "CCA", "a built-in name cannot be taken over"


def test_a_missing_optional_package_is_named(monkeypatch) -> None:
    absent = registry.Entry("a_package_that_is_not_there.module:Thing", "needs more", extra="deep")
    monkeypatch.setitem(registry._METHODS, "needy", absent)
    with pytest.raises(ConfigError, match=r"needs the optional package 'a_package.*pip install 'diptych\[deep\]'"):
        create("needy")


def test_a_broken_module_of_our_own_is_not_blamed_on_the_user(monkeypatch) -> None:
    monkeypatch.setitem(registry._METHODS, "lost", registry.Entry("diptych.methods.lost:Lost", "gone", extra="deep"))
    with pytest.raises(ModuleNotFoundError):
        create("lost")


@pytest.mark.parametrize("name", registry.names())
def test_what_a_class_declares_is_read_without_importing_it(name) -> None:
    """So that the table of all methods needs no torch."""
    facts = ("uses_pairs", "uses_labels", "uses_unlabelled", "stochastic", "max_modalities")
    cls, declared = registry.method_class(name), registry.declared(registry.entry(name))
    assert {fact: declared[fact] for fact in facts} == {fact: getattr(cls, fact) for fact in facts}
    assert registry.missing_package(name, registry.entry(name)) is None


def test_a_missing_package_is_named_without_importing_the_method(monkeypatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    assert registry.missing_package("cca", registry.entry("cca")) is None
    assert registry.missing_package("cdmlmr", registry.entry("cdmlmr")) == (
        "'cdmlmr' needs the optional package 'torch'; install it with: pip install 'diptych[deep]'"
    )
