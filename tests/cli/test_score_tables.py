import io
from itertools import permutations

import pytest
from rich.console import Console

from diptych.cli.score_tables import print_results


def block(value, saw="pairs", spread=None):
    scores = {"map": value, "map_ci95": [value - 0.01, value + 0.01], "map@50": value + 0.05}
    average = scores | {"map_std_over_seeds": spread}
    about = {
        "instance": {"average": {"mean_reciprocal_rank": value / 2}},
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
        "chance": level | {"mrr": 0.031, "image->text": level, "text->image": level},
        "protocol": {"words": "pairs only"},
        "methods": {"cca": block(0.3), "jrl": block(0.412, "pairs + labels", 0.007)},
        "failures": {"broken": "no [memory]"},
        "comparisons": {"best": "jrl"},
    }


@pytest.mark.parametrize("width", [80, 160])
def test_all_numbers_fit_the_terminal(results, width):
    written = io.StringIO()
    print_results(results, Console(file=written, width=width, no_color=True))
    text = written.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for words in (
        "set [one], split test",
        "0.412",
        "0.402–0.422",
        "0.462",
        "0.007",
        "3.0 s",
        "pairs + labels",
        "0.206",
    ):
        assert words in text
    assert text.count("3.0 s") == 2
    assert text.count("0.402–0.422") == 3
    (failed,) = [line for line in text.splitlines() if "broken" in line]
    assert "failed" in failed
    (chance,) = [line for line in text.splitlines() if "random ranking" in line]
    assert chance.count("0.100") == chance.count("0.200") == 3
    assert "0.031" in chance
    assert "space" not in text


def test_a_note_says_which_space_a_measure_is_of(results):
    results["methods"]["jrl"] |= {"purpose": "class", "instance_purpose": "partner"}
    written = io.StringIO()
    print_results(results, Console(file=written, width=100, no_color=True))
    assert "jrl: MAP is measured in the class space, MRR and R@k in the partner space" in written.getvalue()
    assert "cca:" not in written.getvalue()


def test_where_no_item_has_a_partner_there_is_no_mrr(results):
    results["chance"]["mrr"] = None
    for each in results["methods"].values():
        each["instance"] = {}
    written = io.StringIO()
    print_results(results, Console(file=written, width=150, no_color=True))
    assert "0.206" not in written.getvalue()


@pytest.mark.parametrize("width", [60, 80, 160])
def test_many_directions_have_a_table_of_their_own(results, width):
    directions = [f"{a}->{b}" for a, b in permutations(("image", "text", "audio"), 2)]
    results["chance"] |= {each: {"map": 0.1, "map@50": 0.2, "mrr": 0.03} for each in directions}
    for name, found in results["methods"].items():
        for place, each in enumerate(directions):
            found[each] = found["average"] | {"map": found["average"]["map"] + place / 100}
            found["instance"][each] = {"mean_reciprocal_rank": 0.5 + place / 100}
        if name == "cca":
            del found["instance"]["audio->image"]
    written = io.StringIO()
    print_results(results, Console(file=written, width=width, no_color=True))
    text = written.getvalue()
    assert text.count("0.402–0.422") == 1  # the average alone has its interval here
    assert max(map(len, text.splitlines())) <= width
    below = text[text.index("by direction") :]
    for place, each in enumerate(directions):
        assert f"{0.412 + place / 100:.3f} {0.5 + place / 100:.3f}" in below, each
    assert "0.340 –" in below  # nobody has a partner there
    assert below.count("0.100 0.030") == len(directions)
    assert "…" not in text
