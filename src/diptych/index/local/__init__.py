"""The embedded engine: one folder, no server. SQLite holds everything; what faiss needs is derived from it."""

from pathlib import Path
from typing import Any

from diptych._core.files import atomic_folder
from diptych.index.identity import Identity
from diptych.index.local.binary import check_codes_given
from diptych.index.local.database import write_tables
from diptych.index.local.engine import LocalIndex
from diptych.index.local.graph import Settings
from diptych.index.local.integrity import restore
from diptych.methods.binary_codes import BinaryCodes

__all__ = ["LocalIndex", "Settings", "create", "open", "restore"]


def create(
    place: Path | str,
    identity: Identity,
    *,
    codes: BinaryCodes | None = None,
    **options: Any,  # noqa: ANN401
) -> LocalIndex:
    """Make the folder of an empty index and open it.

    Args:
        place: the folder.
        identity: of the vectors.
        codes: how vectors become binary codes, with the option `bits`; left out, it is learned when vectors are folded.
        **options: those of `Settings`.
    """
    settings = Settings.from_options(options, engine="the local engine", besides=("codes",))
    check_codes_given(settings, identity, codes)
    with atomic_folder(Path(place)) as temporary:
        write_tables(temporary, identity, settings, codes)
    return LocalIndex(Path(place))


def open(place: Path | str, **options: Any) -> LocalIndex:  # noqa: ANN401 - see LocalIndex
    """Open an index that exists; the options are those of `LocalIndex`."""
    return LocalIndex(Path(place), **options)
