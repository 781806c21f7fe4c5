"""Render a model card as Markdown, and say what a model cannot do."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from diptych._core.rendering import escape, table, with_interval

Card = Mapping[str, Any]


def render_card(card: Card) -> str:
    """Render all sections of a card; what is not known is said to be unknown."""
    model, data = card["model"], card["data"]
    parts = [
        [f"# Model card: {escape(model['method'])} on {escape(data['name'])}"],
        _model(card),
        ["## Parameters", "", *_parameters(card["parameters"])],
        ["## Data", "", *_data(data)],
        ["## What training saw", "", *_protocol(card["protocol"])],
        ["## How well it retrieves", "", *_figures(card["figures"])],
        ["## Probabilities", "", *_calibration(card["calibration"])],
        ["## Limits", "", *(f"- {escape(sentence)}" for sentence in card["limits"])],
        ["## Versions", "", *_versions(card)],
        ["## How to use it", "", *_use(card)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _model(card: Card) -> list[str]:
    model = card["model"]
    rows = model["modalities"].items()
    takes = ", ".join(f"{escape(name)} ({known['dimension']} columns, {known['kind']})" for name, known in rows)
    lines = [
        f"- method: `{escape(model['method'])}`" + (f", {escape(model['summary'])}" if model["summary"] else ""),
        f"- paper: {escape(model['citation'] or 'none named')}",
        f"- joins: {takes}; embeddings are compared by {model['similarity']}",
        f"- fingerprint: `{model['fingerprint']}`",
    ]
    if model["spaces"]:
        spaces = " and ".join(f"{escape(name)} ({width} columns)" for name, width in model["spaces"].items())
        lines.append(f"- spaces, chosen by `--purpose`: {spaces}")
    if model["fit_seconds"] is not None:
        lines.append(f"- time to fit: {model['fit_seconds']:.1f} s")
    if card["export"] is not None:
        worst = max(card["export"]["largest_difference"].values())
        lines.append(f"- form: ONNX graphs, which differ from the model they were made from by at most {worst:.1e}")
    return lines


def _parameters(found: Card) -> list[str]:
    rows = {name: f"`{escape(value)}`" for name, value in found["given"].items()}
    rows |= {name: "left open" for name in found["chosen"] if found["given"].get(name, "") is None}
    lines = table(["parameter", "value"], ([f"`{name}`", value] for name, value in rows.items()), numbers=())
    if not found["chosen"]:
        return [*lines, "", "Nothing was left open for validation to choose."]
    chosen = ", ".join(f"`{name}` = `{escape(value)}`" for name, value in found["chosen"].items())
    how = "taken without validation"
    if found["trials"]:
        how = f"the best of {found['trials']} trials on validation, with MAP {found['validation_map']:.3f}"
    return [*lines, "", f"Of what was left open: {chosen}; {how}.", *([f"\n{found['note']}."] if found["note"] else [])]


def _data(found: Card) -> list[str]:
    lines = [f"- fitted on: {escape(found['name'])}, fingerprint `{found['fingerprint']}`"]
    lines.append(f"- {len(found['classes'])} classes: {escape(', '.join(found['classes'])) or 'none'}")
    if found["features"] is None:
        lines.append("- rows came as numbers; how they were made is not known here")
    else:
        made = ", ".join(f"{escape(name)} by `{escape(part['features'])}`" for name, part in found["features"].items())
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
        lines += ["", *table(["split", *map(escape, names), "labelled items"], rows)]
    if found["attribution"]:
        lines += ["", *(f"> {line}".rstrip() for line in found["attribution"].splitlines())]
    return lines


def _protocol(found: Card) -> list[str]:
    return [f"The protocol allowed {found['might_see']}. The method read: {escape(found['saw'])}."]


def _figures(found: Card | None) -> list[str]:
    if found is None:
        return ["Not known: the card was written without a dataset to score on. Write it again with `--dataset`."]
    rows = found["directions"] | {"average": found["average"]}
    lines = table(
        ["direction", "MAP (95 %)", "chance", "MAP@50 (95 %)", "chance", "MRR (95 %)", "chance", "queries"],
        (
            [escape(name.replace("->", " → ")), *_scores(block), *_partner(block["mrr"]), *_asked(block)]
            for name, block in rows.items()
        ),
    )
    setting = f"On {escape(found['dataset']['name'])}, split {found['split']}, relevance by {found['relevance']}:"
    meaning = "MRR is the mean reciprocal rank of an item's own partner."
    return [setting, "", *lines, "", meaning, *(f"\n{escape(note)}." for note in found["notes"])]


def _partner(found: Card | None) -> list[str]:
    if found is None:
        return ["–", "–"]
    return [with_interval(found["value"], found["ci95"]), f"{found['chance']:.3f}"]


def _scores(block: Card) -> Iterable[str]:
    for name in ("map", "map@50"):
        yield from (with_interval(block[name], block[f"{name}_ci95"]), f"{block['chance'][name]:.3f}")


def _asked(block: Card) -> list[str]:
    return [f"{block['queries']:,} among {block['gallery']:,}" if "queries" in block else "–"]


def _calibration(found: Card | None) -> list[str]:
    if found is None:
        return ["Not known: the card was written without an index. Write it again with `--index`."]
    if not found["directions"]:
        return ["The index gives none."]
    rows = (
        [escape(_way(one)), f"{one['pairs']:,}", f"{one['relevant_share']:.1%}"]
        + ["not judged" if one[key] is None else f"{one[key]:.3f}" for key in ("error_top_10", "error_all_pairs")]
        for one in found["directions"]
    )
    heads = ["direction", "validation pairs", "that belong", "error, top 10 of test", "error, all test pairs"]
    meaning = "The expected calibration error: by how much a probability is off on average."
    return [meaning, "", *table(heads, rows)]


def _way(one: Card) -> str:
    way = f"{one['query']} → {one['gallery']}"
    return f"{one['purpose']}: {way}" if "purpose" in one else way


def _versions(card: Card) -> list[str]:
    made = {"fitted": card["versions"]} | ({"exported": card["export"]["versions"]} if card["export"] else {})
    return [
        f"- {how} with {', '.join(f'{name} {escape(at)}' for name, at in found.items())}" for how, found in made.items()
    ]


def _use(card: Card) -> list[str]:
    name = next(iter(card["model"]["modalities"]))
    commands = ["evaluate MODEL DATASET", f"embed MODEL DATASET --modality {escape(name)} --out embeddings.npy"]
    if card["export"] is None:
        commands.append("export MODEL --onnx EXPORTED")
    commands += ["index MODEL DATASET --out INDEX", "serve INDEX"]
    python = [
        "from diptych.methods import load_model",
        "",
        f'embeddings = load_model("MODEL").embed("{escape(name)}", rows)',
    ]
    return ["```console", *(f"$ diptych {command}" for command in commands), "```", "", "```python", *python, "```"]


_FEW_QUERIES = 1_000
_SHOWN_CLASSES = 12


def limits(card: Card) -> list[str]:
    """Return one sentence for each limit that follows from a card's content."""
    return [
        *_class_limits(card),
        *_input_limits(card),
        *_training_limits(card),
        *_figure_limits(card),
        *_probability_limits(card),
        *_export_limits(card),
    ]


