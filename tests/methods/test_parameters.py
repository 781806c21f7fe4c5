"""Parameters: what a constructor that only assigns gets for free."""

import json
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest

import diptych
from diptych._core.errors import ConfigError
from diptych.data import Protocol
from diptych.methods.selection import Parametrised


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


class Typed(Parametrised):
    def __init__(
        self,
        count: int | None = None,
        rate: float = 0.5,
        kind: Literal["a", "b"] = "a",
        on: bool = False,
        weights: float | Mapping[str, float] | None = None,
        anything: Any = None,
    ) -> None:
        self.count = count
        self.rate = rate
        self.kind = kind
        self.on = on
        self.weights = weights
        self.anything = anything


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": 2.5}, r"Typed: count is 2\.5; it must be a whole number or None\."),
        ({"count": True}, "count is True; it must be a whole number"),
        ({"rate": "fast"}, "rate is 'fast'; it must be a number"),
        ({"rate": None}, r"rate is None; it must be a number\."),
        ({"kind": 3}, "kind is 3; it must be a text"),
        ({"on": 1}, "on is 1; it must be True or False"),
        ({"weights": [1.0]}, "it must be a number or a mapping or None"),
    ],
)
def test_a_value_of_another_type_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Typed(**given).check_params()


def test_numbers_of_numpy_are_numbers_and_saved_as_such() -> None:
    typed = Typed(np.int64(2), np.float32(0.25), "b", np.True_, {"x": np.float64(1)}, anything=object)
    typed.check_params()
    typed.set_params(anything=[np.int8(1)])
    plain = {"count": 2, "rate": 0.25, "kind": "b", "on": True, "weights": {"x": 1.0}, "anything": [1]}
    assert json.loads(json.dumps(typed.plain_params())) == plain
    assert Protocol(labels_per_class=np.int64(3)).to_json()["labels_per_class"] == 3


@pytest.mark.parametrize("name", diptych.names())
def test_the_defaults_of_every_method_are_of_its_types(name: str) -> None:
    diptych.create(name).check_params()


def test_a_model_with_a_parameter_from_a_grid_can_be_saved(tmp_path) -> None:
    random = np.random.default_rng(0)
    cause = random.normal(size=(40, 2))
    views = {"a": cause @ random.normal(size=(2, 4)), "b": cause @ random.normal(size=(2, 3))}
    model = diptych.CCA(components=np.arange(2, 3)[0], ridge=np.logspace(-1, 0, 2)[0]).fit(views)
    model.save(tmp_path / "model")
    assert diptych.load(tmp_path / "model").get_params()["components"] == 2
    with pytest.raises(ConfigError, match=r"CCA: components is 2\.5; it must be a whole number or None"):
        diptych.CCA(components=2.5).fit(views)
