"""The embedded engine: one folder, no server. SQLite holds everything; what faiss needs is derived from it."""

from diptych.index.local.engine import LocalIndex, create, open
from diptych.index.local.graph import Settings
from diptych.index.local.integrity import restore

__all__ = ["LocalIndex", "Settings", "create", "open", "restore"]
