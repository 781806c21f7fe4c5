import json

import pytest

from diptych._core.errors import ConfigError
from diptych.training import Constant, InverseT, LoopSettings


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
