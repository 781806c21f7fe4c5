"""A curve as Markdown, for a page or a message."""

from collections.abc import Mapping, Sequence
from typing import Any

_NOTES = (
    "A cell is the MAP, ± its standard deviation over seeds, and the 95 % interval over queries of the mean over "
    "seeds. The seed of a run decides which training labels are kept; "
)
_PROPAGATED = (
    " Propagated labels are part of the protocol: what a method gains by them is the propagation's, not the method's."
)


def render_curve_markdown(results: Mapping[str, Any]) -> str:
    """The plot, and one table for the average and each direction: a row a method, a column a label count."""
    columns = ["average", *(name for name in results["chance"] if "->" in name)]
    lines = [
        f"# {_plain(results['dataset']['name'])}, split {results['split']}: MAP by labels per class",
        "",
        f"Dataset `{results['dataset']['fingerprint']}`. Training saw: {results['protocol']['words']}. "
        f"A random ranking has MAP {results['chance']['map']:.3f}.",
        "",
        _notes(results["protocol"]),
        "",
        "![MAP by labels per class](curve.svg)",
    ]
    for column in columns:
        lines += ["", f"## {_plain(column.replace('->', ' → '))}", "", *_table(results, column)]
    lines += ["", "## What each method saw", ""]
    for name, block in results["methods"].items():
        saw = " / ".join(dict.fromkeys(point["saw"] for point in block["points"]))
        lines.append(f"- `{_plain(name)}`: {saw}{' (no labels, so fitted once)' * block['label_free']}")
    if results["failures"]:
        lines += ["", "## Failures", "", *map(_failure, results["failures"])]
    if results["pending"]:
        lines += ["", f"Still to come: {', '.join(results['pending'])}."]
    return "\n".join(lines) + "\n"


def _notes(protocol: Mapping[str, Any]) -> str:
    validation = "withheld alike" if protocol["withhold_validation"] else "never withheld"
    return f"{_NOTES}validation labels are {validation}.{_PROPAGATED if protocol['propagate'] else ''}"


def _table(results: Mapping[str, Any], column: str) -> list[str]:
    counts = results["labels_per_class"]
    level = results["chance"] if column == "average" else results["chance"][column]
    kept = [f"{value:.4g}" for value in results["kept_labels_per_class"]]
    lines = [_row(["labels per class", *map(str, counts)]), _row(["---", *["---:"] * len(counts)])]
    for name, block in results["methods"].items():
        points = {point["labels_per_class"]: point for point in block["points"]}
        lines.append(_row([f"`{_plain(name)}`", *(_cell(points.get(count), column) for count in counts)]))
    lines.append(_row(["random ranking", *[f"{level['map']:.3f}"] * len(counts)]))
    return [*lines, _row(["labels a class keeps, mean", *kept])]


def _cell(point: Mapping[str, Any] | None, column: str) -> str:
    if point is None:
        return "–"
    scores = point[column]
    low, high = scores["map_ci95"]
    spread = scores["map_std_over_seeds"]
    shown = "" if spread is None or point["deterministic"] else f" ± {spread:.3f}"
    return f"{scores['map']:.3f}{shown} ({low:.3f}–{high:.3f})"


def _failure(failure: Mapping[str, Any]) -> str:
    counts = ", ".join(map(str, failure["labels_per_class"]))
    return f"- `{_plain(failure['method'])}` at labels per class {counts}: {_plain(failure['reason'])}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    """Keep a name from being read as markup."""
    return "".join(" " if character in "|`<>\n\r" else character for character in text)
