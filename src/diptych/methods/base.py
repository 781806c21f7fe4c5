"""The contract of every method: fit on a dataset, embed a modality, represent a direction, save, load."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.errors import DataError, FitError, NotFittedError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset, Protocol, TrainingData, training_data
from diptych.evaluation import Similarity
from diptych.methods.label_use import ignore_single_class, refuse_single_class
from diptych.methods.parameters import Parametrised
from diptych.methods.pipeline_keeping import PipelineKeeper
from diptych.methods.purposes import Purpose, columns_of, purposes_of, settled_purpose
from diptych.methods.selection import selection_note

_EMBED_ROWS = 8192


class Method(Parametrised, PipelineKeeper, ABC):
    """Something that learns one space for several modalities.

    Subclasses write a constructor that only assigns, `_fit` and `_embed`. Whatever `_fit` learns goes into
    attributes that end in an underscore and hold only what `diptych._core.state` can pack; saving is then inherited.

    A method with several spaces sets `spaces_` in `_fit`, a dictionary from "class" and "partner" to their numbers of
    columns; `_embed` then returns them side by side in that order, each part of a row with the same length in all rows.

    Attributes:
        uses_pairs: whether `_fit` reads which training rows belong together.
        uses_labels: whether `_fit` reads training labels.
        works_without_labels: whether it learns something useful where no training item has a label.
        uses_unlabelled: whether `_fit` reads the protocol's unlabelled pools.
        stochastic: whether the result depends on a `seed` parameter.
        max_modalities: how many modalities it can join; None for any number.
        citation: the paper that defines it.
    """

    uses_pairs: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = False
    works_without_labels: ClassVar[bool] = False
    uses_unlabelled: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    max_modalities: ClassVar[int | None] = 2
    citation: ClassVar[str] = ""

    registry_name: str = ""
    similarity: Similarity = "cosine"

    @abstractmethod
    def _fit(self, data: TrainingData, progress: Progress) -> None:
        """Learn from what the protocol lets through, into attributes that end in an underscore."""

    @abstractmethod
    def _embed(self, modality: str, rows: Features) -> Floats | Singles:
        """Embed checked rows of a modality."""

    def fit(
        self,
        dataset: Dataset,
        protocol: Protocol | None = None,
        *,
        modalities: tuple[str, ...] | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from a dataset's training split, choosing open hyper-parameters on its validation split.

        Args:
            dataset: the dataset.
            protocol: what training may see; the default is inductive with all training labels.
            modalities: which modalities to join; all of the dataset's by default.
            progress: told how far the fit is.
        """
        for name in self._learned_names():
            delattr(self, name)  # nothing of an earlier fit may end up in this one
        protocol = protocol or Protocol()
        data = training_data(dataset, protocol, modalities)
        self._check_data(data)
        notes: dict[str, str] = {}
        if self.uses_labels and self.works_without_labels:
            data, notes = ignore_single_class(data)
        started = time.perf_counter()
        propagation = {}
        if protocol.propagate and self.uses_labels:
            from diptych.methods.propagation import propagate  # loading a model should not pay for it

            data, propagation["propagation"] = propagate(data, protocol, progress)
        self.record_ = {
            "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint},
            "pipeline": dataset.pipeline_fingerprint,
            "protocol": protocol.to_json(),
            "saw": self.saw(protocol, data),
            "modalities": {
                name: {"kind": dataset.modalities[name].kind, "dimension": dataset.modalities[name].dimension}
                for name in data.modalities
            },
            "classes": list(dataset.classes),
            "selection": [],
            **notes,
            **propagation,
        }
        self.pipeline_folder = dataset.pipeline_folder
        self._fit(data, progress)
        note = selection_note(data)
        if note and self.record_["selection"]:
            self.record_["selection_note"] = note
        # What came from a cache counts with the time it once took: the figure is that of a cold start.
        self.record_["fit_seconds"] = time.perf_counter() - started + self.record_.get("reused_seconds", 0.0)
        return self

    def embed(self, modality: str, features: Features, purpose: Purpose = "auto") -> Singles:
        """Embed rows of one modality into the shared space, in chunks, as float32.

        Args:
            modality: which one.
            features: its rows.
            purpose: which space is wanted, where the model has several (see `purposes`): "class", "partner", "both"
                side by side, or "auto", the class space where there is one.

        Raises:
            DataError: for an unknown modality, a wrong dimension or a non-finite value.
            ConfigError: for a purpose the model cannot serve.
        """
        self._check_features(modality, features)
        return self._embed_chunks(modality, features, self._columns(purpose))

    def embed_blocks(self, modality: str, blocks: Iterable[Features], purpose: Purpose = "auto") -> Iterator[Singles]:
        """Embed rows that come block by block (see `Partition.blocks`), each block when its codes are asked for.

        One block of rows and its codes are held at a time. The codes are those of `embed` on all rows at once,
        to the last bits a product of matrices of another size may differ in.

        Raises:
            DataError: as `embed` does, when the block at fault is reached.
        """
        row = 0
        for block in blocks:
            self._check_features(modality, block, row)
            row += block.shape[0]
            codes = self._embed_chunks(modality, block, self._columns(purpose))
            del block
            yield codes
            del codes  # before the next block is read

    def embed_raw(
        self,
        modality: str,
        items: Any,  # noqa: ANN401 - see `diptych.features.raw_items`
        purpose: Purpose = "auto",
    ) -> Singles:
        """Embed raw items by the pipeline that made the rows this model learned from.

        Args:
            modality: which one.
            items: for pictures a path, the bytes of a file, a Pillow image or a height × width × 3 array of bytes, for
                texts a string; or a sequence of these.
            purpose: which space is wanted, as in `embed`.

        Returns:
            One code a row, a single item too.

        Raises:
            DataError: when the model has no pipeline, or an item cannot be read.
        """
        return self.embed(modality, self.pipeline.describe(modality, items), purpose)

    def represent(
        self,
        query_modality: str,
        gallery_modality: str,
        queries: Features,
        gallery: Features,
        purpose: Purpose = "auto",
    ) -> tuple[Singles, Singles]:
        """The query and gallery matrices to compare when one modality asks for the other.

        Most methods embed both sides into one space; a method whose space depends on the direction overrides this.
        """
        return self.embed(query_modality, queries, purpose), self.embed(gallery_modality, gallery, purpose)

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
        return None

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

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities it was fitted on, in order."""
        self._check_fitted()
        return tuple(self.record_["modalities"])

    @property
    def spaces(self) -> dict[str, int]:
        """The number of columns of each space, in order; empty where there is a single one without a name."""
        self._check_fitted()
        return dict(getattr(self, "spaces_", {}))

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """The purposes it can embed for; empty where it has a single space without a name."""
        return purposes_of(self.spaces)

    def settle_purpose(self, purpose: Purpose = "auto", *, auto: Purpose = "class") -> Purpose | None:
        """The purpose that is meant; None where the model has a single space without a name.

        Args:
            purpose: what was asked for.
            auto: what "auto" stands for where the model has both spaces.

        Raises:
            ConfigError: for a purpose the model cannot serve.
        """
        named = f"'{self.registry_name or type(self).__name__}'"
        return settled_purpose(self.spaces, purpose, auto=auto, model=named)

    def learned_state(self) -> dict[str, Any]:
        """All that was learned: the attributes that end in an underscore."""
        self._check_fitted()
        return {name: getattr(self, name) for name in self._learned_names()}

    def _learned_names(self) -> list[str]:
        return [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(dataset) first.")

    def _check_data(self, data: TrainingData) -> None:
        count = len(data.modalities)
        if count < 2:
            given = ", ".join(data.modalities) or "none"
            raise FitError(
                f"{type(self).__name__} joins modalities and needs two; the dataset gives {count} ({given}). Give "
                "items both an image and a text, such as a column of texts or x.txt beside x.jpg, and ingest again."
            )
        if self.max_modalities is not None and count > self.max_modalities:
            raise FitError(
                f"{type(self).__name__} joins {self.max_modalities} modalities and the dataset has {count} "
                f"({', '.join(data.modalities)}); name the ones to use with --modalities."
            )
        if self.uses_labels and not self.works_without_labels and not data.train.labels.is_labelled.any():
            raise FitError(f"{type(self).__name__} learns from labels and no training item has one.")
        if self.uses_labels and not self.works_without_labels:
            refuse_single_class(type(self).__name__, data)

    def _columns(self, purpose: Purpose) -> slice:
        return columns_of(self.spaces, self.settle_purpose(purpose))

    def _embed_chunks(self, modality: str, features: Features, columns: slice) -> Singles:
        starts = range(0, max(1, features.shape[0]), _EMBED_ROWS)
        chunks = [self._embed(modality, features[start : start + _EMBED_ROWS])[:, columns] for start in starts]
        return np.concatenate(chunks).astype(np.float32, copy=False)

    def _check_features(self, modality: str, features: Features, first_row: int = 0) -> None:
        self._check_fitted()
        known = self.record_["modalities"]
        if modality not in known:
            raise DataError(f"this model knows no modality '{modality}'; it knows {', '.join(known)}.")
        dimension = known[modality]["dimension"]
        if features.ndim != 2 or features.shape[1] != dimension:
            raise DataError(f"'{modality}' features have shape {features.shape}; this model takes {dimension} columns.")
        for start in range(0, features.shape[0], _EMBED_ROWS):
            rows = features[start : start + _EMBED_ROWS]
            if not np.isfinite(rows if isinstance(rows, np.ndarray) else rows.data).all():
                row = first_row + start
                raise DataError(f"'{modality}' features hold a value that is not finite at or after row {row}.")
