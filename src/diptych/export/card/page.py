"""A card as Markdown."""

from collections.abc import Iterable, Mapping
from typing import Any

from diptych.experiments.reproduce.wording import plain, table

Card = Mapping[str, Any]


def render_card(card: Card) -> str:
    """All of a card, section by section; what is not known is said to be so."""
    model, data = card["model"], card["data"]
    parts = [
        [f"# Model card: {plain(model['method'])} on {plain(data['name'])}"],
        _model(card),
        ["## Parameters", "", *_parameters(card["parameters"])],
        ["## Data", "", *_data(data)],
        ["## What training saw", "", *_protocol(card["protocol"])],
        ["## How well it retrieves", "", *_figures(card["figures"])],
        ["## Probabilities", "", *_calibration(card["calibration"])],
        ["## Limits", "", *(f"- {plain(words)}" for words in card["limits"])],
        ["## Versions", "", *_versions(card)],
        ["## How to use it", "", *_use(card)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _model(card: Card) -> list[str]:
    model = card["model"]
    rows = model["modalities"].items()
    takes = ", ".join(f"{plain(name)} ({known['dimension']} columns, {known['kind']})" for name, known in rows)
    lines = [
        f"- method: `{plain(model['method'])}`" + (f", {plain(model['summary'])}" if model["summary"] else ""),
        f"- paper: {plain(model['citation'] or 'none named')}",
        f"- joins: {takes}; codes are compared by {model['similarity']}",
        f"- fingerprint: `{model['fingerprint']}`",
    ]
    if model["spaces"]:
        spaces = " and ".join(f"{plain(name)} ({width} columns)" for name, width in model["spaces"].items())
        lines.append(f"- spaces, chosen by `--purpose`: {spaces}")
    if model["fit_seconds"] is not None:
        lines.append(f"- time to fit: {model['fit_seconds']:.1f} s")
    if card["export"] is not None:
        worst = max(card["export"]["largest_difference"].values())
        lines.append(f"- form: ONNX graphs, which differ from the model they were made from by at most {worst:.1e}")
    return lines


def _parameters(found: Card) -> list[str]:
    rows = {name: f"`{plain(value)}`" for name, value in found["given"].items()}
    rows |= {name: "left open" for name in found["chosen"] if found["given"].get(name, "") is None}
    lines = table(["parameter", "value"], ([f"`{name}`", value] for name, value in rows.items()))
    if not found["chosen"]:
        return [*lines, "", "Nothing was left open for validation to choose."]
    chosen = ", ".join(f"`{name}` = `{plain(value)}`" for name, value in found["chosen"].items())
    how = "taken without validation"
    if found["trials"]:
        how = f"the best of {found['trials']} trials on validation, with MAP {found['validation_map']:.3f}"
    return [*lines, "", f"Of what was left open: {chosen}; {how}.", *([f"\n{found['note']}."] if found["note"] else [])]


def _data(found: Card) -> list[str]:
    lines = [f"- fitted on: {plain(found['name'])}, fingerprint `{found['fingerprint']}`"]
    lines.append(f"- {len(found['classes'])} classes: {plain(', '.join(found['classes'])) or 'none'}")
    if found["features"] is None:
        lines.append("- rows came as numbers; how they were made is not known here")
    else:
        made = ", ".join(f"{plain(name)} by `{plain(part['features'])}`" for name, part in found["features"].items())
        lines.append(f"- rows were made of {made}; pipeline `{found['pipeline']}`")
    if found["splits"] is None:
        lines.append("- sizes are not known: the card was written without the dataset")
    else:
        names = list(next(iter(found["splits"].values())))
        labelled = found["labelled"] or {}
        rows = (
            [split, *(f"{counts[name]:,}" for name in names), f"{labelled[split]:,}" if labelled else "not counted"]
            for split, counts in found["splits"].items()
        )
        lines += ["", *table(["split", *map(plain, names), "labelled items"], rows)]
    if found["attribution"]:
        lines += ["", *(f"> {line}".rstrip() for line in found["attribution"].splitlines())]
    return lines


def _protocol(found: Card) -> list[str]:
    return [f"The protocol allowed {found['might_see']}. The method read: {plain(found['saw'])}."]


def _figures(found: Card | None) -> list[str]:
    if found is None:
        return ["Not known: the card was written without a dataset to score on. Write it again with `--dataset`."]
    rows = found["directions"] | {"average": found["average"]}
    lines = table(
        ["direction", "MAP (95 %)", "chance", "MAP@50 (95 %)", "chance", "MRR (95 %)", "chance", "queries"],
        (
            [plain(name.replace("->", " → ")), *_scores(block), *_partner(block["mrr"]), *_asked(block)]
            for name, block in rows.items()
        ),
    )
    words = f"On {plain(found['dataset']['name'])}, split {found['split']}, relevance by {found['relevance']}:"
    meaning = "MRR is the mean reciprocal rank of an item's own partner."
    return [words, "", *lines, "", meaning, *(f"\n{plain(note)}." for note in found["notes"])]


def _partner(found: Card | None) -> list[str]:
    if found is None:
        return ["–", "–"]
    low, high = found["ci95"]
    return [f"{found['value']:.3f} ({low:.3f}–{high:.3f})", f"{found['chance']:.3f}"]


def _scores(block: Card) -> Iterable[str]:
    for name in ("map", "map@50"):
        low, high = block[f"{name}_ci95"]
        yield f"{block[name]:.3f} ({low:.3f}–{high:.3f})"
        yield f"{block['chance'][name]:.3f}"


def _asked(block: Card) -> list[str]:
    return [f"{block['queries']:,} among {block['gallery']:,}" if "queries" in block else "–"]


def _calibration(found: Card | None) -> list[str]:
    if found is None:
        return ["Not known: the card was written without an index. Write it again with `--index`."]
    if not found["directions"]:
        return ["The index gives none."]
    rows = (
        [plain(_way(one)), f"{one['pairs']:,}", f"{one['relevant_share']:.1%}"]
        + ["not judged" if one[key] is None else f"{one[key]:.3f}" for key in ("error_top_10", "error_all_pairs")]
        for one in found["directions"]
    )
    heads = ["direction", "validation pairs", "that belong", "error, top 10 of test", "error, all test pairs"]
    words = "The expected calibration error: by how much a probability is off on average."
    return [words, "", *table(heads, rows)]


def _way(one: Card) -> str:
    way = f"{one['query']} → {one['gallery']}"
    return f"{one['purpose']}: {way}" if "purpose" in one else way


def _versions(card: Card) -> list[str]:
    made = {"fitted": card["versions"]} | ({"exported": card["export"]["versions"]} if card["export"] else {})
    return [
        f"- {how} with {', '.join(f'{name} {plain(at)}' for name, at in found.items())}" for how, found in made.items()
    ]


def _use(card: Card) -> list[str]:
    name = next(iter(card["model"]["modalities"]))
    commands = ["evaluate MODEL DATASET", f"embed MODEL DATASET --modality {plain(name)} --out codes.npy"]
    if card["export"] is None:
        commands.append("export MODEL --onnx EXPORTED")
    commands += ["index MODEL DATASET --out INDEX", "serve INDEX"]
    python = ["from diptych.methods import load_model", "", f'codes = load_model("MODEL").embed("{plain(name)}", rows)']
    return ["```console", *(f"$ diptych {words}" for words in commands), "```", "", "```python", *python, "```"]
