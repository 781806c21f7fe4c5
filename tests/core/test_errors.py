"""What is missing is named with the extra that installs it; exported names are imported when they are used."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.io

from diptych._core.errors import ConfigError, lazy_exports, optional_package
from diptych._core.rendering import drawing_style, new_figure
from diptych.data.importers.array_files import Reference, load_mat


@pytest.fixture
def without(monkeypatch):
    """Make a package look as if it were not installed."""

    def hide(*modules: str) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)
        optional_package.cache_clear()

    yield hide
    optional_package.cache_clear()


@pytest.mark.parametrize("draw", [new_figure, drawing_style])
def test_drawing_names_its_extra(draw, without) -> None:
    without("matplotlib", "matplotlib.figure")
    with pytest.raises(ConfigError, match=r"drawing needs matplotlib; .*diptych\[plots\]"):
        draw()


def test_matlab_files_name_their_extra(tmp_path, without) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.eye(2)})
    without("pymatreader")
    with pytest.raises(ConfigError, match=r"MATLAB files needs pymatreader; .*diptych\[matlab\]"):
        load_mat(Reference(tmp_path / "x.mat", "X"))


def test_an_exported_name_is_imported_at_first_use() -> None:
    program = (
        "import sys, diptych.experiments as e;"
        "assert 'diptych.experiments.recipe' not in sys.modules;"
        "from diptych.experiments import Recipe;"
        "assert vars(e)['Recipe'] is Recipe and 'diptych.experiments.report' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    load = lazy_exports("diptych.experiments", {"recipe": ["Recipe"]})
    with pytest.raises(AttributeError, match=r"module 'diptych.experiments' has no attribute 'recipes'"):
        load("recipes")
