"""Profiles: complete, in one place, and with schedules that fit the number of steps."""

import pytest

from diptych._core.errors import ConfigError
from diptych.methods.deep.profile import PROFILES, PUBLISHED, profile


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("stage", PUBLISHED)
def test_every_stage_of_every_profile_has_valid_settings(name, stage):
    settings = profile(name).settings(stage, seed=5)
    settings.check()
    assert settings.seed == 5


def test_the_paper_profile_is_what_was_published():
    for stage, published in PUBLISHED.items():
        settings = profile("paper").settings(stage, seed=0)
        assert (settings.steps, settings.batch_size) == (published.steps, published.batch_size)
        assert settings.weight_decay == published.weight_decay
        assert (settings.rate, settings.momentum) == (published.rate, published.momentum)
    assert PUBLISHED["gaussian-rbm"].steps == 100_000
    assert profile("paper").dbn_widths("dense", 2296) == (2048, 1024)
    assert profile("paper").dbn_widths("counts", 3000) == (1024, 1024)


def test_schedules_shrink_with_the_number_of_steps():
    short = profile("fast").settings("gaussian-rbm", seed=0)
    assert short.momentum.at(short.steps) == pytest.approx(0.9, abs=1e-3)
    assert short.rate.at(short.steps) < 0.2 * short.rate.at(0)


def test_narrow_inputs_get_narrow_first_layers():
    assert profile("standard").dbn_widths("dense", 10)[0] == 128
    assert profile("standard").dbn_widths("dense", 4096)[0] == profile("standard").dense_widths[0]


def test_an_unknown_profile_is_named():
    with pytest.raises(ConfigError, match=r"'quick'.*fast"):
        profile("quick")
