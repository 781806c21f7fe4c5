"""Single bits that flip on disk: an answer is the one of before, or the damage is told in one sentence."""

import random
import shutil
from collections import Counter

import numpy as np
import pytest

from diptych._core.errors import DiptychError
from diptych.data import Dataset
from diptych.methods import load_model
from diptych.search import Searcher
from diptych.search.backup import backup_index, restore_backup
from search.gallery import png

FLIPS = 100


def answers(index):
    """What an index says, in all the ways it can be asked."""
    image = png("blue", "asked")
    with Searcher.open(index) as searcher:
        found = [
            *(
                searcher.search(text=text, k=20, mode=mode)
                for text in ("a red wall", "grey")
                for mode in ("hybrid", "vector")
            ),
            searcher.search(text="blue tile", mode="lexical", where="label = 'blue'"),
            searcher.search(image=image, into="text", k=20),
            searcher.search(image=image, text="green", min_probability=0.05),
            searcher.similar("image:red-03", k=20),
        ]
        return (
            [[(hit.id, hit.score, hit.probability, hit.metadata) for hit in answer.hits] for answer in found],
            [(hit.id, hit.metadata) for hit in searcher.list(limit=500)],
            searcher.count(where="label in ('red', 'green')"),
            searcher.suggest("re"),
            [searcher.thumbnail(f"image:red-{number:02d}") for number in range(20)],
            searcher.info(),
        )


def flip(path, draw):
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def outcomes(whole, scratch, ask, flips):
    """Flip a bit of a copy and ask, again and again: how often the answer was the same, told as damage, or else."""
    draw, expected, found, strange = random.Random(0), ask(whole), Counter(), []
    names = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.stat().st_size)
    heavy = [name for name in names if (whole / name).stat().st_size > 10_000]
    for number in range(flips):
        copy = shutil.copytree(whole, scratch / "copy")
        name = draw.choice(heavy if number % 2 else names)
        flip(copy / name, draw)
        try:
            same = ask(copy) == expected
            found["identical answers" if same else "silently wrong"] += 1
            strange += [] if same else [str(name)]
        except DiptychError as error:
            found["reported in a sentence" if "\n" not in str(error) else "reported in several lines"] += 1
        except Exception as error:
            found["raw exceptions"] += 1
            strange.append(f"{name}: {error!r}")
        shutil.rmtree(copy)
    return found, strange


def listed(found):
    return ", ".join(f"{count} {what}" for what, count in sorted(found.items())) + ", none silently wrong"


@pytest.mark.faults(
    "one flipped bit at a random place of an index", "no answer is silently wrong; damage is reported in one sentence"
)
def test_bits_of_an_index(world, tmp_path, noted):
    found, strange = outcomes(world / "index", tmp_path, answers, FLIPS)
    noted(FLIPS, listed(found))
    assert not strange and not set(found) - {"identical answers", "reported in a sentence"}, (found, strange)


@pytest.mark.faults("one flipped bit at a random place of a model", "the same embeddings, or a one-sentence error")
def test_bits_of_a_model(world, tmp_path, noted):
    rows = Dataset.open(world / "dataset").split("test").features("image")

    def ask(folder):
        return np.asarray(load_model(folder).embed("image", rows)).tobytes()

    found, strange = outcomes(world / "model", tmp_path, ask, FLIPS // 2)
    noted(FLIPS // 2, listed(found))
    assert not strange and not set(found) - {"identical answers", "reported in a sentence"}, (found, strange)


@pytest.mark.faults("one flipped bit at a random place of a backup", "the backup is refused or restored unchanged")
def test_bits_of_a_backup(world, tmp_path, noted):
    (tmp_path / "backup").mkdir()
    backup_index(world / "index", tmp_path / "backup" / "index.tar")

    def ask(folder):
        restored = tmp_path / "restored"
        shutil.rmtree(restored, ignore_errors=True)
        restore_backup(folder / "index.tar", restored)
        with Searcher.open(restored) as searcher:
            return [(hit.id, hit.metadata) for hit in searcher.list(limit=500)]

    found, strange = outcomes(tmp_path / "backup", tmp_path, ask, FLIPS // 4)
    noted(FLIPS // 4, listed(found))
    assert not strange and not set(found) - {"identical answers", "reported in a sentence"}, (found, strange)
