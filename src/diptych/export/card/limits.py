"""What a model cannot do, said from what is known of it."""

from collections.abc import Iterator, Mapping
from typing import Any

_FEW_QUERIES = 1_000
_SHOWN_CLASSES = 12

Card = Mapping[str, Any]


def limits(card: Card) -> list[str]:
    """One sentence for each limit that follows from a card's content."""
    return [*_classes(card), *_inputs(card), *_training(card), *_figures(card), *_probabilities(card), *_exported(card)]


def _classes(card: Card) -> Iterator[str]:
    classes = card["data"]["classes"]
    if "labels" not in card["protocol"]["saw"]:
        yield "It learned from pairs alone: nothing pulls items of one class together beyond what their partners share."
    elif classes:
        shown = ", ".join(classes[:_SHOWN_CLASSES]) + (", …" if len(classes) > _SHOWN_CLASSES else "")
        yield (
            f"It was taught {len(classes)} classes ({shown}). Anything else gets a place in its space too, but nothing "
            "was learned of where it belongs."
        )


def _inputs(card: Card) -> Iterator[str]:
    features = card["data"]["features"]
    if features is None:
        yield (
            "It learned from rows that came as numbers and reads no pictures and texts; new rows must be made exactly "
            "as those were, which it cannot check."
        )
        return
    for name, part in features.items():
        if part["medium"] != "text":
            continue
        if "sentence" in part["features"]:
            yield f"Its encoder of '{name}' was trained on English; how it does in other languages was not measured."
        else:
            yield (
                f"Of '{name}' it knows the words of the training texts, in their language; other words and other "
                "languages say nothing to it."
            )


def _training(card: Card) -> Iterator[str]:
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


def _figures(card: Card) -> Iterator[str]:
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
            yield f"From {_words(name)} it cannot be told from a random ranking."
        if found["queries"] < _FEW_QUERIES:
            yield f"From {_words(name)} only {found['queries']:,} queries were asked; mind the intervals."
        if found["per_class"]:
            weakest = min(found["per_class"], key=found["per_class"].__getitem__)
            yield f"From {_words(name)} it is weakest on '{weakest}' (MAP {found['per_class'][weakest]:.3f})."


def _probabilities(card: Card) -> Iterator[str]:
    calibration = card["calibration"]
    if calibration is not None and not calibration["directions"]:
        yield "The index gives no probabilities: there were no validation pairs to learn them from."
    elif calibration is not None:
        yield "Probabilities hold for items like those of the dataset, in which classes are as frequent as there."


def _exported(card: Card) -> Iterator[str]:
    export = card["export"]
    if export is None:
        return
    yield "It is an export: it embeds, and can be neither fitted further nor exported again."
    if export["by_direction"]:
        yield "Its method compares other codes in each direction, which graphs do not hold; it cannot be scored."
    for name, why in export["needs_torch"].items():
        yield f"Raw '{name}' items still need torch: {why}."


def _words(direction: str) -> str:
    return direction.replace("->", " to ")
