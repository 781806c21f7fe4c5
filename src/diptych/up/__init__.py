"""One command from files to a search: look, ingest, fit, index, serve, and keep in step with the files."""

from diptych.up.building import Audience, make_ready
from diptych.up.changes import Changes, changes_since, reason_to_fit_again
from diptych.up.checking import Checked, check_search
from diptych.up.commands import long_commands
from diptych.up.folder import SearchFolder, search_folder, source_name
from diptych.up.following import Follower
from diptych.up.http_client import HttpClient, Reply
from diptych.up.manifest import Manifest
from diptych.up.source import Source, SourceItem, read_source
from diptych.up.syncing import IndexWriter, sync

__all__ = [
    "Audience",
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
    "source_name",
    "sync",
]
