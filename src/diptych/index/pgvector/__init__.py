"""An index in PostgreSQL with the extension pgvector, for those who already run one."""

from diptych.index.pgvector.engine import PgvectorIndex, create, open

__all__ = ["PgvectorIndex", "create", "open"]
