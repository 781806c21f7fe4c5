import copy
import json
import math

import pytest

from diptych.experiments import Recipe, compare_methods, render_report
from diptych.experiments.charts import monitored_charts
from diptych.methods import registry
from diptych.methods.registry import Entry
from experiments import fakes
from experiments.test_report import HOSTILE, Reader

ROWS = [
    {
        "step": 100 * place,
        "loss": 5.0 / place,
        "similar_distance": 2.0 / place,
        "dissimilar_distance": 2.0 * place,
        "active_hinges": 1.0 / place,
        "active_quadruplets": None if place == 2 else 0.5,
        "edge_purity": 0.4,
        "spread": 0.1,
    }
    for place in (1, 2, 3, 4)
]
RECORD = {
    "rows": ROWS,
    "validations": [(200, 0.2), (400, 0.4)],
    "steps": 400,
    "best_step": 400,
    "best_score": 0.4,
    "chance_purity": 0.1,
}


class Watched(fakes.Seeded):
    """Writes down how its training went, and with it its seed."""

    def _fit(self, data, progress) -> None:
        super()._fit(data, progress)
        self.record_["monitoring"] = RECORD | {"best_score": 0.1 * self.seed}


def by_title(record):
    return {panel.chart.title: panel for panel in monitored_charts(record)}


def places(line):
    return [tuple(map(float, point.split(","))) for point in line.points.split()]


def test_lines_are_in_proportion_to_steps_and_values():
    panel = by_title(RECORD)["Distances"]
    frame = panel.chart.frame
    similar, dissimilar = panel.chart.lines
    assert (similar.name, dissimilar.name) == ("similar pairs", "dissimilar pairs")
    heights = [frame.bottom - y for _, y in places(dissimilar)]
    assert heights == pytest.approx([heights[0] * place for place in (1, 2, 3, 4)], abs=0.02)
    assert [frame.bottom - y for _, y in places(similar)] == pytest.approx(
        [heights[0] / place for place in (1, 2, 3, 4)], abs=0.02
    )
    across = [x - frame.left for x, _ in places(similar)]
    assert across == pytest.approx([across[0] * place for place in (1, 2, 3, 4)], abs=0.02)
    assert max(x for x, _ in places(similar)) == frame.right
    assert min(y for _, y in places(dissimilar)) >= frame.top


def test_a_line_is_cut_where_a_value_is_missing_and_a_point_alone_is_a_dot():
    panel = by_title(RECORD)["Shares"]
    pieces = [places(line) for line in panel.chart.lines if line.name.startswith("quadruplets")]
    assert [len(piece) for piece in pieces] == [2, 2]
    assert pieces[0][0] == pieces[0][1]
    assert pieces[1][0] != pieces[1][1]
    assert [name for name, _ in panel.legend] == list(dict.fromkeys(line.name for line in panel.chart.lines))
    assert all(colour == dict(panel.legend)[line.name] for line in panel.chart.lines for colour in [line.colour])


def test_the_chance_level_and_the_kept_step_are_where_they_belong():
    panels = by_title(RECORD)
    shares, frame = panels["Shares"], panels["Shares"].chart.frame
    (purity,) = [line for line in shares.chart.lines if line.name.startswith("edges")]
    height = frame.bottom - places(purity)[0][1]
    assert frame.bottom - shares.level[0] == pytest.approx(height / 4, abs=0.02)
    assert "0.100" in shares.level[1]
    assert panels["Validation"].marked == (frame.right, "weights kept: step 400")
    assert panels["Distances"].level is None and panels["Distances"].marked is None


def test_what_was_not_watched_is_left_out():
    quadruplets = [{name: row[name] for name in ("step", "loss", "active_quadruplets", "spread")} for row in ROWS]
    panels = by_title(RECORD | {"rows": quadruplets, "validations": [], "best_step": None})
    assert list(panels) == ["Shares", "Spread"]
    assert [name for name, _ in panels["Shares"].legend] == ["quadruplets that break their margin"]
    assert panels["Shares"].level is None
    assert monitored_charts({}) == []
    assert monitored_charts({"rows": [], "validations": [], "steps": 0}) == []


def test_colours_do_not_depend_on_what_else_was_watched():
    alone = by_title({"rows": [{"step": 1, "edge_purity": 0.5}], "steps": 1})["Shares"]
    assert alone.legend == [entry for entry in by_title(RECORD)["Shares"].legend if entry[0].startswith("edges")]


@pytest.fixture
def results(tmp_path, monkeypatch, counts_dataset):
    entry = Entry("experiments.test_training_charts:Watched", "is watched")
    monkeypatch.setattr(registry, "_METHODS", fakes.METHODS | {"watched": entry})
    return compare_methods(counts_dataset, Recipe(methods=("steady", "watched"), seeds=(2, 5)), tmp_path / "report")


def test_the_first_seed_is_kept_and_drawn(results, tmp_path):
    on_disk = json.loads((tmp_path / "report" / "results.json").read_text())["methods"]
    assert on_disk["watched"]["monitoring"]["seed"] == 2
    assert math.isclose(on_disk["watched"]["monitoring"]["best_score"], 0.2)
    assert on_disk["watched"]["monitoring"]["rows"] == ROWS
    assert "monitoring" not in on_disk["steady"]
    page = Reader((tmp_path / "report" / "report.html").read_text())
    text = " ".join(" ".join(page.words).split())
    for words in ("How training went", "watched, seed 2", "The two lines should part", "weights kept: step 400"):
        assert words in text
    assert "steady, seed" not in text
    assert page.tags.count("polyline") == 2 * 2 + 2 + 4 + 1 + 1


def test_reports_without_monitoring_have_no_such_section(results):
    plain = copy.deepcopy(results)
    del plain["methods"]["watched"]["monitoring"]
    assert "How training went" not in render_report(plain)


def test_hostile_names_stay_text(results):
    hostile = copy.deepcopy(results)
    hostile["methods"][HOSTILE] = hostile["methods"].pop("watched")
    against = hostile["comparisons"]["against_best"]
    against |= {HOSTILE: next(iter(against.values()))}
    hostile["comparisons"]["best"] = "steady"
    page = Reader(render_report(hostile))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert HOSTILE in "".join(page.words)
