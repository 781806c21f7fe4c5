"""Options that several commands share, and how their values are read.

The choices are written out, so that `--help` imports nothing that computes; a test compares them with the library's.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from diptych._core.errors import ConfigError

if TYPE_CHECKING:
    from diptych._core.processes import Executor
    from diptych.data import Protocol

Split = Literal["train", "val", "test"]
Unlabelled = Literal["none", "train", "test-features"]
Purpose = Literal["auto", "class", "partner", "both"]
Captions = Literal["join", "first", "each"]
PROFILES = ("fast", "standard", "paper")

DatasetFolder = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of a dataset.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model.")]
IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of an index.")]
ServerUrl = Annotated[str | None, typer.Option("--url", help="URL of the vector database, if the index uses one.")]
SplitOption = Annotated[Split, typer.Option("--split", help="The split to score.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=0, help="Parallel processes: one per core by default, 0 for none.")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option("--cluster", metavar="tcp://HOST:PORT", help="Dask scheduler whose workers do the heavy work."),
]
Modalities = Annotated[
    str | None, typer.Option("--modalities", metavar="A,B", help="The modalities to use; all by default.")
]
UnlabelledOption = Annotated[
    Unlabelled | None,
    typer.Option(
        "--unlabelled",
        help="Unlabelled features that training may see: none, those of training items, or those of test items.",
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
    typer.Option("--profile", metavar="|".join(PROFILES), help="Width and training time of deep methods."),
]
SelectAt = Annotated[
    int | None, typer.Option("--select-at", metavar="K", help="Select on validation by MAP@K instead of MAP.")
]
UsePairs = Annotated[
    bool | None,
    typer.Option(
        "--use-pairs/--no-pairs",
        help="With --unlabelled train: let methods use which unlabelled training items are pairs.",
    ),
]
Propagate = Annotated[
    bool | None,
    typer.Option(
        "--propagate/--no-propagate",
        help="Propagate labels to unlabelled training pairs from similar labelled pairs.",
    ),
]
WithholdValidation = Annotated[
    bool | None,
    typer.Option(
        "--withhold-validation/--all-validation",
        help="Withhold validation labels in the same way as training labels.",
    ),
]
PurposeOption = Annotated[
    Purpose,
    typer.Option(
        "--purpose",
        help="The embedding space to use, if a model has several: class (items of the same kind), partner (the "
        "item's own partner), both, or auto.",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="METHOD.NAME=VALUE", help="Set a parameter; repeatable.")
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Run finished methods again too; trained stages still come from the cache."),
]


@contextmanager
def cluster_executor(address: str | None) -> Iterator[Executor | None]:
    """Yield the executor on the workers of a Dask cluster; None, for this process, where no address is given."""
    if address is None:
        yield None
        return
    from diptych._core.cluster import open_executor
    from diptych.ingest.workers import same_libraries

    with open_executor(0, address, same_libraries) as executor:
        yield executor


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
    """Return a protocol with the given options set; one way to withhold labels replaces the other."""
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


_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


def split_names(text: str) -> tuple[str, ...]:
    """Read names separated by commas.

    >>> split_names("cca, jrl")
    ('cca', 'jrl')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def option_names(option: str, text: str) -> tuple[str, ...]:
    """Read an option's names; none is a mistake."""
    names = split_names(text)
    if not names:
        raise ConfigError(f"{option} is empty; give names separated by commas.")
    return names


def method_names(text: str) -> tuple[str, ...]:
    """Read `--methods`; empty for "all"."""
    return () if text.strip() == "all" else option_names("--methods", text)


def split_seeds(text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    try:
        return tuple(int(part) for part in split_names(text))
    except ValueError:
        raise ConfigError(f"the seeds are '{text}'; write whole numbers with commas, such as 0,1,2.") from None


def split_settings(settings: Iterable[str], option: str = "--set") -> dict[str, Any]:
    """Read `name=value` for each setting, the value as a TOML or JSON literal or a plain word."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"the setting '{setting}' has no value; write {option} name=value.")
        found[name.strip()] = parse_literal(name.strip(), text.strip())
    return found


def split_method_settings(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read `method.name=value` for each setting."""
    found: dict[str, dict[str, Any]] = {}
    for full, value in split_settings(settings).items():
        method, dot, name = full.partition(".")
        if not dot or not method or not name:
            raise ConfigError(f"the setting '{full}' names no method; write --set method.name=value.")
        found.setdefault(method, {})[name] = value
    return found


def parse_literal(name: str, text: str) -> Any:  # noqa: ANN401 - whatever a literal can be
    """Read one value.

    >>> parse_literal("x", "1e-3"), parse_literal("x", "[1, 2]"), parse_literal("x", "rbf"), parse_literal("x", "null")
    (0.001, [1, 2], 'rbf', None)
    """
    if text in _PYTHON_WORDS:
        raise ConfigError(f"the value of '{name}' is {text}; write {_PYTHON_WORDS[text]}.")
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        pass
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        content = {}
    if list(content) == ["value"]:
        return content["value"]
    if _WORD.fullmatch(text):
        return text
    raise ConfigError(f"the value of '{name}' is '{text}', which is not a number, word, list or quoted text.")


def _refuse(word: str) -> None:
    raise ValueError(word)
