"""What an index is called on a server."""

import hashlib
import re
from pathlib import Path

from diptych._core.errors import ConfigError

PREFIX = "diptych_"
_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,39}")


def stored_name(place: Path | str) -> str:
    """The table or collection of an index: its own name if that is plain, else its letters and a checksum of it.

    Servers accept few characters and 63 bytes at most; two names that differ are stored under names that differ.

    >>> stored_name("photos")
    'diptych_photos'
    >>> stored_name("Grandma's Photos")
    'diptych_grandma_s_photos_d8dbefb59564'
    """
    name = str(place)
    if not name:
        raise ConfigError("the name of the index is empty; give it one, such as photos.")
    if _PLAIN.fullmatch(name) and not _looks_shortened(name):
        return PREFIX + name
    letters = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[-30:].strip("_") or "index"
    return f"{PREFIX}{letters}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _looks_shortened(name: str) -> bool:
    """A plain name that could be taken for another one's shortened form gets a checksum, too."""
    return re.search(r"_[0-9a-f]{12}$", name) is not None
