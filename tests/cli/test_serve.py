"""`diptych serve` says what it needs, before anything is started."""

import socket

import pytest
from typer.testing import CliRunner

from diptych.cli.main import app
from diptych.cli.serve import _address, _is_loopback
from diptych.errors import ConfigError, DataError

pytest.importorskip("fastapi")


def test_a_folder_that_is_no_index_is_refused(tmp_path) -> None:
    result = CliRunner().invoke(app, ["serve", str(tmp_path)])
    assert isinstance(result.exception, DataError)
    assert "is no index" in str(result.exception)


def test_equal_keys_are_refused_and_keys_come_from_the_environment(tmp_path) -> None:
    keys = {"DIPTYCH_READ_KEY": "same", "DIPTYCH_WRITE_KEY": "same"}
    result = CliRunner().invoke(app, ["serve", str(tmp_path)], env=keys)
    assert isinstance(result.exception, ConfigError)
    assert "are the same" in str(result.exception)


def test_a_port_that_is_taken_is_told(tmp_path, monkeypatch) -> None:
    from diptych.search import Searcher

    class Nothing:
        def close(self) -> None: ...

    monkeypatch.setattr(Searcher, "open", lambda place, **_: Nothing())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["serve", str(tmp_path), "--port", str(port)])
    assert f"cannot listen at 127.0.0.1, port {port}" in str(result.exception)


def test_addresses_are_ones_a_browser_can_open() -> None:
    assert _address("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert _address("::1", 8000) == "http://[::1]:8000"
    assert _is_loopback("127.0.0.1") and _is_loopback("localhost") and not _is_loopback("0.0.0.0")
