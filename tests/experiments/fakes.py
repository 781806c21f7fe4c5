"""Methods that are fitted at once, fail on demand, or wait to be killed; each fit leaves a line in a log."""

import os
import time
from pathlib import Path

import numpy as np

from diptych._core.errors import FitError
from diptych._core.seeding import generator
from diptych.methods.base import Method
from diptych.methods.registry import Entry


def dense(rows):
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)


def fits(log: Path) -> list[str]:
    """The fits that were begun, in order."""
    return log.read_text().split() if log.exists() else []


class Fake(Method):
    """Codes are standardised rows mapped to class means by least squares: simple, and well above chance."""

    uses_labels = True
    max_modalities = None

    def __init__(self, ridge: float = 1.0) -> None:
        self.ridge = ridge

    def _log(self) -> None:
        if "FAKE_LOG" in os.environ:
            with Path(os.environ["FAKE_LOG"]).open("a") as file:
                file.write(f"{self.registry_name}{getattr(self, 'seed', '')}\n")

    def _fit(self, data, progress) -> None:
        self._log()
        self.maps_ = {}
        for place, name in enumerate(data.modalities):
            progress("regressing", place, len(data.modalities), {"ridge": self.ridge})
            part = data.train.labelled().having(name)
            rows = dense(part.features(name))
            target = part.labels.matrix.toarray().astype(np.float64)
            gram = rows.T @ rows + self.ridge * np.eye(rows.shape[1])
            self.maps_[name] = np.linalg.solve(gram, rows.T @ (target - 1 / target.shape[1]))
        self.record_["selection"] = [{"params": {"ridge": self.ridge}, "score": 0.5}]
        self.record_["chosen"] = {"ridge": self.ridge}

    def _embed(self, modality, rows):
        return dense(rows) @ self.maps_[modality]


class Seeded(Fake):
    """The same with noise that the seed decides."""

    stochastic = True

    def __init__(self, ridge: float = 1.0, noise: float = 0.5, seed: int = 0) -> None:
        super().__init__(ridge)
        self.noise = noise
        self.seed = seed

    def _fit(self, data, progress) -> None:
        super()._fit(data, progress)
        random = generator(self.seed, "fake")
        for name, weights in self.maps_.items():
            self.maps_[name] = weights + self.noise * weights.std() * random.normal(size=weights.shape)


class Profiled(Fake):
    """Knows profiles."""

    def __init__(self, profile: str = "standard") -> None:
        super().__init__()
        self.profile = profile


class Failing(Fake):
    """Fails unless FAKE_MENDED is set."""

    def _fit(self, data, progress) -> None:
        self._log()
        if "FAKE_MENDED" not in os.environ:
            raise FitError("the <b>matrix</b> is singular; choose a ridge.")
        super()._fit(data, progress)


class Crashing(Fake):
    """Fails in a way nobody foresaw."""

    def _fit(self, data, progress) -> None:
        raise ZeroDivisionError("division by zero")


class Waiting(Fake):
    """Says that it has started and then waits, unless FAKE_GO is set."""

    def _fit(self, data, progress) -> None:
        super()._fit(data, progress)
        if "FAKE_GO" not in os.environ:
            Path(os.environ["FAKE_STARTED"]).touch()
            time.sleep(60)


METHODS = {
    "steady": Entry("experiments.fakes:Fake", "deterministic"),
    "seeded": Entry("experiments.fakes:Seeded", "stochastic"),
    "profiled": Entry("experiments.fakes:Profiled", "knows profiles"),
    "failing": Entry("experiments.fakes:Failing", "fails on purpose"),
    "crashing": Entry("experiments.fakes:Crashing", "fails by accident"),
    "waiting": Entry("experiments.fakes:Waiting", "takes its time"),
    "absent": Entry("experiments.nowhere:Nothing", "needs what is not there", extra="deep"),
}
