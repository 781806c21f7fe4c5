"""`diptych.compare`: a report as rows, tables and files, and `diptych.evaluate`."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import diptych
from diptych._core.errors import ConfigError, DataError, FitError
from diptych.data import Dataset, Protocol
from diptych.experiments import Recipe, compare_methods, evaluate_model, render_report


@pytest.fixture(scope="module")
def report(arrays, labels):
    return diptych.compare(arrays, labels, methods=["chance", "cca", "sm"], seeds=[0, 1])


class TestCompare:
    def test_the_figures_are_those_of_the_command(self, arrays, labels, report, tmp_path) -> None:
        dataset = Dataset.from_arrays(arrays, labels).save(tmp_path / "dataset")
        recipe = Recipe(methods=("chance", "cca", "sm"), seeds=(0, 1))
        results = compare_methods(dataset, recipe, tmp_path / "report")
        for name, block in results["methods"].items():
            mine = report.results["methods"][name]
            assert mine["average"] == block["average"] and mine["image->text"] == block["image->text"]

    def test_a_folder_keeps_everything(self, arrays, labels, tmp_path) -> None:
        kept = diptych.compare(arrays, labels, methods=["cca"], out=tmp_path / "report")
        assert json.loads((tmp_path / "report" / "results.json").read_text()) == json.loads(json.dumps(kept.results))
        assert diptych.load(tmp_path / "report" / "runs" / "cca" / "0" / "model").is_fitted

    def test_methods_with_parameters(self, arrays, labels) -> None:
        given = [diptych.CCA(components=2), diptych.SemanticMatching, "cfa"]
        report = diptych.compare(arrays, labels, methods=given, params={"cfa": {"components": 3}})
        blocks = report.results["methods"]
        assert list(blocks) == ["cca", "sm", "cfa"]
        assert [blocks[name]["params"].get("components") for name in blocks] == [2, None, 3]

    def test_datasets_splits_and_protocols(self, arrays, draft, counts_dataset) -> None:
        of_folder = diptych.compare(counts_dataset, methods=["cca"], split="val")
        assert of_folder.results["dataset"]["name"] == counts_dataset.name
        few = diptych.compare(
            arrays, draft.labels, methods=["sm"], splits=draft.splits, protocol=Protocol(labels_per_class=3)
        )
        assert few.results["dataset"]["splits"] == {"train": 96, "val": 40, "test": 60}
        assert few.results["protocol"]["labels_per_class"] == 3

    def test_a_method_that_fails_is_listed_and_all_failing_is_an_error(self, arrays) -> None:
        report = diptych.compare(arrays, methods=["cca", "sm"])
        assert report.methods == ["cca"] and "no training item has one" in report.failures["sm"]
        assert "sm failed: SemanticMatching learns from labels" in repr(report)
        with pytest.raises(FitError, match=r"no method could be fitted: sm: SemanticMatching learns from labels"):
            diptych.compare(arrays, methods=["sm"])

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"methods": "cca"}, ConfigError, r"methods is 'cca'; give a list, such as \['cca'\]"),
            ({"methods": ["ccca"]}, ConfigError, "there is no method 'ccca'; did you mean 'cca'"),
            ({"methods": [3]}, ConfigError, "methods holds 3, which is no registered method"),
            ({"methods": ["cca", diptych.CCA(ridge=1.0)]}, ConfigError, "methods lists a value twice"),
            ({"methods": []}, ConfigError, "methods is empty; name at least one, or leave it out for all"),
            ({"methods": ["cca"], "seeds": 3}, ConfigError, r"seeds is 3; give a list, such as \[3\]"),
            ({"methods": ["cca"], "params": {"sm": {"strength": 1.0}}}, ConfigError, "'sm', which does not run"),
            ({"methods": ["cca"], "seeds": []}, ConfigError, "there is no seed"),
            ({"methods": ["cca"], "split": "dev"}, ConfigError, "split is 'dev'"),
            ({"methods": ["cca"], "labels": ["a"]}, DataError, "there are 196 rows but 1 labels"),
        ],
    )
    def test_what_cannot_be_compared_is_named(self, arrays, options, error, message) -> None:
        with pytest.raises(error, match=message):
            diptych.compare(arrays, **options)


class TestReport:
    def test_rows_are_plain_numbers(self, report) -> None:
        rows = report.rows()
        assert [row["method"] for row in rows] == report.methods == ["chance", "cca", "sm"]
        for row in rows:
            block = report.results["methods"][row["method"]]
            assert row["map"] == block["average"]["map"]
            assert row["map_low"] < row["map"] < row["map_high"]
            assert row["mrr"] == block["instance"]["average"]["mean_reciprocal_rank"]
            assert row["image->text map"] == block["image->text"]["map"]
        assert report.best == "sm" == report.best_by("map") == report.best_by("image->text map")
        assert report.best_by("mrr") == "cca"
        assert [row["p_holm"] is None for row in rows] == [False, False, True]

    def test_it_is_a_data_frame(self, report) -> None:
        frame = report.to_pandas()
        assert frame.index.tolist() == report.methods
        assert frame.loc["cca", "map"] == report.rows()[1]["map"]
        pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(report).set_index("method"), frame, check_dtype=False)
        assert report.__dataframe__().num_rows() == 3
        assert report.to_arrow().column("method").to_pylist() == report.methods

    def test_without_pandas_the_extra_is_named(self, report, monkeypatch) -> None:
        from diptych._core import errors

        def missing(module):
            raise ImportError(module)

        monkeypatch.setattr(errors, "import_module", missing)
        errors.optional_package.cache_clear()
        with pytest.raises(ConfigError, match=r"to_pandas needs pandas; .*diptych\[pandas"):
            report.to_pandas()
        errors.optional_package.cache_clear()

    def test_csv(self, report, tmp_path) -> None:
        text = report.to_csv(tmp_path / "scores.csv")
        assert (tmp_path / "scores.csv").read_text() == text
        read = list(csv.DictReader(io.StringIO(text)))
        assert [float(row["map"]) for row in read] == [row["map"] for row in report.rows()]

    def test_latex(self, report, tmp_path) -> None:
        text = report.to_latex(tmp_path / "scores.tex", caption=r"On \emph{arrays}.", label="tab:scores")
        assert (tmp_path / "scores.tex").read_text() == text
        rows = {line.split(" & ")[0]: line for line in text.splitlines() if line.endswith(r"\\")}
        assert set(rows) == {"method", "chance", "cca", "sm"}
        assert {line.count("&") for line in rows.values()} == {7}
        assert rows["sm"].count(r"\textbf") == 4 and rows["cca"].count(r"\textbf") == 1
        assert r"image $\to$ text" in rows["method"]
        assert r"\caption{On \emph{arrays}.}" in text and r"\label{tab:scores}" in text
        assert "%" not in text.replace(r"\%", "")
        assert r"chance level: MAP 0." in report.to_latex()

    def test_latex_marks_what_is_not_significantly_worse(self, report) -> None:
        results = json.loads(json.dumps(report.results))
        results["comparisons"]["against_best"]["cca"]["p_holm"] = 0.2
        results["dataset"]["name"] = "50%_of #1"
        text = diptych.ComparisonReport(results).to_latex()
        assert r"cca$^\dagger$ &" in text and r"chance &" in text
        assert r"50\%\_of \#1" in text

    def test_markdown(self, report, tmp_path) -> None:
        text = report.to_markdown(tmp_path / "scores.md")
        lines = text.splitlines()
        assert lines[0] == "| method | image → text | text → image | average MAP | 95 % | ± seeds | MAP@50 | MRR |"
        assert len(lines) == 5 and lines[4].count("**") == 8

    def test_the_page_is_that_of_the_command(self, report, tmp_path) -> None:
        report.save_html(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text() == render_report(report.results)

    def test_it_prints_as_a_table(self, report) -> None:
        lines = repr(report).splitlines()
        heads = ["method", "image → text", "text → image", "average MAP", "95 %", "± seeds", "MAP@50", "MRR"]
        assert [head.strip() for head in lines[0].split("  ") if head.strip()] == heads
        assert len({len(line) for line in lines[:4]}) == 1
        assert lines[5].startswith("best by MAP: sm, by MRR: cca. Retrieval on the test split of arrays (")
        assert "<td>cca</td>" in report._repr_html_()

    def test_names_are_escaped_in_html(self, report) -> None:
        results = json.loads(json.dumps(report.results))
        results["dataset"]["name"] = "<script>"
        assert "<script>" not in diptych.ComparisonReport(results)._repr_html_()


class TestEvaluate:
    def test_arrays_and_datasets(self, arrays, draft) -> None:
        dataset = Dataset.from_arrays(arrays, draft.labels, splits=draft.splits)
        model = diptych.SemanticMatching(0.1).fit(dataset)
        expected = evaluate_model(model, dataset)
        assert diptych.evaluate(model, dataset).average_map == expected.average_map == model.score(dataset)
        test = np.array(draft.splits) == "test"
        labels = np.array(draft.labels)[test]
        mine = diptych.evaluate(model, {name: rows[test] for name, rows in arrays.items()}, labels)
        assert mine.average_map == expected.average_map
        parts = [f"{name} MAP {scores.mean():.3f}" for name, scores in mine.directions.items()]
        average = f"average MAP {mine.average_map:.3f}, MRR {mine.average_mrr:.3f}"
        assert repr(mine) == f"ModelScores({', '.join(parts)}; {average})"
        partners = diptych.evaluate(model, dataset, relevance="document")
        assert partners.relevance == "document"

    def test_labels_beside_a_dataset_are_refused(self, arrays, draft) -> None:
        dataset = Dataset.from_arrays(arrays, draft.labels)
        model = diptych.SemanticMatching(0.1).fit(dataset)
        with pytest.raises(ConfigError, match="labels is given beside a dataset"):
            diptych.evaluate(model, dataset, draft.labels)
