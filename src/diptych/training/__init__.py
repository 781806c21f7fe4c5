"""Training by steps: one loop that resumes to the bit, its settings, and a cache of trained stages."""

from diptych._core.files import default_cache_root
from diptych.training.batches import BatchOrder
from diptych.training.cache import StageCache, TrainedStage, stage_key, train_cached
from diptych.training.device import pick_device
from diptych.training.distributed import World
from diptych.training.logs import History
from diptych.training.loop import train
from diptych.training.objective import Figures, LossObjective, Objective, RowwiseObjective
from diptych.training.run import read_checkpoint
from diptych.training.schedules import Constant, Cosine, Exponential, InverseT, Ramp, Schedule
from diptych.training.settings import LoopSettings

__all__ = [
    "BatchOrder",
    "Constant",
    "Cosine",
    "Exponential",
    "Figures",
    "History",
    "InverseT",
    "LoopSettings",
    "LossObjective",
    "Objective",
    "Ramp",
    "RowwiseObjective",
    "Schedule",
    "StageCache",
    "TrainedStage",
    "World",
    "default_cache_root",
    "pick_device",
    "read_checkpoint",
    "stage_key",
    "train",
    "train_cached",
]
