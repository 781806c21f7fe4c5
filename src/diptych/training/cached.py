"""Training a stage unless the cache already holds it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from diptych.code_version import code_version
from diptych.progress import Progress, silent
from diptych.training.bundle import hash_tensors
from diptych.training.cache import Input, StageCache, stage_key
from diptych.training.device import pick_device
from diptych.training.distributed import World
from diptych.training.history import History
from diptych.training.loop import Validate, train
from diptych.training.objective import Objective
from diptych.training.settings import LoopSettings

RowsT = TypeVar("RowsT")


@dataclass(frozen=True)
class TrainedStage:
    """A stage's key, which the stages that read its outcome name as upstream, and how it came about.

    Attributes:
        seconds: how long its training took, now or when the cache got it; of a resumed run, the last attempt.
    """

    key: str
    history: History
    from_cache: bool
    seconds: float


def train_cached(
    cache: StageCache,
    stage: str,
    objective: Objective[RowsT],
    settings: LoopSettings,
    *,
    inputs: Mapping[str, Input],
    options: Mapping[str, Any],
    upstream: Sequence[str] = (),
    batches: Callable[[int], RowsT] | None = None,
    count: int | None = None,
    validate: Validate | None = None,
    progress: Progress = silent,
) -> TrainedStage:
    """Bring the objective's module to its trained state: from the cache, by resuming, or by training.

    The key covers the stage's name, its inputs and options, the settings, the upstream keys, the module's
    initial weights and the source of the objective with all it imports. What `batches` and `validate` read must
    therefore be among the inputs (rows, labels, the rows of validation) or come from an upstream stage.

    Of several processes that train together only the first has the key, the lock and the cache; the others follow it.
    Their number is not part of the key, as the device is not: both change only how sums are rounded.

    Example:
        ```python
        first = train_cached(cache, "rbm-1", objective, settings, inputs={"rows": rows}, options={}, count=n)
        second = train_cached(cache, "rbm-2", upper, settings, inputs={}, options={}, upstream=[first.key], count=n)
        ```
    """
    world = World.current()
    key = world.agree(
        lambda: stage_key(
            stage,
            inputs=inputs,
            options={
                "code": code_version(type(objective).__module__),
                "options": options,
                "settings": settings.decisive(),
                "validated": validate is not None,
            },
            upstream=[*upstream, hash_tensors(objective.module.state_dict())],
        )
    )
    cache = cache if world.is_first else StageCache(None)
    with cache.lock(key):
        cache.delete_unfinished(key)
        entry = world.hand_over(cache.load(key))
        folder = cache.work_folder(key)
        if entry is None:
            started = time.perf_counter()
            history = train(
                objective, settings, batches=batches, count=count, validate=validate,
                folder=folder, stage=stage, key=key, progress=progress,
            )  # fmt: skip
            seconds = time.perf_counter() - started
            record: dict[str, Any] = {"stage": stage, "history": history.to_json(), "seconds": seconds}
            cache.store(key, dict(objective.module.state_dict()), record)
        else:
            tensors, record = entry
            objective.module.load_state_dict(tensors)
            objective.module.to(pick_device(settings.device)).eval()
            history, seconds = History.from_json(record["history"]), float(record["seconds"])
        cache.settle(key)
    return TrainedStage(key, history, entry is not None, seconds)
