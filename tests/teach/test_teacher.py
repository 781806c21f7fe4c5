"""Asking and spreading: the same figures as propagation gives, new items included, and questions worth asking."""

import numpy as np
import pytest

from diptych.methods.propagation import spread_labels
from diptych.search import NewItem, Searcher
from diptych.teach import HeldOut, Teacher, UnknownItemError
from search.gallery import png
from teach.conftest import by_colour, truth


def spread_of(teacher):
    with teacher._current() as (spread, _):
        return spread


def test_spreading_answer_by_answer_is_propagation_of_all_answers(teacher) -> None:
    by_colour(teacher)
    teacher.status()
    teacher.answer(["image:blue-05"], "red", who="ann")
    teacher.status()
    teacher.answer(["blue-05"], "blue", who="ann")
    spread = spread_of(teacher)
    given = np.zeros((len(spread.graph.items), len(spread.classes)))
    for row, name in spread.given.items():
        given[row, spread.classes.index(name)] = 1.0
    np.testing.assert_allclose(spread.shares, spread_labels(spread.graph.graph, given), atol=1e-12)


def test_one_answer_a_colour_tells_nearly_all_items(teacher) -> None:
    by_colour(teacher)
    status = teacher.status()
    assert (status.items, status.answered, status.held_out) == (80, 4, None)
    assert sum(count.spread for count in status.classes) == status.spread
    assert [(count.taught, count.dataset) for count in status.classes] == [(1, 0)] * 4
    assert [(one.taught, one.dataset) for one in spread_of(teacher).counts([])] == [(0, 1)] * 4  # if nobody had said so
    guesses = teacher.guesses(least=0.0)
    right = sum(truth(item) == guess for item, (guess, _) in guesses.items())
    assert right >= 0.9 * len(guesses) and len(guesses) > 70


def test_held_out_answers_are_predicted_as_if_they_had_not_been_given(teacher) -> None:
    by_colour(teacher, per_colour=3)
    teacher.answer(["red-03"], "blue", who="ann")  # a mistake, which no other answer agrees with
    spread = spread_of(teacher)
    found = spread.held_out()
    right = 0
    for row, name in spread.given.items():
        others = {other: label for other, label in spread.given.items() if other != row}
        alone = type(spread).of(spread.graph, others, frozenset())
        right += alone.guesses[row] >= 0 and alone.classes[alone.guesses[row]] == name
    assert found == HeldOut(13, right) and right <= 12
    low, high = found.interval
    assert 0 < low < found.accuracy < high <= 1


def test_questions_come_from_every_cluster_and_are_not_asked_again(teacher) -> None:
    asked = teacher.next(4)
    assert {one.reason for one in asked} == {"cluster"} and len({one.hit.item for one in asked}) == 4
    assert all(one.hit.metadata["split"] == "train" for one in asked)
    teacher.answer([asked[0].hit.item], truth(asked[0].hit.item), who="ann")
    teacher.answer([asked[1].hit.item], None, who="ann", answer="skip")
    teacher.answer([asked[2].hit.item], None, who="ann", answer="none")
    again = {one.hit.item for one in teacher.next(50)}
    assert not again & {one.hit.item for one in asked[:3]}
    status = teacher.status()
    assert (status.answered, status.skipped, status.none) == (1, 1, 1)
    assert {one.reason for one in teacher.next(50)} >= {"uncertain"}


def test_questions_lead_to_every_colour_soon(teacher) -> None:
    seen = set()
    for _ in range(8):
        one = teacher.next(1)[0]
        teacher.answer([one.hit.item], truth(one.hit.item), who="ann")
        seen.add(truth(one.hit.item))
    assert seen == {"red", "green", "blue", "grey"}


def test_what_was_said_to_be_none_of_the_classes_has_no_guess(teacher) -> None:
    by_colour(teacher)
    teacher.answer(["red-05"], None, who="ann", answer="none")
    found, total = teacher.items("")
    assert "red-05" in {one.hit.item for one in found} and total == len(found)


def test_items_are_listed_by_guess_and_certainty(teacher) -> None:
    by_colour(teacher)
    first, total = teacher.items("red", order="certain", limit=5)
    assert total >= 15 and first[0].taught and first[0].certainty == 1.0
    assert [one.certainty for one in first] == sorted((one.certainty for one in first), reverse=True)
    rest, _ = teacher.items("red", order="certain", offset=5, limit=100)
    assert len({one.hit.item for one in [*first, *rest]}) == total
    assert teacher.items("purple") == ([], 0)


def test_items_written_and_removed_while_teaching_take_part(searcher, teacher) -> None:
    by_colour(teacher)
    assert teacher.status().items == 80
    searcher.add([NewItem("image:mine", "image", png("blue", "mine")), NewItem("text:mine", "text", "a blue tile")])
    searcher.remove(["image:red-07", "text:red-07"])
    assert teacher.status().items == 80
    assert teacher.guesses(0.0)["mine"][0] == "blue" and "red-07" not in teacher.guesses(0.0)
    with Searcher.open(searcher.generations.folder) as again:  # what was placed piece by piece is what is read at once
        fresh = Teacher(again)
        assert {k: v[0] for k, v in fresh.guesses().items()} == {k: v[0] for k, v in teacher.guesses().items()}
        fresh.close()
    teacher.answer(["image:mine"], "sky", who="ann")
    assert teacher.guesses(0.0)["mine"] == ("sky", 1.0)
    with pytest.raises(UnknownItemError, match="red-07"):
        teacher.answer(["red-06", "red-07"], "red", who="ann")
    assert "red-06" not in teacher.labels.all()


def test_answers_of_another_process_are_seen(teacher, own) -> None:
    by_colour(teacher)
    teacher.status()
    with Searcher.open(own) as searcher:
        other = Teacher(searcher)
        other.answer(["red-01"], "rust", who="bob")
        assert [one.label for one in other.forget(["red-00"], who="bob") if one] == ["red"]
        other.close()
    assert {count.label for count in teacher.status().classes} == {"rust", "green", "blue", "grey"}


def test_an_empty_index_asks_nothing(searcher, teacher) -> None:
    searcher.remove([hit.id for hit in searcher.list(limit=1000)])
    assert teacher.next(5) == [] and teacher.status().items == 0
