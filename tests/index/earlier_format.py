"""Turn an index of today into one of format 1, which had no checksums."""

import sqlite3
from contextlib import closing


def downgrade(folder):
    """Take out of an index what came with format 2."""
    with closing(sqlite3.connect(folder / "index.sqlite")) as connection:
        connection.execute("DROP TABLE checksums")
        connection.execute("DELETE FROM head WHERE key = 'checksum'")
        connection.execute("UPDATE head SET value = '1' WHERE key = 'format'")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vocabulary'").fetchone():
            connection.execute("ALTER TABLE vocabulary DROP COLUMN checksum")
        connection.commit()
