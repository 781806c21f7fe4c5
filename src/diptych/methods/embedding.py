"""What every fitted model does: embed rows, arrays and raw items, and score how well they retrieve each other."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.state import MALFORMED
from diptych.data import Arrays, Dataset, Labels, as_dataset, as_rows, describe_value, first_wrong
from diptych.evaluation import Similarity
from diptych.features import Pipeline, check_same_pipeline, load_pipeline
from diptych.methods.binary_codes import Binarisable
from diptych.methods.purposes import Purpose, columns_of, purposes_of, settled_purpose
from diptych.methods.selection import Validation

_EMBED_ROWS = 8192


class PipelineKeeper(ABC):
    """Something fitted whose record names the pipeline that made its training rows.

    Attributes:
        record_: what is known of the fit; "pipeline" is the fingerprint, None where rows came as numbers.
        pipeline_folder: where that pipeline is kept, opened only when it is needed.
    """

    record_: dict[str, Any]
    pipeline_folder: Path | None = None
    _opened: tuple[tuple[str, Path], Pipeline] | None = None

    @abstractmethod
    def _check_fitted(self) -> None:
        """Refuse before the fit what makes sense only after it."""

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that turned raw items into the model's training rows.

        Raises:
            DataError: if the model was fitted on imported features, or its pipeline is missing.
        """
        self._check_fitted()
        expected, folder = self.record_.get("pipeline"), self.pipeline_folder
        if expected is None or folder is None:
            raise DataError(
                "this model learned from rows that came as numbers, so it cannot read raw items; "
                "make a dataset with `diptych ingest` and fit again."
            )
        key = expected, folder
        if self._opened is None or self._opened[0] != key:
            pipeline = load_pipeline(folder)
            check_same_pipeline(expected, pipeline.fingerprint, remedy=f"fit again, as {folder} changed")
            self._opened = key, pipeline
        return self._opened[1]

    def check_rows_of(self, dataset: Dataset) -> None:
        """Refuse a dataset whose rows were made by another pipeline than this model's.

        Where either came as numbers there is nothing to compare, and the dimensions have to do.
        """
        self._check_fitted()
        mine, theirs = self.record_.get("pipeline"), dataset.pipeline_fingerprint
        if mine is not None and theirs is not None:
            check_same_pipeline(
                mine,
                theirs,
                remedy="make the rows again with `diptych ingest … --pipeline MODEL`, or fit on this dataset",
            )


