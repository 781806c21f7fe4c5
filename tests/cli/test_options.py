import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.cli.options import parse_literal, split_method_settings, split_names, split_seeds, split_settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("1e-3", 1e-3),
        ("1_000", 1000),
        ("true", True),
        ("null", None),
        ("rbf", "rbf"),
        ("test-features", "test-features"),
        ('"two words"', "two words"),
        ("'single'", "single"),
        ("[1, 2.5]", [1, 2.5]),
        ('{"a": 1}', {"a": 1}),
        ("{a = 1}", {"a": 1}),
        ("-0.5", -0.5),
    ],
)
def test_values_are_literals(text, value):
    found = parse_literal("x", text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["", "two words", "[1,", "1\ny = 2", "a=b", "__import__('os')", "True", "None"])
def test_what_is_no_value_is_refused_by_name(text):
    with pytest.raises(ConfigError, match=r"'jrl\.sparsity'"):
        parse_literal("jrl.sparsity", text)


def test_settings_belong_to_methods():
    found = split_method_settings(["jrl.sparsity=10", "jrl.graph=0.1", "cca.mode=paper"])
    assert found == {"jrl": {"sparsity": 10, "graph": 0.1}, "cca": {"mode": "paper"}}
    with pytest.raises(ConfigError, match="names no method"):
        split_method_settings(["sparsity=10"])
    with pytest.raises(ConfigError, match="has no value"):
        split_settings(["sparsity"])


def test_lists():
    assert split_names(" a, b ,") == ("a", "b")
    assert split_seeds("0,1, 2") == (0, 1, 2)
    with pytest.raises(ConfigError, match="the seeds are '0,x'"):
        split_seeds("0,x")


@given(st.lists(st.integers(min_value=0, max_value=10**6), min_size=1))
def test_seeds_come_back(seeds):
    assert split_seeds(",".join(map(str, seeds))) == tuple(seeds)
