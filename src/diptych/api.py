"""What a notebook calls: compare methods, evaluate a model, build an index."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress, silent
from diptych.comparison import ComparisonReport
from diptych.data import Arrays, Dataset, Protocol, as_dataset
from diptych.experiments import Callbacks, ModelScores, Recipe, Relevance, compare_methods, evaluate_model
from diptych.experiments.recipe import with_params
from diptych.methods import Method, create, load_model
from diptych.methods.purposes import Purpose
from diptych.methods.registry import name_of

if TYPE_CHECKING:
    from diptych.search import Searcher

load = load_model


def compare(
    data: Dataset | Arrays,
    labels: Any = None,  # noqa: ANN401 - any sequence of labels
    *,
    methods: Iterable[str | Method | type[Method]] | None = None,
    seeds: Iterable[int] = (0,),
    splits: Sequence[str] | None = None,
    pairs: Any = None,  # noqa: ANN401 - a table of row numbers
    split: str = "test",
    modalities: tuple[str, ...] | None = None,
    protocol: Protocol | None = None,
    profile: str | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    out: str | Path | None = None,
    callbacks: Callbacks | None = None,
) -> ComparisonReport:
    """Fit methods on the same training items and score them on the same test items.

    Args:
        data: arrays by modality such as {"image": X, "text": Y}, or a dataset.
        labels: one label per item of the arrays, None for an unlabelled one; see `Dataset.from_arrays`.
        methods: names as `diptych.names()` lists them, or methods to be fitted with their parameters; all names if
            left out.
        seeds: the seeds of everything random; deterministic methods run once.
        splits: "train", "val" or "test" per item of the arrays. By default, a tenth of every class is drawn for
            validation and a fifth for the test, the same for all methods and seeds.
        pairs: which rows belong together, if row i of one modality does not belong to row i of the others.
        split: which items to score.
        modalities: which modalities to use; all by default.
        protocol: what training may see; the default is inductive with all training labels.
        profile: size and training time of deep methods: "fast", "standard" or "paper".
        params: parameters by method name, overriding its defaults.
        out: folder for models, `results.json` and `report.html`; a second call reuses finished runs. By default nothing
            is kept.
        callbacks: called as the comparison proceeds.

    Raises:
        FitError: if no method could be fitted. If only some fail, the report lists them.

    Example:
        >>> import numpy as np, diptych
        >>> random = np.random.default_rng(0)
        >>> y = random.integers(4, size=400)
        >>> cause = 2 * np.eye(4)[y] + random.normal(size=(400, 4))
        >>> X, Y = cause @ random.normal(size=(4, 12)), cause @ random.normal(size=(4, 8))
        >>> report = diptych.compare({"image": X, "text": Y}, labels=y, methods=["chance", "cca", "sm"])
        >>> report.best
        'sm'
        >>> report.methods
        ['chance', 'cca', 'sm']
    """
    if not isinstance(seeds, Iterable):
        raise ConfigError(f"seeds is {seeds!r}; give a list, such as [{seeds!r}].")
    dataset = as_dataset("compare", data, labels, splits=splits, pairs=pairs)
    names, given = _named(methods)
    recipe = Recipe(
        methods=names,
        seeds=tuple(int(seed) for seed in seeds),
        split=split,
        modalities=modalities,
        profile=profile,
        protocol=protocol or Protocol(),
        params=given,
    )
    recipe = with_params(recipe, params or {})
    with tempfile.TemporaryDirectory(prefix="diptych-") as temporary:
        results = compare_methods(dataset, recipe, temporary if out is None else out, callbacks=callbacks)
    if not results["methods"]:
        reasons = "; ".join(f"{name}: {reason.rstrip('.')}" for name, reason in results["failures"].items())
        raise FitError(f"no method could be fitted: {reasons}.")
    return ComparisonReport(results)


def _named(methods: Iterable[str | Method | type[Method]] | None) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """The methods' names, and the parameters of those that came as methods."""
    if isinstance(methods, str | Method):
        raise ConfigError(f"methods is {methods!r}; give a list, such as [{methods!r}].")
    names, params = list[str](), dict[str, dict[str, Any]]()
    if methods is not None and not (methods := list(methods)):
        raise ConfigError("methods is empty; name at least one, or leave it out for all of them.")
    for each in methods or ():
        if isinstance(each, str):
            names.append(each)
            continue
        made = each() if isinstance(each, type) and issubclass(each, Method) else each
        name = name_of(made) if isinstance(made, Method) else ""
        if not name:
            raise ConfigError(
                f"methods holds {each!r}, which is no registered method; give names, or register its class under the "
                "entry points 'diptych.methods'."
            )
        usual = create(name).get_params()
        changed = {key: value for key, value in made.get_params().items() if value != usual[key] and key != "seed"}
        names.append(name)
        params[name] = changed
    return tuple(names), params


