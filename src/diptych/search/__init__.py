"""Search: from a model and a dataset to an index, and from words and pictures to what belongs to them."""

from diptych.search.building import Built, build_index
from diptych.search.calibration import Calibration, calibrate
from diptych.search.naming import entry_id
from diptych.search.queries import Answer, Hit, NewItem, Query, QueryPart
from diptych.search.reliability import reliability
from diptych.search.searcher import Searcher
from diptych.search.thumbnails import THUMBNAIL_TYPE

__all__ = [
    "THUMBNAIL_TYPE",
    "Answer",
    "Built",
    "Calibration",
    "Hit",
    "NewItem",
    "Query",
    "QueryPart",
    "Searcher",
    "build_index",
    "calibrate",
    "entry_id",
    "reliability",
]