class Embedder(Binarisable, PipelineKeeper):
    """Something fitted that embeds rows of several modalities into one space; it writes `_embed`.

    Attributes:
        registry_name: the name it was made by; empty for one made from its class.
        similarity: how embeddings are compared.
        was_loaded: whether it came from files, which may not fit together.
    """

    registry_name: str = ""
    similarity: Similarity = "cosine"
    was_loaded: bool = False

    @abstractmethod
    def _embed(self, modality: str, rows: Features) -> Floats | Singles:
        """Embed checked rows of a modality."""

    def embed(self, modality: str, features: Features, purpose: Purpose = "auto") -> Singles:
        """Embed rows of one modality into the shared space, in chunks, as float32.

        Args:
            modality: which one.
            features: its rows.
            purpose: the space to use, if the model has several (see `purposes`): "class", "partner", "both"
                concatenated, or "auto", the class space if there is one.

        Raises:
            DataError: for an unknown modality, a wrong dimension or a non-finite value.
            ConfigError: for a purpose that the model does not have.
        """
        self._check_features(modality, features)
        return self._embed_chunks(modality, features, self._columns(purpose))

    def transform(self, data: Arrays, purpose: Purpose = "auto") -> dict[str, Singles]:
        """Embed arrays of one or more modalities into the shared space.

        Args:
            data: rows by modality, such as {"image": X}: arrays, sparse matrices, DataFrames or lists of rows.
            purpose: the space to use, as in `embed`.

        Returns:
            The embeddings by modality, one float32 row for each row given.

        Raises:
            DataError: for an unknown modality, a wrong dimension or a value that is not finite.
            ConfigError: if `data` is not a mapping.
        """
        self._check_fitted()
        if not isinstance(data, Mapping):
            raise ConfigError(
                f"transform takes a mapping from modalities to arrays, such as {{'{self.modalities[0]}': X}}; it was "
                f"given {describe_value(data)}."
            )
        return {modality: self.embed(modality, as_rows(modality, values), purpose) for modality, values in data.items()}

    def score(
        self,
        data: Dataset | Arrays,
        labels: Any = None,  # noqa: ANN401 - any sequence of labels
        *,
        pairs: Any = None,  # noqa: ANN401 - a table of row numbers
        split: str = "test",
        purpose: Purpose = "auto",
    ) -> float:
        """Measure retrieval: the mean average precision, averaged over all directions between modalities.

        Every item of one modality is a query, and all items of the other are ranked. Items that share a label with the
        query are relevant. If no item has a label, an item's own partner is relevant, and the score is the mean
        reciprocal rank.

        Args:
            data: arrays by modality, or a dataset.
            labels: the labels of the items, as in `fit`; those of a dataset are its own.
            pairs: which rows belong together, as in `fit`.
            split: which items of a dataset to score; arrays are scored as a whole.
            purpose: the space to measure in, if the model has several: "auto" is the class space if items have labels,
                else the partner space.
        """
        self._check_fitted()
        splits = None if isinstance(data, Dataset) else split
        dataset = as_dataset(f"{type(self).__name__}.score", data, labels, splits=splits, pairs=pairs)
        absent = [name for name in self.modalities if name not in dataset.modalities]
        if absent:
            raise DataError(f"score needs every modality of the model, and '{absent[0]}' is missing; give it too.")
        self.check_rows_of(dataset)
        items = dataset.split(split)
        by_class = bool(items.labels.is_labelled.any())
        if not by_class:
            items = items.with_labels(Labels.from_identity(items.documents.tolist()))
        parts = {name: items.having(name) for name in self.modalities}
        empty = [name for name, part in parts.items() if not len(part)]
        if empty:
            raise DataError(f"no item of the split '{split}' has '{empty[0]}', so nothing can be scored.")
        rows = {name: part.features(name) for name, part in parts.items()}
        scorer = Validation(rows, {name: part.labels for name, part in parts.items()})
        space = self.settle_purpose(purpose, auto="class" if by_class else "partner") or "auto"
        directions = {(a, b): self.represent(a, b, rows[a], rows[b], space) for a, b in scorer.directions}
        return scorer.score_directions(directions, self.similarity)

    def embed_blocks(
        self, modality: str, blocks: Iterable[Features], purpose: Purpose = "auto", *, first_row: int = 0
    ) -> Iterator[Singles]:
        """Embed rows block by block (see `Partition.blocks`), lazily.

        Only one block of rows and its embeddings is in memory at a time. The embeddings equal those of `embed` on all
        rows, up to rounding in the last bits.

        Args:
            modality: which one.
            blocks: its rows.
            purpose: the space to use, as in `embed`.
            first_row: the number of the first row, for errors.

        Raises:
            DataError: as `embed` does, when the faulty block is reached.
        """
        row = first_row
        for block in blocks:
            self._check_features(modality, block, row)
            row += block.shape[0]
            embeddings = self._embed_chunks(modality, block, self._columns(purpose))
            del block
            yield embeddings
            del embeddings  # before the next block is read

    def embed_raw(
        self,
        modality: str,
        items: Any,  # noqa: ANN401 - see `diptych.features.pipeline`
        purpose: Purpose = "auto",
    ) -> Singles:
        """Embed raw items with the pipeline that made the model's training rows.

        Args:
            modality: which one.
            items: for images a path, the bytes of a file, a Pillow image or a height × width × 3 array of bytes, for
                texts a string; or a sequence of these.
            purpose: the space to use, as in `embed`.

        Returns:
            One embedding per row, also for a single item.

        Raises:
            DataError: if the model has no pipeline, or an item cannot be read.
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
        """The query and gallery matrices to compare, for queries in one modality and a gallery in the other.

        Most methods embed both sides into one space; a method whose space depends on the direction overrides this.
        """
        return self.embed(query_modality, queries, purpose), self.embed(gallery_modality, gallery, purpose)

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities it was fitted on, in order."""
        self._check_fitted()
        return tuple(self.record_["modalities"])

    @property
    def spaces(self) -> dict[str, int]:
        """The number of columns of each space, in order; empty if there is a single unnamed one."""
        self._check_fitted()
        return dict(getattr(self, "spaces_", {}))

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """The purposes it can embed for; empty if it has a single unnamed space."""
        return purposes_of(self.spaces)

    def settle_purpose(self, purpose: Purpose = "auto", *, auto: Purpose = "class") -> Purpose | None:
        """The purpose that is meant; None where the model has a single space without a name.

        Args:
            purpose: what was asked for.
            auto: what "auto" stands for where the model has both spaces.

        Raises:
            ConfigError: for a purpose that the model does not have.
        """
        named = f"'{self.registry_name or type(self).__name__}'"
        return settled_purpose(self.spaces, purpose, auto=auto, model=named)

    def _columns(self, purpose: Purpose) -> slice:
        return columns_of(self.spaces, self.settle_purpose(purpose))

    def _embed_chunks(self, modality: str, features: Features, columns: slice) -> Singles:
        starts = range(0, max(1, features.shape[0]), _EMBED_ROWS)
        try:
            chunks = [self._embed(modality, features[start : start + _EMBED_ROWS])[:, columns] for start in starts]
            return np.concatenate(chunks).astype(np.float32, copy=False)
        except MALFORMED as error:
            if not self.was_loaded:
                raise
            what = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise DataError(
                f"this model's files do not fit together ({what:.200}); restore its folder or fit it again."
            ) from error

    def _check_features(self, modality: str, features: Features, first_row: int = 0) -> None:
        self._check_fitted()
        known = self.record_["modalities"]
        if modality not in known:
            raise DataError(f"this model has no modality '{modality}'; it has {', '.join(known)}.")
        dimension = known[modality]["dimension"]
        if features.ndim != 2 or features.shape[1] != dimension:
            raise DataError(f"'{modality}' features have shape {features.shape}; this model takes {dimension} columns.")
        for start in range(0, features.shape[0], _EMBED_ROWS):
            rows = features[start : start + _EMBED_ROWS]
            if (wrong := first_wrong(rows)) is not None:
                row, column, problem = wrong
                raise DataError(f"row {first_row + start + row}, column {column} of '{modality}' {problem}.")
