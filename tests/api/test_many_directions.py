"""Three modalities have six directions: every table of a comparison stays readable and says all of them."""

import json
from itertools import permutations

import pandas as pd
import pytest

import diptych
from diptych.comparison import ComparisonReport
from diptych.experiments import Recipe, compare_methods, evaluate_model, label_curve, model_block, render_report
from diptych.experiments.recipe import suited
from diptych.methods import create

DIRECTIONS = [f"{a}->{b}" for a, b in permutations(("image", "text", "audio"), 2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, three_dataset):
    out = tmp_path_factory.mktemp("report")
    compare_methods(three_dataset, Recipe(methods=("chance", "sm"), seeds=(0, 1)), out)
    return out


@pytest.fixture(scope="module")
def report(folder):
    return ComparisonReport(json.loads((folder / "results.json").read_text()))


def test_every_direction_has_scores_partners_and_chance(report, three_dataset):
    block, chance = report.results["methods"]["sm"], report.results["chance"]
    assert report.directions == DIRECTIONS == list(block["instance"])[:-1]
    for name in DIRECTIONS:
        assert block[name]["map"] > 1.5 * chance[name]["map"] > 0
        assert block[name]["chance"]["map"] == pytest.approx(chance[name]["map"])
        assert block["instance"][name]["chance"]["mean_reciprocal_rank"] == pytest.approx(chance[name]["mrr"])
    for measure in ("map", "map@50"):
        mean = sum(block[name][measure] for name in DIRECTIONS) / 6
        low, high = block["average"][f"{measure}_ci95"]
        assert low < mean < high
        assert block["average"][measure] == pytest.approx(mean)
        assert chance[measure] == pytest.approx(sum(chance[name][measure] for name in DIRECTIONS) / 6)
    ranks = [block["instance"][name]["mean_reciprocal_rank"] for name in DIRECTIONS]
    assert block["instance"]["average"]["mean_reciprocal_rank"] == pytest.approx(sum(ranks) / 6)
    model = create("sm").fit(three_dataset)
    alone = model_block(model, three_dataset, evaluate_model(model, three_dataset))
    assert alone["audio->text"]["map"] == block["audio->text"]["map"]


def test_the_markdown_has_averages_and_then_the_directions(folder, report):
    first, by_map, by_mrr = (folder / "results.md").read_text().split("| method |")[1:]
    assert "average MAP (95 %)" in first and "→" not in first
    block, chance = report.results["methods"]["sm"], report.results["chance"]
    for name in DIRECTIONS:
        assert name.replace("->", " → ") in by_map and name.replace("->", " → ") in by_mrr
        assert f"{block[name]['map']:.3f} (" in by_map and f"{chance[name]['map']:.3f}" in by_map
        assert f"{block['instance'][name]['mean_reciprocal_rank']:.3f} (" in by_mrr
    assert max(map(len, first.splitlines())) < 200


def test_the_page_has_averages_and_a_table_of_each_direction(report):
    page = render_report(report.results)
    scores = page[page.index("<h2>Scores</h2>") : page.index("<h2>By direction</h2>")]
    assert "→" not in scores and scores.count("<table") == 1
    below = page[page.index("<h2>By direction</h2>") : page.index("<h2>Scores with 95% intervals</h2>")]
    assert below.count("<table") == 7 and below.count("<details>") == 6
    for name in DIRECTIONS:
        assert f"<summary>{name.replace('->', ' → ')}:" in below
        assert f"{report.results['methods']['sm']['instance'][name]['R@10']:.3f}" in below


def test_the_report_in_python_is_two_tables_and_flat_rows(report, tmp_path):
    rows = {row["method"]: row for row in report.rows()}
    block = report.results["methods"]["sm"]
    frame = report.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    for name in DIRECTIONS:
        assert rows["sm"][f"{name} map"] == block[name]["map"] == frame.loc["sm", f"{name} map"]
        assert rows["sm"][f"{name} mrr"] == block["instance"][name]["mean_reciprocal_rank"]
    shown = repr(report)
    assert max(map(len, shown.split("\n\n")[0].splitlines())) < 100
    assert "image → audio" in shown and "random ranking" in shown
    markdown, latex = report.to_markdown(tmp_path / "table.md"), report.to_latex()
    assert markdown.count("| --- |") == 2 and f"**{block['audio->image']['map']:.3f}**" in markdown
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert latex.count(r"\begin{table}") == 1 and r"audio $\to$ image" in latex
    assert report._repr_html_().count("<table>") == 2


def test_two_directions_stay_one_table(counts_dataset):
    report = diptych.compare(counts_dataset, methods=["chance"])
    assert report.to_markdown().count("| --- |") == 1
    assert "image → text" in report.to_markdown()
    assert "By direction" not in render_report(report.results)


def test_a_label_curve_draws_the_average_and_lists_each_direction(three_dataset, tmp_path):
    found = label_curve(three_dataset, Recipe(methods=("sm",), seeds=(0,)), tmp_path, [2, "all"])
    assert set(DIRECTIONS) <= set(found["methods"]["sm"]["points"][0])
    page = (tmp_path / "curve.md").read_text()
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")][:7] == [
        "average",
        *(name.replace("->", " → ") for name in DIRECTIONS),
    ]


def test_all_methods_of_a_comparison_are_those_that_can_join_so_many(three_dataset, counts_dataset):
    kept, left_out = suited(three_dataset, Recipe())
    assert left_out["cfa"] == "it joins 2 modalities, not 3" and "cfa" not in kept.method_names
    assert {"cca", "cca3v", "sm", "dcca", "cdmlmr", "chance"} <= set(kept.method_names)
    assert "cfa" not in suited(three_dataset, Recipe(modalities=("image", "audio")))[1]
    assert "cfa" not in suited(counts_dataset, Recipe())[1]
