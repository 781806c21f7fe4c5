"""The embedded engine: one folder, no server. SQLite holds the truth; what faiss needs is derived from it."""

from diptych.index.local.engine import LocalIndex, create, open
from diptych.index.local.graph import Settings

__all__ = ["LocalIndex", "Settings", "create", "open"]
