"""Parameters: what a constructor that only assigns gets for free."""

import pytest

from diptych._core.errors import ConfigError
from diptych.methods.base import Parametrised


class Toy(Parametrised):
    def __init__(self, width: int = 3, name: str | None = None) -> None:
        self.width = width
        self.name = name


def test_parameters_are_read_from_the_constructor() -> None:
    assert Toy.parameter_defaults() == {"width": 3, "name": None}
    assert Toy(width=5).get_params() == {"width": 5, "name": None}


def test_setting_changes_only_what_is_named() -> None:
    toy = Toy(width=5)
    assert toy.set_params(name="x") is toy
    assert toy.get_params() == {"width": 5, "name": "x"}


def test_unknown_names_change_nothing() -> None:
    toy = Toy()
    with pytest.raises(ConfigError, match="Toy has no parameter 'depth'; it has width, name"):
        toy.set_params(width=9, depth=2)
    assert toy.width == 3


@pytest.mark.parametrize(("toy", "text"), [(Toy(), "Toy()"), (Toy(4, "a"), "Toy(width=4, name='a')")])
def test_repr_shows_what_differs_from_the_defaults(toy: Toy, text: str) -> None:
    assert repr(toy) == text
