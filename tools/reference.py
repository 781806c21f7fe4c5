"""Write the reference pages from the code: `python -m tools.reference`, or `make reference`.

A test compares the pages with what this module would write, so that they cannot drift.
"""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer

from diptych._core.rendering import table
from diptych.cli.main import app
from diptych.data import Protocol
from diptych.experiments import Recipe
from diptych.features.registry import describe_features, media_types
from diptych.methods import entry, method_class, names
from diptych.serving import ServingSettings

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
_GENERATED = "<!-- written by `make reference`; change the code instead -->"

VARIABLES = {
    "DIPTYCH_CACHE": ("`~/.cache/diptych`", "folder for reusable feature rows and training stages"),
    "DIPTYCH_ROW_CACHE_GB": ("4", "size limit of cached feature rows in GB; 0 for none"),
    "DIPTYCH_ENGINE_URL": (
        "–",
        "URL of the vector database, including the password; instead of `--url`",
    ),
    "DIPTYCH_READ_KEY": ("–", "key required to search; instead of `--read-key`, which process lists show"),
    "DIPTYCH_WRITE_KEY": ("–", "key required to change items; instead of `--write-key`"),
    "DIPTYCH_TENSORBOARD": ("–", "1 writes the training of deep methods for TensorBoard"),
    "OMP_NUM_THREADS": ("all cores", "threads of the numerical libraries in every process"),
}
"""The environment variables for users, with their defaults."""

INTERNAL = {"DIPTYCH_SERVE_INDEX", "DIPTYCH_SERVE_SETTINGS", "DIPTYCH_THREADS_ALONE"}
"""Variables that a process sets for those it starts."""


def commands_page() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        _GENERATED,
        "",
        "This page lists every command with its options, as `diptych COMMAND --help` does. With `--json`, commands "
        "print their result as JSON. Errors are one sentence on stderr, with exit status 2.",
        "",
    ]
    for name, command in root.commands.items():
        lines += _command(f"diptych {name}", _loaded(command), "##")
    return "\n".join(lines).rstrip() + "\n"


def _loaded(command: Any) -> Any:  # noqa: ANN401 - a command of Click
    return command.load() if hasattr(command, "load") else command


def _command(name: str, command: Any, level: str) -> list[str]:  # noqa: ANN401
    lines = [f"{level} {name}", "", *_paragraphs(inspect.cleandoc(command.help or "")), ""]
    if hasattr(command, "commands"):
        for below, child in command.commands.items():
            lines += _command(f"{name} {below}", _loaded(child), level + "#")
        return lines
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(piece for piece in command.collect_usage_pieces(context))
    lines += ["```text", f"{name} {usage.replace('{', '').replace('}', '')}", "```", ""]
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        written, said = record
        rows.append([f"`{written}`".replace("|", r"\|"), _cell(said)])
    if rows:
        lines += [*table(["argument or option", "meaning"], rows, numbers=[]), ""]
    return lines


def methods_page() -> str:
    """Every method with its parameters."""
    lines = [
        "# Methods",
        "",
        _GENERATED,
        "",
        "This page lists every method with its parameters. Choose one with `diptych fit --method NAME --set "
        "PARAMETER=VALUE`, or `diptych.create(NAME, …)` in Python. The pages under Explanation give the equations, the "
        "sources and the reasons.",
        "",
    ]
    summary = []
    for name in names():
        cls = method_class(name)
        summary.append([f"[`{name}`](#{name})", f"`{cls.__name__}`", _cell(entry(name).summary), _learns_from(cls)])
    lines += [*table(["name", "class", "description", "learns from"], summary, numbers=[]), ""]
    for name in names():
        lines += _method(name)
    return "\n".join(lines).rstrip() + "\n"


def _learns_from(cls: Any) -> str:  # noqa: ANN401 - a class of methods
    uses = ["pairs"] * cls.uses_pairs + ["labels"] * cls.uses_labels + ["unlabelled features"] * cls.uses_unlabelled
    return ", ".join(uses) or "nothing"


def _method(name: str) -> list[str]:
    cls, known = method_class(name), entry(name)
    count = "any number of modalities" if cls.max_modalities is None else f"{cls.max_modalities} modalities"
    facts = [f"[`{cls.__name__}`](api.md#diptych.{cls.__name__})", count]
    facts += ["depends on a seed" if cls.stochastic else "deterministic"]
    facts += [f"needs `diptych[{known.extra}]`"] if known.extra else []
    said = _arguments(cls)
    defaults = {**cls.parameter_defaults(), **known.defaults}
    rows = [
        [f"`{key}`", f"`{value!r}`".replace("|", r"\|"), _cell(said.get(key, ""))] for key, value in defaults.items()
    ]
    lines = [f"## {name}", "", f"{known.summary[0].upper()}{known.summary[1:]}. {'; '.join(facts)}.", ""]
    lines += [cls.citation, ""] if cls.citation else []
    return lines + ([*table(["parameter", "default", "meaning"], rows, numbers=[]), ""] if rows else [])


