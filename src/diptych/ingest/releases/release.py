"""A release that was read: its items and pictures, ready to be ingested."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.ingest.items import Gathering
from diptych.ingest.options import IngestOptions
from diptych.ingest.plan import Plan
from diptych.ingest.run import Ingested, ingest
from diptych.media import RefusedNameError, open_source

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
_TRIED = 20


@dataclass(frozen=True)
class Release:
    """What is in a release's folder.

    Attributes:
        options: of the ingest, with the release's pictures and citation.
        gathered: its items; None where `options.pairs` is a table that is read as any other.
    """

    options: IngestOptions
    gathered: Gathering | None = None

    def ingest(
        self,
        *,
        workers: int = 0,
        progress: Progress = silent,
        planned: Callable[[Plan], None] = lambda plan: None,
    ) -> Ingested:
        """Make the dataset; what is done is kept, as `diptych.ingest.ingest` does."""
        return ingest(self.options, gathered=self.gathered, workers=workers, progress=progress, planned=planned)


def find_pictures(folder: Path, name: str, pictures: Iterable[str], hint: str) -> tuple[Path, str]:
    """The folder or the archive of a release's pictures, and what to write before their names.

    Archives are packed with or without the folder's own name, so both are tried for the first few pictures.

    Args:
        folder: the release's folder.
        name: how the pictures' folder is called.
        pictures: their names below that folder.
        hint: where the release is from, for the error.
    """
    candidates = [folder / name, *(folder / f"{name}{ending}" for ending in _ARCHIVES)]
    there = [path for path in candidates if path.exists()]
    if not there:
        raise DataError(f"{folder} holds no {name}, neither as a folder nor as an archive; {hint}")
    some = [picture for picture, _ in zip(pictures, range(_TRIED), strict=False)]
    for path in there:
        with open_source(path) as source:
            for prefix in ("", f"{name}/", f"{name}/{name}/"):
                for picture in some:
                    try:
                        source.locate(prefix + picture)
                    except RefusedNameError:
                        continue
                    return path, prefix
    listing = f"'{some[0]}' and the {len(some) - 1} after it" if len(some) > 1 else f"'{some[0]}'" if some else "any"
    raise DataError(f"{there[0]} does not hold the pictures that the release lists ({listing} are missing); {hint}")
