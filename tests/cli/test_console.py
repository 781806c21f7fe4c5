"""Lines or bars for long work."""

import io

from rich.console import Console

from diptych.cli import console
from diptych.cli.console import LiveProgress, PlainProgress, progress_on


def test_a_log_gets_the_end_of_each_stage_and_little_else() -> None:
    said = io.StringIO()
    with progress_on(Console(file=said)) as display:
        assert type(display) is PlainProgress
        for done in range(0, 1001, 100):
            display("image features", done, 1000, {"per second": 35.25})
    assert said.getvalue() == "image features: 1,000/1,000, 35.2 per second\n"


def test_a_long_stage_is_heard_of_now_and_then(monkeypatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(console, "_QUIET_SECONDS", -1.0)
    with PlainProgress(Console(file=said)) as display:
        display("visual words", 50, 200)
    assert said.getvalue() == "visual words: 50/200\n"


def test_a_terminal_gets_a_bar_for_each_stage() -> None:
    said = io.StringIO()
    terminal = Console(file=said, force_terminal=True, width=100)
    with progress_on(terminal) as display:
        assert isinstance(display, LiveProgress)
        display("visual words", 20, 20)
        display("image features", 3, 10, {"per second": 12.0})
    assert "visual words" in said.getvalue() and "20/20" in said.getvalue()
    assert "3/10" in said.getvalue() and "12.0 per second" in said.getvalue()


def test_the_end_of_a_stage_is_estimated_from_what_was_done_since_it_began(monkeypatch) -> None:
    said, now = io.StringIO(), [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with PlainProgress(Console(file=said)) as display:
        for now[0], done in ((0.0, 400), (0.5, 401), (20.0, 500), (118.0, 990)):  # 400 were taken up from before
            display("image features", done, 1000)
    assert said.getvalue().splitlines() == [
        "image features: 500/1,000, about 2 min left",
        "image features: 990/1,000",
    ]
