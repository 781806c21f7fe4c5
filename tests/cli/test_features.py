"""`diptych features`: every feature, as it is written, and whether it can be used here."""

import json

from typer.testing import CliRunner

from diptych.cli.main import app
from diptych.features import DEFAULT_FEATURES, check_available, feature_names, media


def test_every_feature_is_listed(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    done = CliRunner().invoke(app, ["features"])
    assert done.exit_code == 0
    for medium in media():
        assert f"--{medium}-features" in done.output
        assert all(written in done.output for written in feature_names(medium))


def test_json_says_the_same_and_whether_it_can_be_used() -> None:
    done = json.loads(CliRunner().invoke(app, ["features", "--json"]).output)
    assert done["default"] == DEFAULT_FEATURES
    rows = {(row["medium"], row["written"]): row for row in done["features"]}
    assert set(rows) == {(medium, written) for medium in media() for written in feature_names(medium)}
    for row in done["features"]:
        if row["installed"] and "PATH" not in row["written"]:
            check_available(row["medium"], row["name"])


def test_what_is_not_installed_says_what_to_type(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("diptych.features.registry.find_spec", lambda name: None)
    output = CliRunner().invoke(app, ["features"]).output
    assert "default, but first: pip install 'diptych[text]'" in output
    assert "pip install 'diptych[multilingual]'" in output
