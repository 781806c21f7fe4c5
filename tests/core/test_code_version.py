import importlib
import shutil
import subprocess
import sys

import pytest

from diptych._core import code_version


def fresh_version(module):
    importlib.invalidate_caches()
    code_version.code_version.cache_clear()
    code_version._source.cache_clear()
    code_version._content.cache_clear()
    code_version._exports.cache_clear()
    return code_version.code_version(module)


def test_it_follows_imports_but_not_the_registry():
    reached = code_version._closure("diptych.methods.base")
    assert {"diptych.methods.base", "diptych.data.protocol", "diptych.evaluation.evaluator"} <= reached
    assert "diptych.methods.registry" not in reached
    assert "diptych.experiments.compare" not in reached


def test_a_method_that_chooses_depends_on_what_it_chooses_from():
    reached = code_version._closure("diptych.methods.auto")
    assert {"diptych.methods.deep.cdmlmr", "diptych.methods.semantic.matching", "diptych.nets.cdmlmr"} <= reached


def test_it_changes_with_the_method_and_with_what_the_method_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "foreign_method.py"
    source.write_text("import numpy\nfrom diptych._core.state import pack\n")
    before = fresh_version("foreign_method")
    assert fresh_version("foreign_method") == before
    source.write_text("import numpy\nfrom diptych._core.state import pack\n\nRATE = 2\n")
    changed = fresh_version("foreign_method")
    source.write_text("import numpy\n")
    without = fresh_version("foreign_method")
    assert len({before, changed, without}) == 3


def test_words_about_the_code_do_not_change_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "described_method.py"
    source.write_text('def fit(rate=1):\n    return "a string"\n')
    before = fresh_version("described_method")
    source.write_text('"""A module."""\n\n\ndef fit(rate=1):\n    """Fit."""\n    return "a string"  # why\n')
    assert fresh_version("described_method") == before
    source.write_text('def fit(rate=1):\n    return "another string"\n')
    assert fresh_version("described_method") != before


def test_it_imports_nothing():
    """Asking for the version of an index's code must not import torch."""
    script = (
        "import sys; from diptych._core.code_version import code_version; code_version('diptych.methods.deep.cdmlmr');"
        "print([name for name in sys.modules if name.startswith(('torch', 'diptych.methods'))])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_what_only_a_type_checker_reads_does_not_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "typed_method.py"
    source.write_text("if TYPE_CHECKING:\n    from diptych._core.state import pack\n")
    fresh_version("typed_method")
    assert code_version._closure("typed_method") == {"typed_method"}


def test_what_a_package_exports_lazily_is_followed():
    reached = code_version._closure("diptych.search.build")
    assert {"diptych.methods.base", "diptych.methods.model_folder", "diptych.features.pipeline"} <= reached
    reached = code_version._closure("diptych.experiments.model_scores")
    assert {"diptych.evaluation.ranking", "diptych.methods.base", "diptych.features.scaling"} <= reached


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules that a method imports, in place of this one."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code_version, "_PACKAGE", "moving_package")
    monkeypatch.setattr(code_version, "_ROOT", tmp_path / "moving_package")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(**files):
        folder = tmp_path / "moving_package"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in {"__init__": "", **files}.items():
            (folder / f"{name}.py").write_text(text)
        for name in [name for name in sys.modules if name.startswith("moving_package")]:
            del sys.modules[name]
        return fresh_version("moving_package.method")

    return write


ROOT = "def root(x):\n    return x ** 0.5\n"
SQUARE = "def root(x):\n    return x ** 2\n"


def test_a_module_may_be_moved_or_renamed(package):
    before = package(method="from moving_package.powers import root\n\nRATE = root(4)\n", powers=ROOT)
    moved = package(method="from moving_package.algebra import root\n\nRATE = root(4)\n", algebra=ROOT)
    assert moved == before


def test_importing_the_same_name_from_elsewhere_counts(package):
    both = {"powers": ROOT, "squares": SQUARE}
    method = "from moving_package import powers, squares\nfrom moving_package.{} import root\n\nRATE = root(4)\n"
    one = package(method=method.format("powers"), **both)
    assert package(method=method.format("squares"), **both) != one


def test_a_comment_in_what_is_imported_by_all_discards_nothing(package):
    method = "from moving_package.errors import Error\n\nRATE = 1\n"
    before = package(method=method, errors="class Error(Exception):\n    pass\n")
    commented = 'class Error(Exception):  # raised on purpose\n    """An error."""\n\n    pass\n'
    assert package(method=method, errors=commented) == before
