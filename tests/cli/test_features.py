"""`diptych features`: every feature, as it is written, and whether it can be used here."""

import json

from typer.testing import CliRunner

from diptych.cli.main import app
from diptych.features import DEFAULT_FEATURES, check_available, describe_features, media_types


def feature_names(media_type: str) -> list[str]:
    """Every feature of a media type as it is written."""
    return [each["written"] for each in describe_features(media_type)]


def test_every_feature_is_listed(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    done = CliRunner().invoke(app, ["features"])
    assert done.exit_code == 0
    for media_type in media_types():
        assert f"--{media_type}-features" in done.output
        assert all(written in done.output for written in feature_names(media_type))


def test_json_says_the_same_and_whether_it_can_be_used() -> None:
    done = json.loads(CliRunner().invoke(app, ["features", "--json"]).output)
    assert done["default"] == DEFAULT_FEATURES
    rows = {(row["media_type"], row["written"]): row for row in done["features"]}
    assert set(rows) == {(media_type, written) for media_type in media_types() for written in feature_names(media_type)}
    for row in done["features"]:
        if row["installed"] and "PATH" not in row["written"]:
            check_available(row["media_type"], row["name"])


def test_what_is_not_installed_says_what_to_type(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("diptych.features.registry.find_spec", lambda name: None)
    output = CliRunner().invoke(app, ["features"]).output
    assert "default, but first: pip install 'diptych[text]'" in output
    assert "pip install 'diptych[multilingual]'" in output
