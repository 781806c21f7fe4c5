"""Measure retrieval: rankings, average precision, chance levels, intervals, tests."""

from diptych.evaluation.evaluator import DirectionScores, average_directions, evaluate_direction, mean_average_precision
from diptych.evaluation.instance import InstanceScores, evaluate_instances
from diptych.evaluation.measures import (
    Denominator,
    average_precision,
    average_precision_at,
    best_rank_distribution,
    chance_of_no_hit,
    expected_average_precision,
    expected_precision,
    expected_recall,
    expected_reciprocal_rank,
    interpolated_precision,
    precision_at,
    recall_at,
    recall_levels,
)
from diptych.evaluation.ranking import HitPositions, hit_positions
from diptych.evaluation.similarity import (
    SIMILARITIES,
    ColumnStatistics,
    Normalisation,
    Similarity,
    normalise,
)
from diptych.evaluation.statistics import (
    Comparison,
    average_interval,
    compare,
    holm,
    mean_interval,
    seed_spread,
    sign_flip_p_value,
)

__all__ = [
    "SIMILARITIES",
    "ColumnStatistics",
    "Comparison",
    "Denominator",
    "DirectionScores",
    "HitPositions",
    "InstanceScores",
    "Normalisation",
    "Similarity",
    "average_directions",
    "average_interval",
    "average_precision",
    "average_precision_at",
    "best_rank_distribution",
    "chance_of_no_hit",
    "compare",
    "evaluate_direction",
    "evaluate_instances",
    "expected_average_precision",
    "expected_precision",
    "expected_recall",
    "expected_reciprocal_rank",
    "hit_positions",
    "holm",
    "interpolated_precision",
    "mean_average_precision",
    "mean_interval",
    "normalise",
    "precision_at",
    "recall_at",
    "recall_levels",
    "seed_spread",
    "sign_flip_p_value",
]