def evaluate(
    model: Method,
    data: Dataset | Arrays,
    labels: Any = None,  # noqa: ANN401 - any sequence of labels
    *,
    pairs: Any = None,  # noqa: ANN401 - a table of row numbers
    split: str = "test",
    relevance: Relevance = "class",
    purpose: Purpose = "auto",
) -> ModelScores:
    """Score a fitted model in every direction: MAP, precision and recall by class, ranks of partners, chance levels.

    Args:
        model: a fitted method.
        data: arrays by modality, all of which are scored, or a dataset.
        labels: the labels of the items, as in `compare`; those of a dataset are its own.
        pairs: which rows belong together, as in `compare`.
        split: which items of a dataset to score.
        relevance: what counts as relevant: sharing a label ("class") or being partners ("document").
        purpose: the space to measure in, if the model has several.

    Example:
        >>> import numpy as np, diptych
        >>> random = np.random.default_rng(0)
        >>> X = random.normal(size=(300, 5)); Y = X @ random.normal(size=(5, 4))
        >>> model = diptych.CCA(components=4).fit({"image": X[:200], "text": Y[:200]})
        >>> scores = diptych.evaluate(model, {"image": X[200:], "text": Y[200:]})
        >>> list(scores.directions)
        ['image->text', 'text->image']
        >>> scores.average_map > 0.5
        True
    """
    splits = None if isinstance(data, Dataset) else split
    dataset = as_dataset("evaluate", data, labels, splits=splits, pairs=pairs)
    return evaluate_model(model, dataset, split, relevance=relevance, purpose=purpose)


def build_index(
    model: Method | str | Path,
    dataset: Dataset | str | Path,
    folder: str | Path,
    *,
    engine: str = "local",
    url: str | None = None,
    engine_options: Mapping[str, Any] | None = None,
    bits: int | None = None,
    purpose: Purpose = "auto",
    keep_originals: bool = False,
    overwrite: bool = False,
    keep_changes: bool = True,
    writable: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> "Searcher":
    """Embed every item of a dataset into an index, and open it for searching.

    Args:
        model: a fitted model, or the folder of a saved one; a copy of it is kept in the index.
        dataset: the items; texts and images can be queries if `diptych ingest` made it.
        folder: where to put the index; it appears when it is complete, and the same call continues after an
            interruption.
        engine: the vector store.
        url: the URL of the engine's server, if it has one.
        engine_options: options of the engine, such as the number of links in its graph.
        bits: search by binary codes of this length, re-ranked by the vectors; None for those of the model, 0 for none.
        purpose: which spaces of the model to index, if it has several; "auto" takes all.
        keep_originals: store the images themselves, so that the index can be moved.
        overwrite: replace an existing index, which may be searched and changed meanwhile.
        keep_changes: keep items that were added, replaced or removed since that index was built.
        writable: open it so that items can be added and removed.
        seed: seed of the calibration sample.
        progress: called with the progress.
    """
    from diptych import search  # comparing methods should not pay for it

    items = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    with tempfile.TemporaryDirectory(prefix="diptych-") as temporary:
        source = Path(temporary) / "model"
        if isinstance(model, Method):
            model.save(source)
        else:
            source = Path(model)
        search.build_index(
            source,
            items,
            folder,
            engine=engine,
            url=url,
            engine_options=engine_options,
            bits=bits,
            purpose=purpose,
            keep_originals=keep_originals,
            overwrite=overwrite,
            keep_changes=keep_changes,
            seed=seed,
            progress=progress,
        )
    return search.Searcher.open(folder, writable=writable, url=url)
