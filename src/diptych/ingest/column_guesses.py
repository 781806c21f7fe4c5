"""Guess what a column holds from its name and from its cells; each guess comes with its reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diptych.data.splits import split_named
from diptych.data.tables import Table
from diptych.ingest.column_content import ColumnContent, file_names, is_empty, sample_evenly, values_of
from diptych.ingest.file_finder import FileFinder
from diptych.ingest.names import name_rank, name_strength, names_no_class, words_of
from diptych.media import MediaKind

_LOOKED_UP = 40
_FEW_FOUND = 0.05
_FEW_REPEATED = 0.05
_MOST_CLASSES = 200
_MOST_TEXTS = 4
_LEVELS = (" >> ", ">>", " > ", " / ", " | ", " :: ")
_GROUPING_IDS = frozenset(("id", "ids", "item_id", "uid", "uuid", "key", "group_id", "document"))
"""Names of ids whose repetition means several captions of one item."""

Contents = Mapping[str, ColumnContent]


@dataclass(frozen=True)
class Guess:
    """The columns that hold a part, the reason, and why other candidates were refused."""

    columns: tuple[str, ...] = ()
    reason: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    levels: str | None = None

    def reason_for(self, column: str) -> str:
        """Why one of the columns was taken."""
        return self.reasons.get(column, self.reason)


def guess_media(
    kind: MediaKind, table: Table, contents: Contents, free: Sequence[str], finder: FileFinder | None
) -> Guess:
    """The column whose cells lead to files of a kind that are there, or else look or are called like such files.

    A name alone is believed of images only: columns called "track" or "voice" often hold something else.
    """
    name_of = kind.name
    found = {name: _found(name_of, table, contents[name], finder) for name in free}
    most = max(found.values(), default=0.0)
    if most >= _FEW_FOUND:
        fitting = [name for name in free if found[name] >= most / 2]
        best = max(fitting, key=lambda name: (name_strength(name_of, name), contents[name].files[name_of], found[name]))
        return Guess((best,), f"{found[best]:.0%} of its cells name {kind.plural} that are there")
    looking = [name for name in free if contents[name].files[name_of] >= 0.5]
    if looking:
        best = max(looking, key=lambda name: (name_strength(name_of, name), contents[name].files[name_of]))
        return Guess((best,), f"{contents[best].files[name_of]:.0%} of its cells look like {kind.plural}")
    named = [name for name in free if name_strength(name_of, name) == 3 and _could_name_files(contents[name])]
    best_named = min(named, key=lambda name: name_rank(name_of, name), default=None)
    return Guess() if best_named is None or name_of != "image" else Guess((best_named,), "its name")


def _found(kind: str, table: Table, content: ColumnContent, finder: FileFinder | None) -> float:
    if finder is None or not _could_name_files(content):
        return 0.0
    filled = [cell for cell in table.column(content.name) if not is_empty(cell)]
    return finder.share_found([file_names(cell) for cell in sample_evenly(filled, _LOOKED_UP)], kind)


def _could_name_files(content: ColumnContent) -> bool:
    """Whether it is worth looking up: neither long texts nor few values nor amounts."""
    if not content.filled or (content.dates > 0.5 and content.media < 0.5):
        return False
    return content.media > 0 or (content.words < 12 and content.distinct * 2 > content.filled)


def guess_split(table: Table, contents: Contents, free: Sequence[str]) -> Guess:
    """The column that is called like a split and holds nothing but names of splits."""
    for name in sorted(free, key=lambda name: name_rank("split", name)):
        if name_strength("split", name) < 3 or not contents[name].filled:
            continue
        values = {str(cell).strip() for cell in table.column(name) if not is_empty(cell)}
        if all(split_named(value) for value in values):
            return Guess((name,), f"its name, and it holds {', '.join(sorted(values))}")
    return Guess()


def guess_texts(table: Table, contents: Contents, free: Sequence[str]) -> Guess:
    """The columns of the text: titles, then the main text, then tags, as far as each adds words."""
    readable = [name for name in free if contents[name].is_text]
    main, reason = _main_text(contents, readable)
    if main is not None and contents[main].lists >= 0.2:
        return Guess((main,), f"{reason}; several captions an item")
    titles = _named("title", readable, main)
    if main is None and not titles:
        return Guess()
    alike = [name for name in readable if main and name != main and _base(name) == _base(main)]
    mains = [name for name in readable if name in (main, *alike)]
    reasons = {name: "its name" for name in (*titles, *alike)} | ({main: reason} if main else {})
    chosen = list(dict.fromkeys([*titles[:2], *mains, *_named("tags", readable, main)[:1]]))
    kept = [name for name in chosen if name == main or _adds_words(table, name, main)]
    refused = {name: "kept as it is; the text says the same" for name in chosen if name not in kept}
    return Guess(tuple(kept[:_MOST_TEXTS]), "its name", reasons, refused)


def _main_text(contents: Contents, readable: Sequence[str]) -> tuple[str | None, str]:
    for strength, least in ((3, 1.0), (2, 3.0)):
        named = [n for n in readable if name_strength("text", n) == strength and contents[n].words >= least]
        most = max((contents[name].words for name in named), default=0.0)
        long = [name for name in named if contents[name].words * 3 >= most]
        if long:
            return min(long, key=lambda name: name_rank("text", name)), "its name"
    free_text = [
        name
        for name in readable
        if contents[name].words >= 3 and contents[name].distinct * 2 > contents[name].filled and not _is_code(name)
    ]
    if not free_text:
        return None, ""
    best = max(free_text, key=lambda name: contents[name].words)
    return best, f"the longest free text, {contents[best].words:.0f} words on average"


def _named(part: Any, readable: Sequence[str], main: str | None) -> list[str]:  # noqa: ANN401 - a part's name
    named = [name for name in readable if name != main and name_strength(part, name) == 3]
    return sorted(named, key=lambda name: name_rank(part, name))


def _base(name: str) -> tuple[str, ...]:
    """A column's name without the code of a language at its end."""
    words = words_of(name)
    return tuple(words[:-1] if len(words) > 1 and len(words[-1]) == 2 else words)