def _arguments(cls: Any) -> dict[str, str]:  # noqa: ANN401
    """What a class and its bases say of their parameters."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _section(inspect.cleandoc(base.__dict__.get("__doc__") or ""), "Args")
    return found


def _section(text: str, title: str) -> dict[str, str]:
    """The entries of one section of a docstring in Google's style."""
    match = re.search(rf"^{title}:\n((?: {{4}}.*\n?|\n)+)", text, re.MULTILINE)
    if match is None:
        return {}
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", match[1], re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in entries}


def settings_page() -> str:
    """Environment variables, the server, recipes and extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    recipe = [[f"`{n}`", f"`{d}`", _cell(s)] for n, d, s in _attributes(Recipe) if n not in ("protocol", "params")]
    variables = [[f"`{name}`", default, said] for name, (default, said) in VARIABLES.items()]
    lines = [
        "# Settings",
        "",
        _GENERATED,
        "",
        "This page lists environment variables, the keys of recipe files, the settings of the server, and the extras.",
        "",
        "## Environment variables",
        "",
        *table(["variable", "default", "meaning"], variables, numbers=[]),
        "",
        "## Recipes",
        "",
        "`diptych compare DATASET --recipe FILE.toml` reads an experiment from a file; options on the command line "
        "take precedence. Unknown keys are errors.",
        "",
        *table(["key", "default", "meaning"], recipe, numbers=[]),
        "",
        "`[protocol]` sets what training may see, `[params.NAME]` the parameters of a method.",
        "",
        *table(["key of `[protocol]`", "default", "meaning"], _cells(_attributes(Protocol)), numbers=[]),
        "",
        "## The server",
        "",
        "The arguments of `diptych.serving.ServingSettings`. `diptych serve` has options for the most common ones "
        "([how to serve](../how-to/serve.md)).",
        "",
        *table(["setting", "default", "meaning"], _cells(_attributes(ServingSettings)), numbers=[]),
        "",
        "## Extras",
        "",
        "`pip install 'diptych[NAME,…]'` installs optional packages; if one is missing, the error names its extra.",
        "",
        *table(
            ["extra", "packages"],
            [[f"`{name}`", ", ".join(f"`{each}`" for each in packages)] for name, packages in extras.items()],
            numbers=[],
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _attributes(cls: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 - a dataclass
    """The fields of a dataclass: name, default, meaning."""
    said = _section(inspect.cleandoc(cls.__doc__ or ""), "Attributes")
    found = []
    for field in fields(cls):
        default = "" if field.default is MISSING else field.default
        shown = f"{default:,}" if isinstance(default, int) and not isinstance(default, bool) else repr(default)
        found.append((field.name, "–" if default == "" else shown, said.get(field.name, "")))
    return found


def _cells(rows: Iterable[tuple[str, str, str]]) -> list[list[str]]:
    return [[f"`{name}`", f"`{default}`", _cell(said)] for name, default, said in rows]


def features_table() -> str:
    """Every feature extractor, for the page of features."""
    rows = []
    for media_type in media_types():
        for known in describe_features(media_type):
            columns = "varies" if known["dimension"] is None else f"{known['dimension']:,}"
            default = " (default)" if known["default"] else ""
            needs = f"`{known['needs']}`" if known["needs"] else "–"
            rows.append([f"`{known['written']}`{default}", media_type, columns, known["kind"], known["summary"], needs])
    return (
        "\n".join(table(["feature", "of", "columns", "kind", "description", "needs"], rows, numbers=["columns"])) + "\n"
    )


def _cell(text: str) -> str:
    """Text as a table cell."""
    return " ".join(text.split()).replace("|", r"\|")


def _paragraphs(text: str) -> list[str]:
    """Help text as Markdown: what stands indented stays as it is."""
    return [line.replace("<", r"\<") if not line.startswith(" ") else line for line in text.splitlines()]


def _features_page() -> str:
    page = REFERENCE / "features.md"
    start, end = "<!-- features: written by `make reference` -->\n", "<!-- end of features -->"
    head, _, rest = page.read_text(encoding="utf-8").partition(start)
    return head + start + "\n" + features_table() + "\n" + end + rest.partition(end)[2]


PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "commands.md": commands_page,
    REFERENCE / "methods.md": methods_page,
    REFERENCE / "settings.md": settings_page,
    REFERENCE / "features.md": _features_page,
}


if __name__ == "__main__":
    for path, write in PAGES.items():
        path.write_text(write(), encoding="utf-8")
