"""What an ingest makes of a path, before anything is extracted: columns, files, labels, languages."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from diptych.data.tables import Problem
from diptych.ingest.column_content import sample_evenly
from diptych.ingest.columns import ColumnUse
from diptych.ingest.names import word_set
from diptych.ingest.options import IngestOptions
from diptych.ingest.plan import KindFiles, Plan, make_plan
from diptych.media import START_BYTES, MediaKind, Place, media_kind, reopen_source

_LOOKED_AT = 2000
_TEXTS_READ = 1000


@dataclass(frozen=True)
class MediaFacts:
    """The files of one kind of media.

    Attributes:
        named: items that name one.
        found: those whose file is there.
        missing: those whose file is not there, or may not be read.
        on_the_web: of the missing ones, those that are addresses.
        looked_at: files whose first bytes were read.
        broken: those of them that are none by their first bytes; others may turn out broken when decoded.
        place: the folder or the archive they lie in.
        kind: "folder", "tar" or "zip".
    """

    named: int
    found: int
    missing: int
    on_the_web: int
    looked_at: int
    broken: int
    place: Path
    kind: str


@dataclass(frozen=True)
class Understanding:
    """What was understood of a path.

    Attributes:
        path: what was looked at.
        table: the name of the table in it, None where there is none.
        rows: of the table.
        items: documents; several captions of one image are one.
        columns: what every column, or folders and file names, were read as, why, and an example.
        images: how many there are, are missing, are broken.
        others: the same of every other kind of media that items name, such as "audio".
        with_text: items that have a text.
        languages: texts by language, of a sample.
        labelled: items that have a label.
        classes: items by class, the largest first.
        splits: items by split.
        splits_drawn: whether these were drawn rather than given.
        left_out: rows and files that give no item.
        problems: all that is known to be wrong, with reasons.
    """

    path: Path
    table: str | None
    rows: int
    items: int
    columns: tuple[ColumnUse, ...]
    images: MediaFacts
    others: dict[str, MediaFacts]
    with_text: int
    languages: dict[str, int]
    labelled: int
    classes: dict[str, int]
    splits: dict[str, int]
    splits_drawn: bool
    left_out: int
    problems: tuple[Problem, ...]

    @property
    def label_share(self) -> float:
        """The share of items that have a label."""
        return self.labelled / self.items if self.items else 0.0

    @property
    def warnings(self) -> list[str]:
        """What a person should know before going on, in sentences."""
        found: list[str] = []
        if self.images.on_the_web:
            found.append(f"{self.images.on_the_web:,} images are addresses on the web; download them first.")
        if not self.images.found and not any(facts.found for facts in self.others.values()):
            found.append(
                "No item has an image: images cannot be searched, nor can a model be fitted across both sides."
            )
            found += [f"{each}." for each in self.problems if each.kind == "note" and ", column '" in each.where]
        if not self.with_text:
            found.append(
                "No item has a text, so nothing can be learned across both sides; add a column of texts, or text files "
                "beside the images (x.jpg and x.txt)."
            )
        if len(self.classes) == 1:
            found.append(
                f"All {self.labelled:,} labels are '{next(iter(self.classes))}'; a single class separates nothing."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        images, *others = (asdict(each) | {"place": str(each.place)} for each in (self.images, *self.others.values()))
        files = {"images": images, "others": dict(zip(self.others, others, strict=True))}
        shown = asdict(self) | {"path": str(self.path), **files, "warnings": self.warnings}
        return shown | {
            "columns": [asdict(use) for use in self.columns],
            "problems": [asdict(p) for p in self.problems],
        }


def understand(path: str | Path, options: IngestOptions | None = None) -> Understanding:
    """Look at a table, a folder or an archive and say what an ingest would make of it; nothing is written.

    Args:
        path: what to look at.
        options: what the user decided already; its own path and target are of no importance.

    Raises:
        DataError: when nothing in it can be used.
    """
    given = options or IngestOptions(Path(path), Path("dataset"))
    return understanding_of(make_plan(replace(given, pairs=Path(path))))


def understanding_of(plan: Plan) -> Understanding:
    """What a plan says, with a look at the first bytes of its files."""
    items = {item.document: number for number, item in reversed(list(enumerate(plan.items)))}
    numbers = sorted(items.values())
    labels = [plan.labels[number] for number in numbers]
    texts = [item.texts[0] for item in plan.items if item.texts]
    silent = {item.document for item in plan.items} - {item.document for item in plan.items if item.texts}
    counts = Counter(name for names in labels for name in names)
    splits = Counter(plan.splits[number] for number in numbers)
    shares = plan.options.split_shares
    return Understanding(
        path=plan.options.pairs,
        table=plan.table,
        rows=plan.rows,
        items=len(numbers),
        columns=tuple(plan.uses),
        images=_facts(plan, "image"),
        others={kind: _facts(plan, kind) for kind in plan.files if kind != "image"},
        with_text=len(numbers) - len(silent),
        languages=languages_of(sample_evenly(texts, _TEXTS_READ)),
        labelled=sum(map(bool, labels)),
        classes=dict(counts.most_common()),
        splits={name: splits[name] for name in ("train", "val", "test")},
        splits_drawn=shares is not None or all(item.split is None for item in plan.items),
        left_out=sum(problem.kind == "row" for problem in plan.problems),
        problems=tuple(plan.problems),
    )


def _facts(plan: Plan, kind: str) -> MediaFacts:
    files = plan.files.get(kind, KindFiles((), np.full(len(plan.items), -1, dtype=np.int64)))
    named = sum(kind in item.files for item in plan.items)
    found = int((files.of_item >= 0).sum())
    looked_at, broken = _look(plan, media_kind(kind), sample_evenly(files.places, _LOOKED_AT))
    return MediaFacts(
        named=named,
        found=found,
        missing=named - found,
        on_the_web=files.on_the_web,
        looked_at=looked_at,
        broken=broken,
        place=plan.source_path,
        kind=plan.source_kind,
    )


def _look(plan: Plan, kind: MediaKind, places: Sequence[Place]) -> tuple[int, int]:
    """How many files could be looked at, and how many of them are not of their kind by their first bytes."""
    looked_at = broken = 0
    with reopen_source(plan.source_path, plan.source_kind) as source:
        for place in places:
            try:
                start = source.peek(place, START_BYTES)
            except OSError:
                start = b""
            if start is None:
                break  # a compressed archive, which would have to be read as a whole
            looked_at += 1
            broken += kind.content_problem(start) is not None
    return looked_at, broken


UNCLEAR = "unclear"
"""Texts without a meaningful word: names, numbers, a word or two."""

_LONGEST = 400
_RARE = 8
_SCRIPTS: Final = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("Chinese", re.compile(r"[\u3400-\u9fff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]")),
    ("Ukrainian", re.compile(r"[іїєґІЇЄҐ]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
)
"""In this order: Japanese texts hold Chinese characters, Ukrainian ones Cyrillic letters."""

_SMALL_WORDS: Final = {
    "English": word_set("the and of with for is in this to a on are from your it by that an you at has have"),
    "German": word_set(
        "der die das und mit für ist ein eine einer von den im auf aus zu nicht auch sich in an am ohne"
    ),
    "French": word_set("le la les et des avec pour une est dans du un sur au qui par en pas ce cette aux"),
    "Spanish": word_set("el la los las con para una es de en un por del que se al su como más"),
    "Italian": word_set("il la gli con per una di in un del della che al dei nel sono le da"),
    "Portuguese": word_set("os as com para uma de em um por do da que no na ao dos não"),
    "Dutch": word_set("de het een en met voor van is op in te dat niet aan zijn ook bij naar uit deze"),
    "Polish": word_set("na do jest się nie dla to od po przez oraz jak który tym ze"),
    "Swedish": word_set("och att det som en på är av för med den till inte om ett har de"),
    "Danish": word_set("og at det en på er af for med den til ikke et har de der som"),
    "Turkish": word_set("ve bir bu için ile da de çok olarak daha en gibi olan ne kadar"),
    "Czech": word_set("na se je do pro že jako to od po které byl ze"),
}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, among: Collection[str] = tuple(_SMALL_WORDS)) -> str:
    """The likeliest language of a text, by its English name.

    Args:
        text: the text; its beginning is enough.
        among: the languages in Latin letters that may be meant, the likeliest first.

    >>> language_of("a mug with a red handle"), language_of("Tasse mit rotem Henkel für uns"), language_of("赤い靴")
    ('English', 'German', 'Japanese')
    """
    start = text[:_LONGEST]
    letters = sum(map(len, _WORD.findall(start)))
    for name, pattern in _SCRIPTS:
        # Korean and Thai texts quote Latin names; a Latin text with one foreign letter stays Latin.
        if len(pattern.findall(start)) * 4 >= max(letters, 1) or (name == "Ukrainian" and _is_ukrainian(start)):
            return name
    scores = _small_words(start)
    best = max(among, key=lambda name: scores[name], default=UNCLEAR)
    return best if scores[best] else UNCLEAR


def languages_of(texts: Sequence[str]) -> dict[str, int]:
    """How many of some texts are in each language, the commonest first; what is unclear comes last.

    Languages share small words, so one that is rare among all texts is not believed of a single one.
    """
    total: Counter[str] = Counter()
    for text in texts:
        total.update(_small_words(text[:_LONGEST]))
    likely = [name for name, count in total.most_common() if count * _RARE >= max(total.values())]
    counts = Counter(language_of(text, likely) for text in texts)
    believed = {name: count for name, count in counts.most_common() if name != UNCLEAR and count * 50 >= len(texts)}
    unclear = len(texts) - sum(believed.values())
    return believed | ({UNCLEAR: unclear} if unclear else {})


def _small_words(text: str) -> Counter[str]:
    """How many small words of each language a text holds."""
    words = _WORD.findall(text.lower())
    return Counter({name: sum(word in small for word in words) for name, small in _SMALL_WORDS.items()})


def _is_ukrainian(text: str) -> bool:
    return bool(re.search(r"[іїєґІЇЄҐ]", text)) and len(re.findall(r"[\u0400-\u04ff]", text)) * 2 > len(text) / 2
