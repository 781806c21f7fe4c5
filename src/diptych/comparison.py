"""The result of `diptych.compare`: a table for a notebook, a paper or a file."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape as escape_html
from pathlib import Path
from typing import Any

from diptych._core.errors import optional_package
from diptych._core.files import write_text
from diptych._core.rendering import escape, table

_ALPHA = 0.05
_MOST_DIRECTIONS = 2  # beyond that they stand in a table of their own
_RANDOM = "random ranking"
_LATEX = str.maketrans({character: f"\\{character}" for character in "&%$#_{}"} | {"→": r"$\to$", "±": r"$\pm$"})


@dataclass(frozen=True, repr=False)
class ComparisonReport:
    """The scores of every method, with their uncertainty.

    Scores are MAP (the mean average precision of retrieval by class) of every direction and their average, MAP@50,
    and MRR (the mean reciprocal rank of an item's own partner), with 95 % intervals over items. A report is a table and
    converts to pandas, Arrow and anything that reads the dataframe protocol.

    Attributes:
        results: everything, as in the `results.json` of `diptych compare`: parameters, selection, classes, curves.
    """

    results: Mapping[str, Any]

    @property
    def best(self) -> str:
        """The method with the highest average MAP; see `best_by` for other measures."""
        return str(self.results["comparisons"]["best"])

    def best_by(self, measure: str) -> str | None:
        """The method with the highest value in a column of `rows`, such as "mrr"; None if no method has one."""
        known = {row["method"]: row[measure] for row in self.rows() if row[measure] is not None}
        return max(known, key=lambda name: known[name], default=None)

    @property
    def methods(self) -> list[str]:
        """The methods that were fitted, in order."""
        return list(self.results["methods"])

    @property
    def failures(self) -> dict[str, str]:
        """The methods that could not be fitted, and why."""
        return dict(self.results["failures"])

    @property
    def directions(self) -> list[str]:
        """The directions, such as "image->text": the query modality and the gallery modality."""
        return [name for name in self.results["chance"] if "->" in name]

    def rows(self) -> list[dict[str, Any]]:
        """One row per method, in plain numbers.

        "image->text map" and "image->text mrr" are of one direction, "map" and "mrr" averages over all of them,
        "…_low" and "…_high" the ends of their 95 % intervals, "map_std" the standard deviation over seeds, "p_holm" the
        p-value of the difference to the best method, corrected for the number of comparisons, and "saw" the data that
        the fit used.
        """
        against = self.results["comparisons"]["against_best"]
        return [
            {
                "method": name,
                **{f"{at} map": block[at]["map"] for at in self.directions},
                **{f"{at} mrr": _partner_in(block, at) for at in self.directions},
                "map": block["average"]["map"],
                **_interval("map", block["average"]),
                "map_std": None if block["deterministic"] else block["average"]["map_std_over_seeds"],
                "map@50": block["average"]["map@50"],
                **_partner(block),
                "p_holm": against.get(name, {}).get("p_holm"),
                "seeds": len(block["seeds"]),
                "fit_seconds": block["fit_seconds"],
                "saw": block["saw"],
            }
            for name, block in self.results["methods"].items()
        ]

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is optional
        """The rows as a `pandas.DataFrame` with the method as its index.

        Raises:
            ConfigError: when pandas is not installed; the message names the extra.
        """
        return optional_package("pandas", "to_pandas", "pandas").DataFrame(self.rows()).set_index("method")

    def to_arrow(self) -> Any:  # noqa: ANN401 - Arrow has no types
        """The rows as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def __dataframe__(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - the dataframe protocol
        return self.to_arrow().__dataframe__(*args, **options)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # noqa: ANN401 - the Arrow protocol
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV; also written to a file if a path is given."""
        rows, text = self.rows(), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["method"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return _written(text.getvalue(), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The table as Markdown, the best of every column in bold; also written to a file if a path is given.

        With more than two directions it shows averages, and a second table the MAP of each.
        """
        parts = []
        for heads, cells in self._tables():
            bold = self._best_cells(heads, cells)
            lines = [
                [f"**{each}**" if (name, at) in bold else each for at, each in enumerate(row)]
                for name, row in cells.items()
            ]
            parts.append("\n".join(table(heads, lines)) + "\n")
        return _written("\n".join(parts), path)

    def to_latex(self, path: str | Path | None = None, *, caption: str | None = None, label: str | None = None) -> str:
        r"""The table as LaTeX (`\usepackage{booktabs}`); written to a file too where a path is given.

        The best of every column is bold; a dagger marks the methods whose average MAP is not significantly below the
        best (paired sign-flip test over items, Holm's correction, 5 %). With more than two directions the table shows
        averages, and a second tabular the MAP of each.

        Args:
            path: the file to write.
            caption: the caption; by default a sentence about data, split and chance level.
            label: the label for `\ref`.
        """
        first, *others = [self._tabular(heads, cells) for heads, cells in self._tables()]
        parts = [
            r"\begin{table}",
            r"\centering",
            *first,
            *(line for each in others for line in (r"\par\medskip", *each)),
            rf"\caption{{{caption if caption is not None else self._caption().translate(_LATEX)}}}",
            *([] if label is None else [rf"\label{{{label}}}"]),
            r"\end{table}",
        ]
        return _written("\n".join(parts) + "\n", path)

    def _tabular(self, heads: list[str], cells: Mapping[str, list[str]]) -> list[str]:
        """The lines of one LaTeX tabular."""
        bold, tied = self._best_cells(heads, cells), self._tied()
        lines = []
        for name, row in cells.items():
            shown = [each.translate(_LATEX) for each in row]
            shown = [rf"\textbf{{{each}}}" if (name, at) in bold else each for at, each in enumerate(shown)]
            shown[0] += r"$^\dagger$" if name in tied else ""
            lines.append(" & ".join(shown) + r" \\")
        return [
            rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
            r"\toprule",
            " & ".join(head.translate(_LATEX) for head in heads) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
        ]

    def save_html(self, path: str | Path) -> None:
        """Write the report as one HTML file that needs nothing else, the `report.html` of `diptych compare`."""
        from diptych.experiments import render_report

        write_text(Path(path), render_report(self.results))

    def __repr__(self) -> str:
        lines: list[str] = []
        for heads, cells in self._tables():
            grid = [heads, *cells.values()]
            widths = [max(len(row[column]) for row in grid) for column in range(len(heads))]
            lines += [""] if lines else []
            lines += [
                "  ".join(
                    cell.ljust(width) if not at else cell.rjust(width)
                    for at, (cell, width) in enumerate(zip(row, widths, strict=True))
                )
                for row in grid
            ]
        notes = [f"{name} failed: {reason}" for name, reason in self.failures.items()]
        notes += [f"{name} was left out: {reason}." for name, reason in self.results.get("left_out", {}).items()]
        return "\n".join([*lines, "", self._summary(), *notes])

    def _repr_html_(self) -> str:
        shown = []
        for heads, cells in self._tables():
            rows = "".join(
                "<tr>" + "".join(f"<td>{escape_html(cell)}</td>" for cell in row) + "</tr>" for row in cells.values()
            )
            head = "".join(f"<th>{escape_html(cell)}</th>" for cell in heads)
            shown.append(f"<table><tr>{head}</tr>{rows}</table>")
        return f"{''.join(shown)}<p>{escape_html(self._summary())}</p>"

    def _tables(self) -> list[tuple[list[str], dict[str, list[str]]]]:
        """The heads, and the cells of each method, as a person reads them: of many directions in a second table."""
        if len(self.directions) <= _MOST_DIRECTIONS:
            return [self._table(self.directions)]
        heads = ["MAP", *(at.replace("->", " → ") for at in self.directions)]
        cells = {
            row["method"]: [escape(row["method"]), *(_score(row[f"{at} map"]) for at in self.directions)]
            for row in self.rows()
        }
        level = self.results["chance"]
        cells[_RANDOM] = [_RANDOM, *(_score(level[at]["map"]) for at in self.directions)]
        return [self._table([]), (heads, cells)]

    def _table(self, directions: list[str]) -> tuple[list[str], dict[str, list[str]]]:
        """The averages, and these directions before them."""
        heads = ["method", *(at.replace("->", " → ") for at in directions), "average MAP", "95 %", "± seeds"]
        cells = {
            row["method"]: [
                escape(row["method"]),
                *(_score(row[f"{at} map"]) for at in directions),
                _score(row["map"]),
                f"{_score(row['map_low'])}–{_score(row['map_high'])}",
                _score(row["map_std"]),
                _score(row["map@50"]),
                _score(row["mrr"]),
            ]
            for row in self.rows()
        }
        return [*heads, "MAP@50", "MRR"], cells

    @staticmethod
    def _best_cells(heads: list[str], cells: Mapping[str, list[str]]) -> set[tuple[str, int]]:
        """The cells that hold the highest score of their column."""
        scores = [at for at, head in enumerate(heads) if at and head not in ("95 %", "± seeds")]
        best = {at: max((row[at] for row in cells.values() if row[at] != "–"), default=None) for at in scores}
        return {(name, at) for name, row in cells.items() for at in scores if row[at] == best[at]}

    def _summary(self) -> str:
        by_partner = self.best_by("mrr")
        named = f"best by MAP: {self.best}" + (f", by MRR: {by_partner}" if by_partner is not None else "")
        return f"{named}. {self._caption()}"

    def _tied(self) -> set[str]:
        """The methods that are not significantly worse than the best."""
        against = self.results["comparisons"]["against_best"]
        return {name for name, found in against.items() if found["p_holm"] >= _ALPHA}

    def _caption(self) -> str:
        chance, dataset = self.results["chance"], self.results["dataset"]
        return (
            f"Retrieval on the {self.results['split']} split of {dataset['name']} "
            f"({dataset['splits'][self.results['split']]} items); chance level: MAP {_score(chance['map'])}, "
            f"MRR {_score(chance['mrr'])}."
        )


def _interval(name: str, block: Mapping[str, Any]) -> dict[str, float]:
    low, high = block[f"{name}_ci95"]
    return {f"{name}_low": low, f"{name}_high": high}


def _partner(block: Mapping[str, Any]) -> dict[str, float | None]:
    """How well an item's own partner is found; None where no item has one."""
    average = block["instance"].get("average")
    if average is None:
        return {"mrr": None, "mrr_low": None, "mrr_high": None}
    low, high = average["mean_reciprocal_rank_ci95"]
    return {"mrr": average["mean_reciprocal_rank"], "mrr_low": low, "mrr_high": high}


def _partner_in(block: Mapping[str, Any], direction: str) -> float | None:
    """The mean reciprocal rank of an item's own partner in one direction; None where no item has one."""
    found = block["instance"].get(direction)
    return None if found is None else float(found["mean_reciprocal_rank"])


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_text(Path(path), text)
    return text
