"""Data sets as their authors release them: pictures and texts in a folder, read as they are."""

from diptych.ingest.releases.release import Release
from diptych.ingest.releases.rsicd import import_rsicd, read_rsicd
from diptych.ingest.releases.wikipedia_raw import import_wikipedia_raw, read_wikipedia_raw

__all__ = ["Release", "import_rsicd", "import_wikipedia_raw", "read_rsicd", "read_wikipedia_raw"]
