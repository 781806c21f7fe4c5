import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.training import Constant, Cosine, Exponential, InverseT, LoopSettings, Ramp


def test_json_holds_every_setting():
    values = json.loads(json.dumps(LoopSettings(steps=5, rate=InverseT(0.1, 3)).to_json()))
    assert values["rate"] == {"kind": "inverse_t", "initial": 0.1, "scale": 3}
    assert values["steps"] == 5
    assert set(values) == set(LoopSettings.__dataclass_fields__)


def test_multipliers_are_decisive_and_plain():
    values = LoopSettings(steps=5, rate_multipliers={"tower": 0.1}).decisive()
    assert json.loads(json.dumps(values))["rate_multipliers"] == {"tower": 0.1}
    assert values != LoopSettings(steps=5).decisive()


def test_only_what_cannot_change_the_weights_is_left_out_of_the_decisive_settings():
    left_out = set(LoopSettings.__dataclass_fields__) - set(LoopSettings(steps=5).decisive())
    assert left_out == {"checkpoint_every", "log_every", "explosion_factor", "tensorboard", "device"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"optimizer": "lbfgs"}, "optimizer is 'lbfgs'"),
        ({"weight_decay": -1.0}, "weight_decay is -1.0"),
        ({"rate_multipliers": {"tower": -0.1}}, "rate multiplier of 'tower' is -0.1; it must be zero or a positive"),
        ({"clip_norm": 0.0}, "clip_norm is 0.0"),
        ({"rate": Constant(0.0)}, "learning rate starts at 0.0"),
        ({"rate": Constant(float("nan"))}, "learning rate starts at nan"),
        ({"momentum": Constant(1.0)}, "momentum starts at 1.0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_out_of_range(change, message):
    with pytest.raises(ConfigError, match=message):
        LoopSettings(**{"steps": 5, **change}).check()


STEPS = st.integers(0, 10**6)


@given(STEPS)
def test_published_formulas(t):
    assert Constant(0.9).at(t) == 0.9
    assert InverseT(0.05, 10_000).at(t) == pytest.approx(0.05 / (1 + t / 10_000))
    assert Exponential(0.01, 10_000).at(t) == pytest.approx(0.01 * 2 ** (-t / 10_000))
    assert Ramp(0.5, 0.9, 5_000).at(t) == pytest.approx(0.9 - 0.4 * math.exp(-t / 5_000))


def test_named_points():
    assert InverseT(1.0, 100).at(100) == 0.5
    assert InverseT(1.0, 100).at(200) == pytest.approx(1 / 3)
    assert Exponential(1.0, 100).at(300) == 0.125
    assert Ramp(0.5, 0.9, 10).at(0) == 0.5
    assert Ramp(0.5, 0.9, 10).at(10_000) == pytest.approx(0.9)


@given(STEPS, st.integers(1, 10**5), st.integers(0, 200))
def test_a_cosine_rises_and_falls_to_zero(t, steps, warm_up):
    down = 0.5 * (1 + math.cos(math.pi * min(t, steps) / steps))
    rise = 1.0 if t + 1 >= warm_up else (t + 1) / warm_up
    assert Cosine(0.3, steps, warm_up).at(t) == pytest.approx(0.3 * rise * down, abs=1e-15)


def test_named_points_of_a_cosine():
    assert Cosine(1.0, 100).at(0) == 1.0
    assert Cosine(1.0, 100).at(50) == pytest.approx(0.5)
    assert Cosine(1.0, 100).at(100) == pytest.approx(0.0, abs=1e-12)
    assert Cosine(1.0, 100).at(1_000) == pytest.approx(0.0, abs=1e-12)
    warm = Cosine(1.0, 1_000_000, 20)
    assert [warm.at(t) for t in (0, 9, 19, 20)] == pytest.approx([0.05, 0.5, 1.0, 1.0], rel=1e-6)
    assert all(a >= b for a, b in pairwise(Cosine(1.0, 100).at(t) for t in range(102)))


def test_short_runs_shrink_time_scales_and_long_ones_keep_them():
    assert InverseT(0.1).scaled_to(1_500) == InverseT(0.1, 150)
    assert Exponential(0.1).scaled_to(1_500) == Exponential(0.1, 150)
    assert Ramp(0.5, 0.9).scaled_to(1_500) == Ramp(0.5, 0.9, 75)
    assert Constant(0.1).scaled_to(10) == Constant(0.1)
    assert InverseT(0.1).scaled_to(1_000_000) == InverseT(0.1, 10_000)
    assert Cosine(0.1, 500, 20).scaled_to(100) == Cosine(0.1, 100, 20)
    assert Cosine(0.1, 500).scaled_to(1_000_000) == Cosine(0.1, 500)
    assert Ramp(time_constant=5_000).scaled_to(1_000_000).time_constant == 5_000


def test_to_json_tells_kinds_apart():
    assert InverseT(0.1, 5).to_json() == {"kind": "inverse_t", "initial": 0.1, "scale": 5}
    kinds = {s.to_json()["kind"] for s in (Constant(1), InverseT(1), Exponential(1), Ramp(), Cosine(1, 1))}
    assert len(kinds) == 5
    assert Cosine(0.1, 5, 2).to_json() == {"kind": "cosine", "initial": 0.1, "steps": 5, "warm_up": 2}


@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_time_scales_must_be_positive(value):
    for make in (
        lambda: InverseT(1, value),
        lambda: Exponential(1, value),
        lambda: Ramp(0.5, 0.9, value),
        lambda: Cosine(1, value),
    ):
        with pytest.raises(ConfigError, match="positive"):
            make()
