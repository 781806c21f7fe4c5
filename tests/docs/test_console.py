"""Every command line of the documentation is one that the program takes: command, options and values."""

import re

import pytest
import typer

from diptych.cli.main import app
from docs.pages import PAGES, console_commands, diptych_arguments, inline_commands, name_of, pieces

ROOT_COMMAND = typer.main.get_command(app)

CONSOLE = [
    pytest.param(command, id=f"{name_of(page)}:{line}")
    for page in PAGES
    for piece in pieces(page)
    if piece.kind == "console"
    for line, command in console_commands(piece)
    if "diptych " in command
]
INLINE = [
    pytest.param(command, id=f"{name_of(page)}:{line}") for page in PAGES for line, command in inline_commands(page)
]


def loaded(command):
    """A command itself, where only its name was known."""
    return command.load() if hasattr(command, "load") else command


def parse(arguments: list[str]) -> None:
    """Parse a call as the program would, without running it."""
    command, context, name = ROOT_COMMAND, None, "diptych"
    while True:
        context = command.make_context(name, list(arguments), parent=context)
        if not hasattr(command, "commands"):
            return
        rest = [*getattr(context, "_protected_args", []), *context.args]
        name, command, arguments = command.resolve_command(context, rest)
        command = loaded(command)


@pytest.mark.parametrize("command", CONSOLE)
def test_a_console_line_is_understood(command) -> None:
    calls = diptych_arguments(command)
    assert calls, f"no call of diptych was found in: {command}"
    for arguments in calls:
        try:
            parse(arguments)
        except typer.Exit:  # --help, --version
            continue
        except Exception as error:
            said = error.format_message() if hasattr(error, "format_message") else str(error)
            pytest.fail(f"diptych {' '.join(arguments)}: {type(error).__name__}: {said}")


@pytest.mark.parametrize("command", INLINE)
def test_a_command_in_a_sentence_exists_with_its_options(command) -> None:
    """Arguments may be left out in a sentence, so only the names of commands and options are looked at."""
    here = ROOT_COMMAND
    words = command.split()[1:]
    while hasattr(here, "commands") and words and re.fullmatch(r"[a-z][a-z0-9-]*", words[0]):
        assert words[0] in here.commands, f"there is no command '{words[0]}' in: {command}"
        here = loaded(here.commands[words.pop(0)])
    known = {option for parameter in here.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    for word in words:
        option = re.match(r"-{1,2}[a-zA-Z][\w-]*", word)
        assert option is None or option[0] in known, f"there is no option '{option[0]}' in: {command}"


def test_there_is_something_to_check() -> None:
    assert len(CONSOLE) > 40 and len(INLINE) > 40
