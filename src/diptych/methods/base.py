"""The contract of every method: fit on a dataset, embed a modality, represent a direction, save, load."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from diptych._core.errors import ConfigError, FitError, NotFittedError
from diptych._core.progress import Progress, silent
from diptych.data import Arrays, Dataset, Protocol, TrainingData, as_dataset, describe_value, training_data
from diptych.methods.embedding import Embedder
from diptych.methods.purposes import SPACES
from diptych.methods.selection import Parametrised, selection_note
from diptych.methods.training_inputs import ignore_single_class, note_lone_classes, refuse_single_class


class Method(Parametrised, Embedder, ABC):
    """Something that learns one space for several modalities.

    Subclasses write a constructor that only assigns, `_fit` and `_embed`:

    - `_fit(data, progress)` receives `data`, a `TrainingData`, and nothing else of the dataset. `data.modalities` are
      the modalities to use and `data.kinds` say which are counts. `data.train` and `data.validation` (None where
      there is none) are `Partition`s: `part.having("image").features("image")` are the rows of the items that have an
      image, `part.having("image", "text")` are the pairs, and `part.labels` are the labels that the protocol keeps
      (`codes` has one class number per item and -1 for none; `matrix` is the indicator of several). Withheld labels are
      removed, not hidden. `data.pools` are unlabelled rows by modality, if the protocol provides any.
      `Validation.of(data)` turns the validation items into a score to choose hyper-parameters by. `progress(stage,
      done, total)` reports progress. Everything that is learned is stored in attributes that end in an underscore and
      contain only what `diptych._core.state` can pack; saving is then inherited. `self.record_` is a dictionary for the
      trials ("selection") and the choice ("chosen").
    - `_embed(modality, rows)` receives checked rows (an array, or a sparse array where the modality is counts) and
      returns one embedding per row.

    A method with several spaces sets `spaces_` in `_fit`, a dictionary from "class" and "partner" to their numbers of
    columns; `_embed` then returns them concatenated in that order, each part with the same norm in all rows.

    Example:
        >>> import numpy as np
        >>> from diptych import CCA
        >>> random = np.random.default_rng(0)
        >>> cause = random.normal(size=(200, 3))
        >>> X, Y = cause @ random.normal(size=(3, 8)), cause @ random.normal(size=(3, 5))
        >>> model = CCA(components=3).fit({"image": X[:150], "text": Y[:150]})
        >>> model.transform({"image": X[150:]})["image"].shape
        (50, 3)
        >>> model.score({"image": X[150:], "text": Y[150:]}) > 0.8  # how well partners find each other
        True

    Attributes:
        uses_pairs: whether `_fit` uses the pairing of training rows.
        uses_labels: whether `_fit` reads training labels.
        works_without_labels: whether it learns something useful if no training item has a label.
        uses_unlabelled: whether `_fit` reads the protocol's unlabelled pools.
        stochastic: whether the result depends on a `seed` parameter.
        max_modalities: how many modalities it supports; None for any number.
        citation: the paper that defines the method.
    """

    uses_pairs: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = False
    works_without_labels: ClassVar[bool] = False
    uses_unlabelled: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    max_modalities: ClassVar[int | None] = 2
    citation: ClassVar[str] = ""

    @abstractmethod
    def _fit(self, data: TrainingData, progress: Progress) -> None:
        """Learn from the data that the protocol allows, into attributes that end in an underscore."""

    def fit(
        self,
        data: Dataset | Arrays,
        protocol: Protocol | None = None,
        *,
        labels: Any = None,  # noqa: ANN401 - any sequence of labels
        splits: Sequence[str] | None = None,
        pairs: Any = None,  # noqa: ANN401 - a table of row numbers
        modalities: tuple[str, ...] | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from the training items, choosing open hyper-parameters on the validation items.

        Arrays are first made into a dataset in memory, so that the same checks and the same protocol apply: no label of
        a validation item reaches training.

        Args:
            data: a dataset, or arrays by modality such as {"image": X, "text": Y}: NumPy arrays, SciPy sparse
                matrices, pandas DataFrames or lists of rows, one row per item; a row of only NaN for an item that lacks
                the modality.
            protocol: what training may see; the default is inductive with all training labels.
            labels: one class name or number per item of the arrays, None for an unlabelled one; see
                `Dataset.from_arrays`.
            splits: "train", "val" or "test" per item of the arrays; test items are ignored. By default, a tenth of the
                labelled items (of all items, if none has a label) is drawn for validation within each class, with the
                method's `seed` (0 if it has none), and the others are training items.
            pairs: which rows belong together, where row i of one modality does not belong to row i of the others; see
                `Dataset.from_arrays`.
            modalities: which modalities to use; all by default.
            progress: called with the progress of the fit.

        Raises:
            DataError: for arrays that are not tables of finite numbers, or do not match.
            ConfigError: for a parameter out of range, or arguments that are neither a dataset nor a mapping.
            FitError: if the method cannot learn from such data.
        """
        self.check_params()
        seed = getattr(self, "seed", 0)
        caller = f"{type(self).__name__}.fit"
        dataset = as_dataset(caller, data, labels, splits=splits, pairs=pairs, seed=seed, test_share=0.0)
        if not isinstance(protocol, Protocol | None):
            raise ConfigError(
                f"the second argument of {caller} is a protocol, and it was given {describe_value(protocol)}; give "
                "labels by name: labels=y."
            )
        for name in self._learned_names():
            delattr(self, name)  # nothing of an earlier fit may end up in this one
        self.was_loaded = False
        protocol = self._protocol(dataset, protocol or Protocol())
        seen = training_data(dataset, protocol, modalities)
        self._check_data(seen)
        notes = note_lone_classes(seen, protocol) if self.uses_labels else {}
        if self.uses_labels and self.works_without_labels:
            seen, notes = ignore_single_class(seen, notes)
        started = time.perf_counter()
        propagation = {}
        if protocol.propagate and self.uses_labels:
            from diptych.methods.propagation import propagate  # loading a model should not pay for it

            seen, propagation["propagation"] = propagate(seen, protocol, progress)
        self.record_ = {
            "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint},
            "pipeline": dataset.pipeline_fingerprint,
            "protocol": protocol.to_json(),
            "saw": self.saw(protocol, seen),
            "modalities": {
                name: {"kind": dataset.modalities[name].kind, "dimension": dataset.modalities[name].dimension}
                for name in seen.modalities
            },
            "classes": list(dataset.classes),
            "selection": [],
            **notes,
            **propagation,
        }
        self.pipeline_folder = dataset.pipeline_folder
        self._fit(seen, progress)
        note = selection_note(seen)
        if note and self.record_["selection"]:
            self.record_["selection_note"] = note
        # What came from a cache counts with the time it once took: the figure is that of a cold start.
        self.record_["fit_seconds"] = time.perf_counter() - started + self.record_.get("reused_seconds", 0.0)
        return self

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model as a folder, completely or not at all; `diptych.load` opens it.

        Args:
            folder: where to put it.
            overwrite: replace an existing folder.
        """
        # By name: what a fit depends on is read from the imports, and how it is saved is no part of that.
        import_module("diptych.methods.model_folder").save_model(self, folder, overwrite=overwrite)

    def _most_modalities(self) -> int | None:
        """How many modalities it can join with these parameters; None for any number."""
        return self.max_modalities

    def _protocol(self, dataset: Dataset, protocol: Protocol) -> Protocol:
        """The protocol to fit under; a method may ask for labels to be propagated."""
        return protocol

    @classmethod
    def divide_saved(cls, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Divide a saved model's parameters into those to make the method with, and those of a former version.

        A class that was rewritten overrides this, so that models saved before still open.
        """
        return dict(params), {}

    @classmethod
    def unsuited(cls, widths: Mapping[str, int]) -> str | None:
        """Why the method cannot be fitted on modalities of so many columns each; None where it can.

        Comparisons of all methods leave out a method that says so, and repeat what it says.
        """
        most = cls.max_modalities
        return f"it joins {most} modalities, not {len(widths)}" if most is not None and len(widths) > most else None

    @property
    def saved_as(self) -> "Method":
        """The fitted method that is kept when this one is saved: itself, unless it only chose among others."""
        return self

    def saw(self, protocol: Protocol, data: TrainingData) -> str:
        """What this method's fit reads under a protocol, in a few words."""
        labels = "labels" if data.soft_labels is None else "propagated labels"
        parts = ["pairs"] * self.uses_pairs + [labels] * bool(self.uses_labels and data.train.labels.is_labelled.any())
        if self.uses_unlabelled and any(pool.shape[0] for pool in data.pools.values()):
            training = "unlabelled training pairs" if protocol.use_pairs else "unlabelled training features"
            parts.append("test features" if protocol.unlabelled == "test-features" else training)
        return " + ".join(parts) or "nothing"

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` or `load` has run to its end."""
        return "fit_seconds" in getattr(self, "record_", {})

    def learned_state(self) -> dict[str, Any]:
        """All that was learned: the attributes that end in an underscore."""
        self._check_fitted()
        return {name: getattr(self, name) for name in self._learned_names()}

    def _learned_names(self) -> list[str]:
        return [name for name in vars(self) if is_learned(name)]

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first.")

    def _check_data(self, data: TrainingData) -> None:
        count = len(data.modalities)
        if count < 2:
            given = ", ".join(data.modalities) or "none"
            raise FitError(
                f"{type(self).__name__} joins modalities and needs two; the dataset gives {count} ({given}). Give "
                "items both an image and a text, such as a column of texts or x.txt beside x.jpg, and ingest again; "
                "of arrays give both: {'image': X, 'text': Y}."
            )
        most = self._most_modalities()
        if most is not None and count > most:
            able, two = import_module("diptych.methods.registry").names_of_any_number(), data.modalities[:most]
            raise FitError(
                f"{type(self).__name__} joins {most} modalities and the dataset has {count} "
                f"({', '.join(data.modalities)}); use a method that joins any number ({', '.join(able)}), or name the "
                f"modalities to use (--modalities {','.join(two)}, or modalities={two})."
            )
        if self.uses_labels and not self.works_without_labels and not data.train.labels.is_labelled.any():
            raise FitError(
                f"{type(self).__name__} learns from labels and no training item has one; label some (labels=… beside "
                "arrays), or use a method that learns from pairs, such as 'cca'."
            )
        if self.uses_labels and not self.works_without_labels:
            refuse_single_class(type(self).__name__, data)


def is_learned(name: str) -> bool:
    """Whether an attribute of this name holds what was learned: it ends in an underscore and begins with none."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def check_loaded(model: Method) -> None:
    """Refuse a model from a file whose record lacks what embedding needs of it.

    Raises:
        TypeError, KeyError, ValueError: for whoever reads the file to make a sentence of.
    """
    record, spaces = model.record_, getattr(model, "spaces_", {})
    for name, known in record["modalities"].items():
        if not isinstance(known["kind"], str) or type(known["dimension"]) is not int or known["dimension"] < 1:
            raise TypeError(f"the record does not say what rows of '{name}' are")
    if not record["modalities"] or "fit_seconds" not in record:
        raise ValueError("the record is not that of a fitted model")
    if not all(isinstance(width, int) and space in SPACES for space, width in spaces.items()):
        raise ValueError(f"the spaces are {spaces}")
