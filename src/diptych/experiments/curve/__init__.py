"""The label-efficiency curve: how well methods retrieve, against how many labels per class they were given."""

from diptych.experiments.curve.counts import ALL_LABELS, LabelCount, show_count, sorted_counts
from diptych.experiments.curve.markdown import render_curve_markdown
from diptych.experiments.curve.running import label_curve

__all__ = ["ALL_LABELS", "LabelCount", "label_curve", "render_curve_markdown", "show_count", "sorted_counts"]
