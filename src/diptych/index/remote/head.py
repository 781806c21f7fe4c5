"""What is fixed when an index is created, as the text that a server keeps with it."""

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

from diptych._core.errors import DataError
from diptych.index.identity import Identity, Maker
from diptych.index.settings import EngineSettings

FORMAT = 1
"""Of head and layout; an engine whose layout changes alone will need a number of its own."""
Settings = TypeVar("Settings", bound=EngineSettings)


def write_head(identity: Identity, settings: EngineSettings) -> str:
    """The text to keep."""
    return json.dumps({"diptych": FORMAT, "identity": asdict(identity), "settings": asdict(settings)})


def parse_head(text: str | None, kind: type[Settings], name: str, server: str) -> tuple[Identity, Settings]:
    """What the text says; refused where it is none of ours, or of another format."""
    head: Any = {}
    with suppress(json.JSONDecodeError):  # somebody else's
        head = json.loads(text or "{}")
    if not isinstance(head, dict) or "diptych" not in head:
        raise DataError(
            f"there is no index stored as {name} in {server};"
            " run `diptych index MODEL DATASET --out INDEX` to make one."
        )
    if head["diptych"] != FORMAT:
        raise DataError(
            f"{name} is of format {head['diptych']}, this version reads {FORMAT};"
            " run `diptych index MODEL DATASET --out INDEX` to build it again."
        )
    given = head["identity"]
    return Identity(Maker(**given["maker"]), given["dimension"], given["metric"]), kind(**head["settings"])
