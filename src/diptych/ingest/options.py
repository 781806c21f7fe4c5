"""What a user decides about an ingest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diptych.features import DEFAULT_FEATURES
from diptych.ingest.items import Captions
from diptych.ingest.splitting import SplitShares

OnBroken = Literal["skip", "fatal"]


@dataclass(frozen=True)
class IngestOptions:
    """What to read and what to make of it.

    Attributes:
        pairs: a CSV, TSV, JSON, JSON lines or Parquet table, or a folder or an archive of images, with or without one.
        out: the dataset's folder.
        images: the folder, tar or zip with the images; None for the table's own folder or an archive beside it.
        features: the features of each medium as a user writes them; several are put side by side with "+".
        columns: which column holds the "image", "text" (or several), "label", "split" or "id", where it is not to be
            guessed; "-" for none.
        drop_columns: other columns that are not kept as metadata; "all" for every one.
        captions: what to do with several captions of one item: "join", "first" or "each".
        label_separator: what stands between several labels in one cell.
        missing_label: a value that means "no label", such as "-1".
        split_shares: draw splits with these shares, whatever is given; None draws only where none are given.
        pipeline: a dataset, a model or a pipeline whose features are to be used as they are, instead of new ones.
        name: what to call the dataset; the folder's name by default.
        encoding: of the table, where it is not UTF-8.
        seed: of all that is drawn.
        fit_pictures: how many training pictures features learn from at most; the sample is drawn.
        max_pixels: of one picture.
        max_bytes: of one picture's file.
        on_broken: whether a broken picture is skipped or ends the work.
        overwrite: whether a dataset that is there may be replaced.
        reuse: whether rows that earlier ingests extracted of the same content are taken from the cache.
        about: what else `dataset.json` is to say of the source, such as a citation.
    """

    pairs: Path
    out: Path
    images: Path | None = None
    features: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_FEATURES))
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    drop_columns: Sequence[str] = ()
    captions: Captions = "join"
    label_separator: str | None = None
    missing_label: str | None = None
    split_shares: SplitShares | None = None
    pipeline: Path | None = None
    name: str | None = None
    encoding: str | None = None
    seed: int = 0
    fit_pictures: int = 2000
    max_pixels: int = 100_000_000
    max_bytes: int = 200 * 2**20
    on_broken: OnBroken = "skip"
    overwrite: bool = False
    reuse: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)
