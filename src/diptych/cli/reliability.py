"""`diptych reliability`: whether an index's probabilities mean what they say."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from diptych._core.drawing import drawing_style, save_drawing
from diptych._core.errors import DataError
from diptych.cli.options import AsJson
from diptych.cli.saying import say
from diptych.cli.tables import output_console
from diptych.search import Calibration
from diptych.search.build import CALIBRATION_FILE
from diptych.search.calibration import read_calibration
from diptych.search.reliability import TOP, draw_reliability


def reliability(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="An index's folder.")],
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curves into a .svg or .png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far probabilities are from what was seen on test items, when the index was built."""
    calibration = read_calibration(index / CALIBRATION_FILE)
    if not any("test" in facts for each in calibration.each() for facts in each.facts.values()):
        raise DataError(
            f"{index} holds no judged probabilities; they take labelled or paired validation and test items when "
            "`diptych index` builds it."
        )
    if plot is not None:
        with drawing_style():
            save_drawing(draw_reliability(calibration), plot)
        say(Console(stderr=True), f"plot: {plot}")
    if as_json:
        typer.echo(json.dumps(calibration.to_json(), indent=2, ensure_ascii=False))
    else:
        output_console().print(_table(calibration))


def _table(calibration: Calibration) -> Table:
    table = Table(
        title="expected calibration error on test items",
        caption=f"learned from validation pairs; {_belonging(calibration)}",
    )
    if calibration.purpose is not None:
        table.add_column("looking for")
    for heading in ("asking → finding", "all pairs", f"best {TOP}", "pairs learned from", "of them belong"):
        table.add_column(heading, justify="left" if heading.startswith("asking") else "right")
    for each in calibration.each():
        for (query, gallery), facts in each.facts.items():
            test = facts.get("test")
            errors = [f"{test[key]['error']:.3f}" if test else "–" for key in ("all_pairs", f"top_{TOP}")]
            counts = f"{facts['pairs']:,}", f"{facts['relevant_share']:.3f}"
            purpose = [] if each.purpose is None else [each.purpose]
            table.add_row(*purpose, f"{query} → {gallery}", *errors, *counts)
    return table


def _belonging(calibration: Calibration) -> str:
    """What two items that belong together have in common, for each purpose."""
    means = {"label": "share a class", "document": "are of one document"}
    if not calibration.others:
        return f"two items belong together if they {means[calibration.relevance]}"
    told = "; ".join(f"{each.purpose}: {means[each.relevance]}" for each in calibration.each())
    return f"two items belong together if they (by what is looked for) {told}"
