"""Search pictures with words and words with pictures, in your own data."""

from diptych.data import Dataset, Draft, ModalityRows, Protocol, write_dataset
from diptych.methods import Method, create, load_model, names, save_model

__all__ = [
    "Dataset",
    "Draft",
    "Method",
    "ModalityRows",
    "Protocol",
    "create",
    "load_model",
    "names",
    "save_model",
    "write_dataset",
]
