"""Search: from a model and a dataset to an index, and from text and images to the items that match them."""

from diptych.search.backup import backup_index, restore_backup, verify_index
from diptych.search.browse.projection import Projection
from diptych.search.build import Built, build_index
from diptych.search.entries import entry_id
from diptych.search.hits import Answer, Hit, Why
from diptych.search.probability.calibration import Calibration
from diptych.search.probability.calibrator import calibrate
from diptych.search.probability.reliability import reliability
from diptych.search.query import MODES, Mode, Query, QueryPart, Sort
from diptych.search.searcher import Searcher
from diptych.search.writer import NewItem

__all__ = [
    "MODES",
    "Answer",
    "Built",
    "Calibration",
    "Hit",
    "Mode",
    "NewItem",
    "Projection",
    "Query",
    "QueryPart",
    "Searcher",
    "Sort",
    "Why",
    "backup_index",
    "build_index",
    "calibrate",
    "entry_id",
    "reliability",
    "restore_backup",
    "verify_index",
]
