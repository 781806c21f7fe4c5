"""Every command line that the documentation showed before commands were rearranged is still understood."""

import shlex
from pathlib import Path

import pytest
import typer

from diptych.cli.main import app

LINES = (Path(__file__).parent / "former_commands.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_it_is_understood(line) -> None:
    command, context = typer.main.get_command(app), None
    name, *arguments = shlex.split(line)
    while True:
        context = command.make_context(name, arguments, parent=context)
        if not hasattr(context.command, "commands"):
            return
        rest = [*getattr(context, "_protected_args", []), *context.args]
        name, command, arguments = context.command.resolve_command(context, rest)


def test_the_former_name_of_an_option_is_taken(diptych) -> None:
    ended = diptych("ingest", "--help")
    assert "--fit-images, --fit-pictures" in ended.out
