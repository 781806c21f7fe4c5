"""The options that several commands share, and how they become a protocol."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from diptych.data import Protocol
from diptych.data.protocol import Unlabelled
from diptych.methods.purposes import Purpose
from diptych.methods.registry import PROFILES

Split = Literal["train", "val", "test"]

DatasetFolder = Annotated[Path, typer.Argument(metavar="DATASET", help="A dataset's folder.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A model's folder.")]
SplitOption = Annotated[Split, typer.Option("--split", help="The items to score.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Modalities = Annotated[
    str | None, typer.Option("--modalities", metavar="A,B", help="The modalities to join; all by default.")
]
UnlabelledOption = Annotated[
    Unlabelled | None,
    typer.Option(
        "--unlabelled",
        help="Features without labels that training may see: none, those of training items, or those of test items.",
    ),
]
LabelsPerClass = Annotated[
    int | None, typer.Option("--labels-per-class", metavar="K", help="Keep K training labels per class.")
]
LabelShare = Annotated[
    float | None, typer.Option("--label-share", metavar="P", help="Keep this share of each class's training labels.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", metavar="|".join(PROFILES), help="How wide and long deep methods train."),
]
SelectAt = Annotated[
    int | None, typer.Option("--select-at", metavar="K", help="Choose on validation by MAP@K instead of MAP.")
]
UsePairs = Annotated[
    bool | None,
    typer.Option(
        "--use-pairs/--no-pairs",
        help="With --unlabelled train: let methods use which unlabelled training items belong together.",
    ),
]
Propagate = Annotated[
    bool | None,
    typer.Option(
        "--propagate/--no-propagate",
        help="Give methods that read labels propagated ones: each training pair those of the labelled pairs near it.",
    ),
]
WithholdValidation = Annotated[
    bool | None,
    typer.Option(
        "--withhold-validation/--all-validation",
        help="Withhold validation labels as training labels are; the rest alone choose.",
    ),
]
PurposeOption = Annotated[
    Purpose,
    typer.Option(
        "--purpose",
        help="The space to use, where the model has several: class (things of this kind), partner (the very item), "
        "both, or auto.",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="METHOD.NAME=VALUE", help="Set a parameter; once for each.")
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Run every method again, even finished ones; stages still come from the cache."),
]


def changed_protocol(
    base: Protocol,
    unlabelled: Unlabelled | None,
    labels_per_class: int | None,
    label_share: float | None,
    select_at: int | None,
    use_pairs: bool | None = None,
    propagate: bool | None = None,
    withhold_validation: bool | None = None,
) -> Protocol:
    """A protocol with the options that were given on top; one way to withhold labels replaces the other."""
    given = {
        "unlabelled": unlabelled,
        "select_at": select_at,
        "use_pairs": use_pairs,
        "propagate": propagate,
        "withhold_validation": withhold_validation,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if labels_per_class is not None or label_share is not None:
        changes |= {"labels_per_class": labels_per_class, "label_share": label_share}
    return replace(base, **changes)
