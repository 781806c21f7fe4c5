"""Importers: from files people have to a dataset's folder."""

from collections.abc import Callable, Mapping

from diptych.data.dataset import Dataset
from diptych.data.importers.arrays import import_arrays
from diptych.data.importers.nuswide10k import import_nuswide10k
from diptych.data.importers.wikipedia import import_wikipedia

IMPORTERS: Mapping[str, Callable[..., Dataset]] = {
    "wikipedia": import_wikipedia,
    "nuswide10k": import_nuswide10k,
    "arrays": import_arrays,
}
"""Every importer by its name on the command line."""

__all__ = ["IMPORTERS", "import_arrays", "import_nuswide10k", "import_wikipedia"]
