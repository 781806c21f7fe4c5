import io

import pytest
from rich.console import Console

from diptych.cli.display import LiveDisplay, PlainDisplay, describe_stage, display_for
from diptych.data import Protocol
from diptych.experiments import Run

RUN = Run("cca[x]", 1, (1,), {}, Protocol())


def play(display):
    """Everything that can happen, once."""
    with display:
        display.planned([RUN] * 3)
        display.started(RUN, "the params changed")
        display.stage(RUN, "grid [1]", 1, 4, {"map": 0.25})
        display.finished(RUN, 0.5, 61.0)
        display.kept(RUN, 0.4)
        display.started(RUN, None)
        display.failed(RUN, "no [red]room[/red]")


@pytest.mark.parametrize("kind", [PlainDisplay, LiveDisplay])
def test_every_outcome_is_a_line_and_names_are_not_markup(kind):
    terminal = kind is LiveDisplay
    written = io.StringIO()
    play(kind(Console(file=written, force_terminal=terminal, no_color=True, width=100)))
    text = written.getvalue()
    for line in (
        "cca[x] seed 1: fitting again, the params changed",
        "[1/3] cca[x] seed 1: average MAP 0.500, 1 min",
        "[2/3] cca[x] seed 1: average MAP 0.400, kept from before",
        "[3/3] cca[x] seed 1: failed: no [red]room[/red]",
    ):
        assert line in text


def test_a_terminal_gets_the_live_display():
    assert type(display_for(Console(file=io.StringIO()))) is PlainDisplay
    assert type(display_for(Console(file=io.StringIO(), force_terminal=True))) is LiveDisplay


def test_stages_show_their_figures():
    assert describe_stage("epoch", {"loss": 0.123456, "map": 0.5}) == "epoch (loss 0.1235, map 0.5)"
    assert describe_stage("scoring", None) == "scoring"


@pytest.mark.parametrize("kind", [PlainDisplay, LiveDisplay])
def test_preparations_are_shown_before_any_run(kind):
    written = io.StringIO()
    console = Console(file=written, force_terminal=kind is LiveDisplay, no_color=True, width=100)
    with kind(console) as display:
        display.preparing("image [features]", 3, 7, {"per second": 40.0})
    assert "image [features] (per second 40)" in written.getvalue()
    assert "3/7" in written.getvalue()
