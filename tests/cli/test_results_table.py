import io

import pytest
from rich.console import Console

from diptych.cli.results_table import print_results


def block(value, saw="pairs", spread=None):
    scores = {"map": value, "map_ci95": [value - 0.01, value + 0.01], "map@50": value + 0.05}
    average = scores | {"map_std_over_seeds": spread}
    about = {
        "fit_seconds": 3.0,
        "saw": saw,
        "deterministic": spread is None,
    }
    return {"image->text": scores, "text->image": scores, "average": average} | about


@pytest.fixture
def results():
    level = {"map": 0.1, "map@50": 0.2}
    return {
        "dataset": {"name": "set [one]"},
        "split": "test",
        "chance": level | {"image->text": level, "text->image": level},
        "protocol": {"words": "pairs only"},
        "methods": {"cca": block(0.3), "jrl": block(0.412, "pairs + labels", 0.007)},
        "failures": {"broken": "no [memory]"},
        "comparisons": {"best": "jrl"},
    }


@pytest.mark.parametrize("width", [80, 150])
def test_all_numbers_fit_the_terminal(results, width):
    written = io.StringIO()
    print_results(results, Console(file=written, width=width, no_color=True))
    text = written.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for words in ("set [one], split test", "0.412", "0.402–0.422", "0.462", "0.007", "3.0 s", "pairs + labels"):
        assert words in text
    assert text.count("3.0 s") == 2
    assert text.count("0.402–0.422") == 3
    (failed,) = [line for line in text.splitlines() if "broken" in line]
    assert "failed" in failed
    (chance,) = [line for line in text.splitlines() if "random ranking" in line]
    assert chance.count("0.100") == chance.count("0.200") == 3


def test_many_directions_leave_only_the_average(results):
    results["chance"] |= {f"{a}->{b}": results["chance"]["image->text"] for a, b in (("a", "b"), ("b", "a"))}
    written = io.StringIO()
    print_results(results, Console(file=written, width=80, no_color=True))
    assert written.getvalue().count("0.402–0.422") == 1
