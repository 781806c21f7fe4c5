import io

import pytest
from rich.console import Console

from diptych.cli import experiment_runner as display_module
from diptych.cli.experiment_runner import LiveDisplay, PlainDisplay, display_for, with_figures
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
    assert with_figures("epoch", {"loss": 0.123456, "map": 0.5}) == "epoch (loss 0.123, map 0.5)"
    assert with_figures("scoring", None) == "scoring"


def test_a_long_fit_says_in_plain_words_how_far_it_is_and_how_long_it_will_take(monkeypatch):
    written, now = io.StringIO(), [0.0]
    monkeypatch.setattr(display_module.time, "monotonic", lambda: now[0])
    with PlainDisplay(Console(file=written, width=200)) as display:
        display.started(RUN, None)
        for now[0], stage, done, total, figures in (
            (0.0, "CCA search", 0, 7, None),
            (20.0, "CCA search", 2, 7, {"validation MAP": 0.41}),
            (30.0, "image RBM 1", 0, 200, None),
            (50.0, "image RBM 1", 50, 200, {"reconstruction_error": 0.7, "idle_units": 0.0}),
            (51.0, "learning", 10, 100, None),
            (71.0, "learning", 60, 100, {"validation score": 0.5}),
        ):
            display.stage(RUN, stage, done, total, figures)
    assert written.getvalue().splitlines() == [
        "cca[x] seed 1: trying settings, trial 2 of 7, about 50 s left (validation MAP 0.41)",
        "cca[x] seed 1: looking at image features, part 1 of 2, 25%, about 1 min left",
        "cca[x] seed 1: learning, 60%, about 16 s left (validation score 0.5)",
    ]


def test_the_live_display_says_the_same(monkeypatch):
    written = io.StringIO()
    with LiveDisplay(Console(file=written, force_terminal=True, no_color=True, width=150)) as display:
        display.started(RUN, None)
        display.stage(RUN, "choosing strengths", 3, 18, {"validation MRR": 0.25, "loss": 3.0})
    assert "cca[x] seed 1: trying settings, trial 3 of 18 (validation MRR 0.25)" in written.getvalue()


def test_a_method_that_takes_no_part_is_named_with_the_reason():
    written = io.StringIO()
    with PlainDisplay(Console(file=written, width=200)) as display:
        display.left_out("identity", "image has 12, text has [20]")
    assert written.getvalue() == "identity is left out: image has 12, text has [20]\n"


@pytest.mark.parametrize("kind", [PlainDisplay, LiveDisplay])
def test_preparations_are_shown_before_any_run(kind):
    written = io.StringIO()
    console = Console(file=written, force_terminal=kind is LiveDisplay, no_color=True, width=100)
    with kind(console) as display:
        display.preparing("image [features]", 3, 7, {"per second": 40.0})
    assert "image [features] (per second 40)" in written.getvalue()
    assert "3/7" in written.getvalue()
