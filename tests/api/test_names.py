"""The top level: the same names for editors, for `import *` and at run time, and nothing heavy until it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import diptych
from diptych.methods import entry, method_class, names

HEAVY = ("torch", "sklearn", "pandas", "matplotlib", "faiss", "scipy", "numpy", "pyarrow", "onnxruntime", "fastapi")


def statically_imported(module) -> set[str]:
    """The names a type checker sees: those imported under `if TYPE_CHECKING`."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_editors_import_star_and_run_time_know_the_same_names() -> None:
    lazy = {name for names in diptych._MODULES.values() for name in names}
    assert statically_imported(diptych) == lazy == set(diptych.__all__)
    assert sorted(diptych.__all__, key=str.lower) == sorted(set(diptych.__all__), key=str.lower)


@pytest.mark.parametrize("name", diptych.__all__)
def test_every_name_is_there(name) -> None:
    assert getattr(diptych, name).__doc__
    assert name in dir(diptych)


def test_every_method_class_is_exported() -> None:
    for name in names():
        if entry(name).target.startswith("diptych."):
            cls = method_class(name)
            assert getattr(diptych, cls.__name__) is getattr(diptych.methods, cls.__name__) is cls
            assert cls.__name__ in diptych.methods.__all__


def test_packages_are_attributes() -> None:
    for name in diptych._PACKAGES:
        assert getattr(diptych, name).__name__ == f"diptych.{name}"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'diptych' has no attribute 'smell'"):
        _ = diptych.smell


def modules_after(code: str) -> list[str]:
    """The heavy packages that are loaded after some code ran in a fresh interpreter."""
    probe = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import diptych; dir(diptych)", set()),
        ("import diptych; diptych.Dataset", {"numpy", "scipy", "pyarrow"}),
        ("import diptych; diptych.CCA().get_params()", {"numpy", "scipy", "pyarrow"}),
        ("import diptych; diptych.compare", {"numpy", "scipy", "pyarrow"}),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code, needed) -> None:
    assert set(modules_after(code)) <= needed
