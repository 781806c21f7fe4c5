"""From files to a dataset: tables and trees of pictures and texts, read with patience, described in parallel."""

from diptych.ingest.columns import Columns
from diptych.ingest.media import media_of
from diptych.ingest.opening import open_pictures
from diptych.ingest.options import IngestOptions
from diptych.ingest.picture_sources import PictureSource, Place
from diptych.ingest.plan import Plan, plan_ingest
from diptych.ingest.report import IngestReport, Problem
from diptych.ingest.run import Ingested, ingest
from diptych.ingest.splitting import SplitShares

__all__ = [
    "Columns",
    "IngestOptions",
    "IngestReport",
    "Ingested",
    "PictureSource",
    "Place",
    "Plan",
    "Problem",
    "SplitShares",
    "ingest",
    "media_of",
    "open_pictures",
    "plan_ingest",
]
