"""Families: emoji so alike that they have to be in one split, and the splits that keep them together."""

from collections import defaultdict
from collections.abc import Sequence

from diptych._core.seeding import generator
from diptych.ingest.samples.emoji_catalogue import Emoji, words_of

SHARES = {"train": 0.7, "val": 0.1, "test": 0.2}

_VARYING = frozenset(
    words_of(
        "man woman person men women people male female adult child boy girl baby old older mrs mx santa "
        "red orange yellow green blue purple brown black white grey pink light dark medium large small big hollow "
        "left right up down facing pointing tilted curving backhand index "
        "one two three four five six seven eight nine ten eleven twelve thirty o’clock "
        "0 1 2 3 4 5 6 7 8 9 10 1st 2nd 3rd"
    )
)
"""Words that tell twins apart: who it is, which colour or size, which way it looks, which number."""

_SILENT_POINTS = {"FE0F", "200D", "2640", "2642", "27A1"}
"""Code points that only say how to draw, that someone is a woman or a man, or faces right."""

_PERSON = {"1F468": "1F9D1", "1F469": "1F9D1"}


def families(emoji: Sequence[Emoji]) -> list[str]:
    """The family of each emoji, named by the code of its first member.

    Two emoji of a group are of one family when their names are the same but for words of gender, age, colour, size,
    direction and number (the coloured hearts, the clock faces, a man and a woman running), or their code points are
    the same but for gender and direction (merman and mermaid).
    """
    first: dict[tuple[str, str], int] = {}
    parent = list(range(len(emoji)))
    for number, one in enumerate(emoji):
        for key in (_key_of_name(one), _key_of_code(one.code)):
            other = first.setdefault((one.group, key), number)
            low, high = sorted((_root(parent, number), _root(parent, other)))
            parent[high] = low
    return [emoji[_root(parent, number)].code for number in range(len(emoji))]


def split_families(emoji: Sequence[Emoji], family: Sequence[str], seed: int) -> list[str]:
    """A split for each emoji: the shares hold in every group, as nearly as whole families allow.

    The largest families choose first, each the split that lacks most of its share; among families of one size the
    seed decides the order.
    """
    members: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, one in enumerate(emoji):
        members[one.group][family[number]].append(number)
    splits = [""] * len(emoji)
    for group, its in members.items():
        lacking = {split: share * sum(map(len, its.values())) for split, share in SHARES.items()}
        names = list(its)
        order = generator(seed, "emoji-split", group).permutation(len(names)).tolist()
        for name in sorted((names[place] for place in order), key=lambda name: -len(its[name])):
            chosen = max(lacking, key=lacking.__getitem__)
            lacking[chosen] -= len(its[name])
            for number in its[name]:
                splits[number] = chosen
    return splits


def _key_of_name(one: Emoji) -> str:
    kept = [word for word in words_of(one.name) if word not in _VARYING]
    return " ".join(kept) or f"only varying words in {one.subgroup}"


def _key_of_code(code: str) -> str:
    return "-".join(_PERSON.get(point, point) for point in code.split("-") if point not in _SILENT_POINTS)


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        number = parent[number]
    return number