def _is_code(name: str) -> bool:
    return name_strength("id", name) == 3


def _adds_words(table: Table, name: str, main: str | None) -> bool:
    """Whether a column adds something to the main text."""
    if main is None:
        return True
    pairs = [(row.cells.get(name), row.cells.get(main)) for row in table.rows]
    both = sample_evenly([pair for pair in pairs if not is_empty(pair[0]) and not is_empty(pair[1])], 100)
    if not both:
        return True
    said = sum(_joined(one) in _joined(other) for one, other in both)
    return said * 2 < len(both)


def _joined(cell: Any) -> str:  # noqa: ANN401
    return " ".join(" ".join(map(str, values_of(cell))).casefold().split())


def guess_label(table: Table, contents: Contents, free: Sequence[str], *, by_name: bool) -> Guess:
    """The column of the classes: by its name, or by few values that each occur several times."""
    refused: dict[str, str] = {}
    if by_name:
        named = [name for name in free if name_strength("label", name) >= 2 and contents[name].filled]
        for name in sorted(named, key=lambda name: (-name_strength("label", name), name_rank("label", name))):
            problem, levels = _class_problem(table, contents[name])
            if problem is None:
                level = "" if levels is None else f"; the first level before '{levels.strip()}'"
                return Guess((name,), f"its name{level}", refused=refused, levels=levels)
            refused[name] = f"kept as it is; no label, since {problem}"
        return Guess(refused=refused)
    fitting = [name for name in free if _looks_like_classes(contents[name])]
    if not fitting:
        return Guess()
    best = max(fitting, key=lambda name: (contents[name].filled, contents[name].distinct))
    return Guess((best,), f"{contents[best].distinct} values, each of several rows")


def _class_problem(table: Table, content: ColumnContent) -> tuple[str | None, str | None]:
    """Why a column named like a label is none, and what separates the levels of its cells."""
    if content.structured >= 0.5 or content.addresses >= 0.5:
        return "its cells are no names", None
    cells = [cell for cell in table.column(content.name) if not is_empty(cell)]
    if any(_is_fraction(value) for cell in sample_evenly(cells, 200) for value in values_of(cell)):
        return "it holds fractions", None
    counts = Counter(str(value).strip() for cell in cells for value in values_of(cell))
    few = len(counts) <= max(20, len(cells) // 10)
    if not few:
        for levels in _LEVELS:
            first = Counter(str(value).partition(levels)[0].strip() for cell in cells for value in values_of(cell))
            if sum(levels in value for value in counts) * 2 > len(counts) and _repeats(first):
                return None, levels
    if len(cells) >= 10 and not _repeats(counts):
        return "almost every value is another", None
    return ("its values are whole texts", None) if content.words > 12 and not few else (None, None)


def _repeats(counts: Counter[str]) -> bool:
    """Whether most values occur more than once, and there are not as many classes as items."""
    total = counts.total()
    several = sum(count for count in counts.values() if count > 1)
    return several * 2 >= total and len(counts) * 2 <= total


def _is_fraction(value: Any) -> bool:  # noqa: ANN401
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return number == number and abs(number) != float("inf") and not number.is_integer()


def _looks_like_classes(content: ColumnContent) -> bool:
    """Whether a column holds classes, judged with care: few short names that repeat; no flag, amount, date or brand."""
    few = 2 <= content.distinct <= min(_MOST_CLASSES, content.filled // 5)
    names = content.is_text and content.words <= 4 and content.numbers < 0.1 and content.flags < 0.1
    common = content.largest <= 0.9 and content.repeated >= 0.95
    filled = content.filled >= max(10, content.rows // 20)
    return few and names and common and filled and not names_no_class(content.name) and not _is_code(content.name)


def guess_id(table: Table, contents: Contents, free: Sequence[str], images: Sequence[str]) -> Guess:
    """The column of the ids: by its name where values fit, or one of codes that are all different."""
    named = sorted((name for name in free if name_strength("id", name) >= 2), key=lambda name: name_rank("id", name))
    for name in named:
        content = contents[name]
        if content.is_unique and content.words < 8:
            return Guess((name,), "its name, and every row has a value of its own")
        repeated = content.filled - content.distinct
        grouping = "_".join(words_of(name)) in _GROUPING_IDS or repeated <= _FEW_REPEATED * content.rows
        if grouping and content.filled == content.rows and _groups(table, name, images):
            few = f"; {repeated:,} rows repeat one" if 0 < repeated <= _FEW_REPEATED * content.rows else ""
            return Guess((name,), f"its name{few}; rows of one id are one item")
    for name in free:
        content = contents[name]
        plain = content.codes == 1.0 and max(content.numbers, content.dates, content.addresses, content.media) < 0.5
        if plain and content.is_unique and content.rows >= 5:
            return Guess((name,), "codes, every row has one of its own")
    return Guess()


def _groups(table: Table, name: str, images: Sequence[str]) -> bool:
    """Whether rows of one id have one image, so that they can be one item."""
    if not images:
        return True
    seen: dict[str, str] = {}
    conflicts = sum(
        seen.setdefault(str(row.cells.get(name)), i) != i for row in table.rows if (i := _image(row, images))
    )
    return conflicts * 10 <= len(table.rows)


def _image(row: Any, images: Sequence[str]) -> str:  # noqa: ANN401
    return str(row.cells.get(images[0]) or "")
