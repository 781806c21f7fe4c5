"""The command line's entry point: `diptych COMMAND`, where a command's module is imported when it is run."""

import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from diptych._core.errors import DiptychError


class _Place(NamedTuple):
    """Where a command is, and its line in `diptych --help`."""

    module: str
    function: str
    help: str


COMMANDS = {
    "up": _Place("up_command", "up", "Make files searchable and serve the search, in one command."),
    "demo": _Place("demo_commands", "demo", "Search a sample of emoji with text and images."),
    "ingest": _Place("ingest_command", "ingest", "Make a dataset from images and texts."),
    "import": _Place("import_command", "app", "Make a dataset from released files or feature arrays."),
    "sample": _Place("demo_commands", "app", "Write sample images and texts as files."),
    "info": _Place("dataset_commands", "info", "Show a dataset's items, modalities and classes."),
    "probe": _Place("dataset_commands", "probe", "Predict the classes from each feature extractor."),
    "features": _Place("method_commands", "features", "List the feature extractors of images and texts."),
    "methods": _Place("method_commands", "methods", "List the methods."),
    "fit": _Place("method_commands", "fit", "Fit one method and save the model."),
    "evaluate": _Place("model_commands", "evaluate", "Score a model on a dataset."),
    "compare": _Place("experiment_commands", "compare", "Fit and score many methods on one dataset."),
    "curve": _Place("experiment_commands", "curve", "Score methods with increasing numbers of training labels."),
    "reproduce": _Place("experiment_commands", "reproduce", "Rerun a published comparison and judge its claims."),
    "embed": _Place("model_commands", "embed", "Write the embeddings of a dataset's items."),
    "embed-file": _Place("model_commands", "embed_file", "Embed image and text files."),
    "export": _Place("model_commands", "export", "Write a model as ONNX graphs that run without torch."),
    "card": _Place("model_commands", "card", "Write a model card."),
    "index": _Place("index_commands", "index", "Embed every item of a dataset and build a search index."),
    "search": _Place("search_command", "search", "Search an index with text, images or items."),
    "add": _Place("index_commands", "add", "Add images and texts to an index."),
    "remove": _Place("index_commands", "remove", "Remove items from an index."),
    "teach": _Place("teach_command", "teach", "Label items and learn a model from the labels."),
    "reliability": _Place("index_commands", "reliability", "Show how reliable an index's probabilities are."),
    "verify": _Place("serve_commands", "verify", "Check an index, a model or a dataset against its checksums."),
    "backup": _Place("serve_commands", "backup", "Write a copy of an index to one file."),
    "restore": _Place("serve_commands", "restore", "Restore an index from a backup."),
    "keys": _Place("serve_commands", "app", "Create and revoke the keys of a server."),
    "serve": _Place("serve_commands", "serve", "Serve an index over HTTP, with a search page."),
}
"""Every command in the order of `diptych --help`."""


class _Command(TyperCommand):
    """A command whose own `--help` is false where it is not given, which needs no parser of values."""

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401 - as the base class has them
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class LazyCommand(TyperCommand):
    """A command known by its name and help, whose module is imported when it is run."""

    def __init__(self, name: str, place: _Place) -> None:
        super().__init__(name, help=place.help)
        self._place = place

    def load(self) -> Any:  # noqa: ANN401 - a command or a group of commands
        """Import the command itself."""
        found = getattr(import_module(f"diptych.cli.{self._place.module}"), self._place.function)
        if isinstance(found, typer.Typer):
            app = found
        else:
            app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            app.command(self.name, cls=_Command)(found)
        command = typer.main.get_command(app)
        command.name = self.name
        return command

    def make_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the base class has them
        """Parse the arguments of the command itself, which is then what runs."""
        return self.load().make_context(*arguments, **options)


class LazyGroup(TyperGroup):
    """All commands, none of them imported."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as the base class has them
        super().__init__(**options)
        self.commands.update({name: LazyCommand(name, place) for name, place in COMMANDS.items()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - a context of Click
        """Parse the program's own options; where a command's name comes first there are none to import a parser for."""
        own = self.params, self.add_help_option
        if args and args[0] in self.commands:
            self.params, self.add_help_option = [], False
        try:
            return super().parse_args(ctx, args)
        finally:
            self.params, self.add_help_option = own

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - a context of Click
        """Return the names in the order of `COMMANDS`."""
        return list(self.commands)


app = typer.Typer(
    name="diptych",
    cls=LazyGroup,
    help="Search images with text and text with images, in your own data.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"diptych {version('diptych')}")
        raise typer.Exit


@app.callback()
def _root(
    version_asked: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Search images with text and text with images, in your own data."""


def run() -> None:
    """Run a command; an error raised on purpose becomes one line on stderr and exit status 2."""
    try:
        app()
    except DiptychError as error:
        typer.echo(f"error: {getattr(error, 'details', None) or error}", err=True)
        sys.exit(2)
    except OSError as error:
        from diptych._core.files import is_disk_full

        if not is_disk_full(error):
            raise
        place = f" of {error.filename}" if error.filename else ""
        typer.echo(f"error: the disk{place} is full; make room, then run the same command again.", err=True)
        sys.exit(2)