def _class_limits(card: Card) -> Iterator[str]:
    classes = card["data"]["classes"]
    if "labels" not in card["protocol"]["saw"]:
        yield "It learned from pairs alone: nothing pulls items of one class together beyond what their partners share."
    elif classes:
        shown = ", ".join(classes[:_SHOWN_CLASSES]) + (", …" if len(classes) > _SHOWN_CLASSES else "")
        yield (
            f"It was taught {len(classes)} classes ({shown}). Anything else gets a place in its space too, but nothing "
            "was learned of where it belongs."
        )


def _input_limits(card: Card) -> Iterator[str]:
    features = card["data"]["features"]
    if features is None:
        yield (
            "It learned from rows that came as numbers and reads no images and texts; new rows must be computed "
            "exactly as those were, which it cannot check."
        )
        return
    for name, part in features.items():
        if part["medium"] != "text":
            continue
        if "sentence" in part["features"]:
            yield f"Its encoder of '{name}' was trained on English; how it does in other languages was not measured."
        else:
            yield (
                f"Of '{name}' it has seen the words of the training texts, in their language; other words and other "
                "languages say nothing to it."
            )


def _training_limits(card: Card) -> Iterator[str]:
    protocol, parameters = card["protocol"], card["parameters"]
    if protocol["unlabelled"] == "test-features":
        yield (
            "The protocol opened the features of the test items to training (transductive): figures on these items "
            "say less of items that come later."
        )
    elif "unlabelled" not in protocol["saw"]:
        yield "No unlabelled items took part in training."
    if protocol["labels_per_class"] is not None or protocol["label_share"] is not None:
        yield f"Labels were withheld ({protocol['might_see']}); another draw of labels gives another model."
    if "propagated" in protocol["saw"]:
        yield "Many of its training labels were propagated from the given ones; it has learned their mistakes too."
    if parameters["trials"]:
        yield (
            f"Its open parameters are the best of {parameters['trials']} on validation, so its validation score "
            "flatters it."
        )
    if "seed" in parameters["given"]:
        yield "It is one fit with one seed; how far another seed would fall from it is not on this card."


def _figure_limits(card: Card) -> Iterator[str]:
    figures = card["figures"]
    if figures is None:
        yield "No figures are known: nothing here says how well it retrieves."
        return
    if figures["dataset"]["fingerprint"] != card["data"]["fingerprint"]:
        yield (
            f"The figures are of '{figures['dataset']['name']}', another dataset than it was fitted on; items of its "
            "training may be among the test items."
        )
    elif figures["split"] != "test":
        yield f"The figures are of the split '{figures['split']}', which the fit has used; they flatter it."
    for name, found in figures["directions"].items():
        low, _ = found["map_ci95"]
        if low <= found["chance"]["map"]:
            yield f"From {_direction(name)} it cannot be told from a random ranking."
        if found["queries"] < _FEW_QUERIES:
            yield f"From {_direction(name)} only {found['queries']:,} queries were asked; mind the intervals."
        if found["per_class"]:
            weakest = min(found["per_class"], key=found["per_class"].__getitem__)
            yield f"From {_direction(name)} it is weakest on '{weakest}' (MAP {found['per_class'][weakest]:.3f})."


def _probability_limits(card: Card) -> Iterator[str]:
    calibration = card["calibration"]
    if calibration is not None and not calibration["directions"]:
        yield "The index gives no probabilities: there were no validation pairs to learn them from."
    elif calibration is not None:
        yield "Probabilities hold for items like those of the dataset, in which classes are as frequent as there."


def _export_limits(card: Card) -> Iterator[str]:
    export = card["export"]
    if export is None:
        return
    yield "It is an export: it embeds, and can be neither fitted further nor exported again."
    if export["by_direction"]:
        yield "Its method compares other embeddings in each direction, which graphs do not hold; it cannot be scored."
    for name, why in export["needs_torch"].items():
        yield f"Raw '{name}' items still need torch: {why}."


def _direction(direction: str) -> str:
    return direction.replace("->", " to ")
