"""Fake methods whose fit depends on the number of labels in ways of their own."""

from diptych._core.errors import FitError
from diptych.methods.registry import Entry
from experiments import fakes
from experiments.fakes import Fake, dense


class LabelFree(Fake):
    """Reads no label: the first few columns are the code."""

    uses_labels = False

    def _fit(self, data, progress) -> None:
        self._log()

    def _embed(self, modality, rows):
        return dense(rows)[:, :6]


class PoolReader(LabelFree):
    """Reads no label, but the items that lost theirs."""

    uses_unlabelled = True


class Hungry(Fake):
    """Gives up on fewer than five labels per class."""

    def _fit(self, data, progress) -> None:
        if data.train.labels.class_counts().min() < 5:
            raise FitError("too few labels; give five per class.")
        super()._fit(data, progress)


METHODS = fakes.METHODS | {
    "label-free": Entry("experiments.curve_fakes:LabelFree", "reads no label"),
    "pool-reader": Entry("experiments.curve_fakes:PoolReader", "reads a pool"),
    "hungry": Entry("experiments.curve_fakes:Hungry", "needs five labels per class"),
}
