"""Training by steps: one loop that resumes to the bit, its settings, and a cache of trained stages."""

from diptych._core.files import default_cache_root
from diptych.training.cache import StageCache, TrainedStage, stage_key, train_cached
from diptych.training.distributed import World, pick_device
from diptych.training.loop import train
from diptych.training.monitoring import History
from diptych.training.settings import Constant, Cosine, Exponential, InverseT, LoopSettings, Ramp, Schedule
from diptych.training.steps import BatchOrder, Figures, Objective, RowwiseObjective

__all__ = [
    "BatchOrder",
    "Constant",
    "Cosine",
    "Exponential",
    "Figures",
    "History",
    "InverseT",
    "LoopSettings",
    "Objective",
    "Ramp",
    "RowwiseObjective",
    "Schedule",
    "StageCache",
    "TrainedStage",
    "World",
    "default_cache_root",
    "pick_device",
    "stage_key",
    "train",
    "train_cached",
]
