"""Datasets: folders with features, labels and splits, and what training may see of them."""

from diptych.data.dataset import Dataset, media_of
from diptych.data.in_memory import Arrays, MemoryDataset, as_dataset, as_rows, describe_value
from diptych.data.labels import UNLABELLED, Labels
from diptych.data.modality import Kind, KindBlock, Modality, ModalityRows, first_wrong, join_kinds, kind_blocks
from diptych.data.protocol import Protocol, TrainingData, training_data
from diptych.data.splits import SPLITS, Partition, stratified_split
from diptych.data.writing import Draft, write_dataset

__all__ = [
    "SPLITS",
    "UNLABELLED",
    "Arrays",
    "Dataset",
    "Draft",
    "Kind",
    "KindBlock",
    "Labels",
    "MemoryDataset",
    "Modality",
    "ModalityRows",
    "Partition",
    "Protocol",
    "TrainingData",
    "as_dataset",
    "as_rows",
    "describe_value",
    "first_wrong",
    "join_kinds",
    "kind_blocks",
    "media_of",
    "stratified_split",
    "training_data",
    "write_dataset",
]
