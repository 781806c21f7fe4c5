"""The entry point: what it lists, what it imports, and that its tables agree with the commands and the library."""

import errno
import subprocess
import sys
from importlib.metadata import version
from typing import get_args

import pytest

from diptych import evaluation, experiments
from diptych._core.errors import BackendUnavailableError
from diptych.cli import demo_commands, experiment_commands, index_commands, model_commands, options, search_command
from diptych.cli.main import COMMANDS, LazyCommand
from diptych.data import emoji, emoji_catalogue, protocol
from diptych.experiments import reproduce
from diptych.ingest import options as ingest_options
from diptych.methods import purposes, registry
from diptych.search import query
from diptych.search.browse import projection

HEAVY = {
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "sklearn",
    "torch",
    "pyarrow",
    "jinja2",
    "fastapi",
    "PIL",
    "faiss",
} | {"dask", "distributed"}

PROGRAM = """
import sys
from diptych.cli.main import run
for words in sys.argv[1:]:
    sys.argv = ["diptych", *words.split()]
    try:
        run()
    except SystemExit as ended:
        assert not ended.code, words
print("modules:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def modules_of(*commands: str) -> set[str]:
    """The top-level modules that commands import, in one process of their own."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *commands], capture_output=True, text=True, check=True)
    return set(ended.stdout.rpartition("modules:")[2].split())


@pytest.mark.parametrize("words", ["--help", "--version"])
def test_help_and_version_import_nothing_that_computes(words) -> None:
    found = modules_of(words)
    assert "typer" in found and not found & HEAVY


@pytest.mark.parametrize("words", ["methods", "features"])
def test_lists_import_nothing_that_computes(words) -> None:
    assert not modules_of(words) & HEAVY


def test_the_help_of_every_command_imports_nothing_that_computes() -> None:
    assert not modules_of(*(f"{name} --help" for name in COMMANDS)) & HEAVY


def test_help_lists_every_command_with_its_line(diptych) -> None:
    ended = diptych("--help")
    shown = " ".join(ended.out.split())
    assert ended.status == 0
    assert "Search images with text and text with images, in your own data." in shown
    for name, place in COMMANDS.items():
        assert f"\n  {name} " in ended.out
        assert place.help in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_is_the_beginning_of_the_commands_own_help(name) -> None:
    command = LazyCommand(name, COMMANDS[name]).load()
    line = COMMANDS[name].help.rstrip(".")
    assert command.help.split()[0] == line.split()[0]
    assert command.name == name


def test_the_version_is_printed(diptych) -> None:
    assert diptych("--version").out == f"diptych {version('diptych')}\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/data/model"),
            "error: the disk of /data/model is full; make",
        ),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "error: the disk is full; make room, then run the same command"),
        (
            BackendUnavailableError("the database is away.", "PostgreSQL at db:5432 is away."),
            "error: PostgreSQL at db:5432",
        ),
    ],
)
def test_a_full_disk_and_a_lost_database_are_sentences_in_every_command(diptych, monkeypatch, error, said) -> None:
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("diptych.data.Dataset.open", fail)
    ended = diptych("info", "anything")
    assert (ended.status, ended.err.count("\n")) == (2, 1) and ended.err.startswith(said)


def test_an_unknown_command_names_the_nearest(diptych) -> None:
    ended = diptych("serach")
    assert ended.status == 2
    assert "No such command 'serach'" in ended.err and "search" in ended.err


def test_choices_are_those_of_the_library() -> None:
    assert get_args(options.Unlabelled) == get_args(protocol.Unlabelled)
    assert get_args(options.Purpose) == get_args(purposes.Purpose)
    assert get_args(options.Captions) == get_args(ingest_options.Captions)
    assert tuple(options.PROFILES) == tuple(registry.PROFILES)
    assert get_args(search_command.Mode) == get_args(query.Mode)
    assert get_args(index_commands.Projection) == get_args(projection.ProjectionChoice)
    assert get_args(model_commands.Normalisation) == get_args(evaluation.Normalisation)
    assert get_args(model_commands.Denominator) == get_args(evaluation.Denominator)
    assert get_args(model_commands.Relevance) == get_args(experiments.Relevance)
    assert tuple(experiment_commands.STUDIES) == tuple(experiments.STUDIES)
    assert ",".join(map(str, reproduce.SEEDS)) == experiment_commands._SEEDS
    assert experiment_commands._PROFILE == reproduce.PROFILE
    assert tuple(demo_commands.LANGUAGES) == tuple(emoji_catalogue.LANGUAGES)
    assert (demo_commands.LEAST_SIZE, demo_commands.MOST_SIZE) == (emoji.LEAST_SIZE, emoji.MOST_SIZE)
