"""Make a dataset of tables, folders and archives of images and texts: read, cleaned and described by features."""

from diptych.data.tables import Problem
from diptych.ingest.columns import Columns, ColumnUse
from diptych.ingest.options import IngestOptions, SplitShares
from diptych.ingest.plan import Plan, plan_ingest
from diptych.ingest.run import Ingested, IngestReport, ingest
from diptych.ingest.understanding import MediaFacts, Understanding, understand, understanding_of

__all__ = [
    "ColumnUse",
    "Columns",
    "IngestOptions",
    "IngestReport",
    "Ingested",
    "MediaFacts",
    "Plan",
    "Problem",
    "SplitShares",
    "Understanding",
    "ingest",
    "plan_ingest",
    "understand",
    "understanding_of",
]
