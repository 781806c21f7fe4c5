"""One command from files to a search: ingest, fit, index, serve, and keep the index in step with the files."""

from diptych.up.build import BuildCallbacks, long_commands, make_ready
from diptych.up.check import Checked, HttpClient, Reply, check_search
from diptych.up.folder import Manifest, SearchFolder, search_folder, shown_address, source_name
from diptych.up.sync import (
    Changes,
    IndexWriter,
    Source,
    SourceItem,
    changes_since,
    read_source,
    reason_to_fit_again,
    sync,
)
from diptych.up.watch import Follower

__all__ = [
    "BuildCallbacks",
    "Changes",
    "Checked",
    "Follower",
    "HttpClient",
    "IndexWriter",
    "Manifest",
    "Reply",
    "SearchFolder",
    "Source",
    "SourceItem",
    "changes_since",
    "check_search",
    "long_commands",
    "make_ready",
    "read_source",
    "reason_to_fit_again",
    "search_folder",
    "shown_address",
    "source_name",
    "sync",
]
