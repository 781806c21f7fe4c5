"""The table of a comparison as Markdown, for a page or a message."""

from collections.abc import Mapping
from typing import Any

from diptych.experiments.measured_spaces import space_notes


def render_markdown(results: Mapping[str, Any]) -> str:
    """One row a method: MAP with its interval per direction and on average, MAP@50, MRR, and MAP of z-scored codes."""
    directions = [name for name in results["chance"] if "->" in name]
    columns = [*directions, "average"]
    heads = [f"{name.replace('->', ' → ')} MAP (95 %)" for name in columns]
    lines = [
        f"# {_plain(results['dataset']['name'])}, split {results['split']}",
        "",
        f"Dataset `{results['dataset']['fingerprint']}`. Training saw: {results['protocol']['words']}. "
        f"A random ranking has MAP {results['chance']['map']:.3f}, MAP@50 {results['chance']['map@50']:.3f} and MRR "
        f"{_score(results['chance']['mrr'])}. MRR is the mean reciprocal rank of an item's own partner.",
        "",
        _row(
            ["method", *heads, "average MAP@50", "± seeds", "average MRR (95 %)", "average MAP, z-scored codes", "saw"]
        ),
        _row(["---"] + ["---:"] * (len(columns) + 4) + ["---"]),
    ]
    for name, block in results["methods"].items():
        cells = [
            f"{block[c]['map']:.3f} ({block[c]['map_ci95'][0]:.3f}–{block[c]['map_ci95'][1]:.3f})" for c in columns
        ]
        spread = block["average"]["map_std_over_seeds"]
        lines.append(
            _row(
                [
                    f"`{_plain(name)}`",
                    *cells,
                    f"{block['average']['map@50']:.3f}",
                    "–" if spread is None or block["deterministic"] else f"{spread:.3f}",
                    _partner(block["instance"].get("average")),
                    f"{block['znorm']['average']['map']:.3f}",
                    block["saw"],
                ]
            )
        )
    lines += [f"\n{_plain(note)}." for note in space_notes(results)]
    lines += [f"\n`{_plain(name)}` was left out: {_plain(why)}." for name, why in results.get("left_out", {}).items()]
    lines += [f"\n`{_plain(name)}` failed: {_plain(reason)}" for name, reason in results["failures"].items()]
    return "\n".join(lines) + "\n"


def _partner(average: Mapping[str, Any] | None) -> str:
    if average is None:
        return "–"
    low, high = average["mean_reciprocal_rank_ci95"]
    return f"{average['mean_reciprocal_rank']:.3f} ({low:.3f}–{high:.3f})"


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    """Keep a name from being read as markup."""
    return "".join(" " if character in "|`<>\n\r" else character for character in text)
