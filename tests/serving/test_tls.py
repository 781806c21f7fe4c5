"""HTTPS with a certificate of one's own."""

import shutil
import socket
import ssl
import subprocess
import time

import httpx
import pytest

from diptych._core.errors import ConfigError
from diptych.search import build_index
from diptych.serving import ServingSettings, create_app
from diptych.serving.process import check_place
from search.gallery import make
from serving import fake_searcher
from serving.running_server import running


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate for localhost and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    made = {"tls_cert": str(folder / "cert.pem"), "tls_key": str(folder / "key.pem")}
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", made["tls_key"], "-out", made["tls_cert"], "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    return made


def test_it_is_served_by_https_alone(files, tmp_path) -> None:
    searcher = fake_searcher.filled(tmp_path)
    settings = ServingSettings(**files)
    with running(create_app(searcher, settings), settings) as address:
        secure = address.replace("http://127.0.0.1", "https://localhost")
        context = ssl.create_default_context(cafile=files["tls_cert"])
        with httpx.Client(verify=context, timeout=20) as client:
            assert client.get(f"{secure}/v1/search", params={"q": "red"}).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{address}/healthz", timeout=20)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{secure}/healthz", timeout=20)  # a certificate that nobody vouches for


def test_a_handshake_that_does_not_come_is_given_up(files, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("asyncio.constants.SSL_HANDSHAKE_TIMEOUT", 1.0)
    settings = ServingSettings(**files)
    with running(create_app(fake_searcher.filled(tmp_path), settings), settings) as address:
        silent = socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=20)
        started = time.monotonic()
        assert silent.recv(1) == b"" and time.monotonic() - started < 10
        silent.close()


def test_files_that_cannot_be_used_are_told_before_anything_is_started(files, tmp_path) -> None:
    build_index(tmp_path / "model", make(tmp_path, components=4), tmp_path / "index", projection="none")

    def check(**settings) -> None:
        check_place(tmp_path / "index", ServingSettings(**settings), "127.0.0.1", 0)

    check(**files, snapshots=str(tmp_path / "backups"), audit_log=str(tmp_path / "audit.jsonl"))
    assert (tmp_path / "backups").is_dir()
    with pytest.raises(ConfigError, match="cannot be used"):
        check(tls_cert=files["tls_key"], tls_key=files["tls_cert"])
    with pytest.raises(ConfigError, match="No such file"):
        check(tls_cert=files["tls_cert"], tls_key=str(tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match="there is no folder"):
        check(audit_log=str(tmp_path / "none" / "audit.jsonl"))
