"""Features side by side: columns renumbered, the stream drawn from once, everything saved."""

from dataclasses import dataclass

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych._core.state import pack, stateful, unpack
from diptych.features.contract import Block, ComposedExtractor, Composition, learns, renumber
from diptych.features.image.colour import ColourHistogram
from diptych.features.image.recipes import Shrinking
from diptych.features.image.texture import EdgeDirection

PICTURES = [generator(0, "composition").integers(256, size=(12, 10, 3), dtype=np.uint8) for _ in range(4)]


@stateful
@dataclass(frozen=True)
class CompositionTestMean:
    """How far an image's mean is from the training mean."""

    centre: float
    seed: int
    kind: str = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block("difference", 0, 2, "Difference from the training mean, and the seed."),)

    def __call__(self, items):
        return np.array([[item.mean() - self.centre, self.seed] for item in items]).reshape(-1, 2)


@dataclass(frozen=True)
class MeanFeature:
    kind: str = "dense"

    def fit(self, items, *, seed=0, progress=None):
        return CompositionTestMean(float(np.mean([item.mean() for item in items])), seed, self.kind)


def test_rows_are_joined_in_order() -> None:
    extractor = Composition((EdgeDirection(), MeanFeature(), ColourHistogram())).fit(iter(PICTURES), seed=9)
    rows = extractor(PICTURES)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[:, :73], EdgeDirection()(PICTURES))
    means = np.array([image.mean() for image in PICTURES])
    np.testing.assert_allclose(rows[:, 73], means - means.mean(), atol=1e-4)
    assert set(rows[:, 74]) == {9}
    np.testing.assert_array_equal(rows[:, 75:], ColourHistogram()(PICTURES))


def test_blocks_are_moved_right() -> None:
    blocks = Composition((EdgeDirection(), MeanFeature(), ColourHistogram())).fit(PICTURES).blocks
    assert [(block.name, block.start, block.stop) for block in blocks] == [
        ("edge directions", 0, 72),
        ("no edge", 72, 73),
        ("difference", 73, 75),
        ("colour histogram", 75, 139),
    ]
    assert renumber([]) == ()


def test_several_learners_share_one_stream() -> None:
    twice = Composition((MeanFeature(), MeanFeature())).fit(iter(PICTURES))
    first, second = twice.parts
    assert first == second


def test_each_item_is_fetched_once() -> None:
    fetched = []

    class Lazy(list):
        def __iter__(self):
            for item in super().__iter__():
                fetched.append(1)
                yield item

    Composition((EdgeDirection(), ColourHistogram())).fit(())(Lazy(PICTURES))
    assert len(fetched) == len(PICTURES)


def test_compositions_nest() -> None:
    inner = Composition((ColourHistogram(), EdgeDirection()))
    flat = Composition((MeanFeature(), ColourHistogram(), EdgeDirection())).fit(PICTURES)
    nested = Composition((MeanFeature(), inner)).fit(iter(PICTURES))
    assert nested.blocks == flat.blocks
    np.testing.assert_array_equal(nested(PICTURES), flat(PICTURES))


def test_a_composition_survives_being_saved() -> None:
    extractor = Composition((MeanFeature(), ColourHistogram())).fit(PICTURES)
    again = unpack(*pack(extractor))
    assert isinstance(again, ComposedExtractor)
    assert again == extractor
    assert again.kind == "dense"
    np.testing.assert_array_equal(again(PICTURES), extractor(PICTURES))


def test_no_items_give_no_rows() -> None:
    assert Composition((MeanFeature(), ColourHistogram())).fit(PICTURES)([]).shape == (0, 66)


def test_nothing_to_compose_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no parts"):
        Composition(()).fit(PICTURES)


@dataclass(frozen=True)
class Stream:
    """Items that can be read again, and a count of how often they were."""

    opened: list
    restarts: bool = True

    def __iter__(self):
        self.opened.append(1)
        return iter(PICTURES)


def test_a_stream_that_restarts_is_read_anew_by_each_learner_and_never_kept() -> None:
    stream = Stream([])
    extractor = Composition((MeanFeature(), EdgeDirection(), MeanFeature())).fit(stream)
    assert len(stream.opened) == 2
    assert extractor.parts[0] == extractor.parts[2] == MeanFeature().fit(PICTURES)
    Composition((EdgeDirection(), ColourHistogram())).fit(stream)
    assert len(stream.opened) == 2


def test_a_shrunk_stream_restarts_only_if_what_it_shrinks_does() -> None:
    two = Shrinking(Composition((MeanFeature(), MeanFeature())), 8)
    once = two.fit(iter(PICTURES)).extractor
    again = two.fit(Stream([])).extractor
    assert once.parts[0] == once.parts[1] == again.parts[0] == again.parts[1]


def test_who_learns_is_known() -> None:
    assert learns(MeanFeature()) and not learns(EdgeDirection())
    assert learns(Composition((EdgeDirection(), MeanFeature())))
    assert not learns(Shrinking(Composition((EdgeDirection(), ColourHistogram())), 8))
