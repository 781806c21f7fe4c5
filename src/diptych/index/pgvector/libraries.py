"""psycopg and pgvector, imported when they are first needed."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError


@cache
def psycopg() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """The driver, or an error that names the extra."""
    try:
        import_module("pgvector.psycopg")  # both or none
        return import_module("psycopg")
    except ImportError:
        raise ConfigError(
            "the engine pgvector needs psycopg and pgvector; install them with `pip install 'diptych[pgvector]'`."
        ) from None


def register(connection: Any) -> None:  # noqa: ANN401 - see above
    """Teach a connection the type of vectors."""
    import_module("pgvector.psycopg").register_vector(connection)


def as_array(vector: Any) -> Singles:  # noqa: ANN401 - see above
    """A vector as it was read: an array in older versions of the library, an object of its own in newer ones."""
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, np.float32)
