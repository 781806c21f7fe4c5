"""Images that are small as files and large as pixels: refused by their header, or decoded in little memory."""

import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from PIL import Image

from diptych.search import Query, QueryPart
from diptych.serving import ServingSettings
from diptych.serving.errors import Problem
from diptych.serving.requests import check_file
from diptych.serving.service import _within

MOST_GROWTH_MB = 512
SERVE = """
import sys
from pathlib import Path
from diptych.serving import ServingSettings
from diptych.serving.process import serve_index
serve_index(Path(sys.argv[1]), ServingSettings(), "127.0.0.1", int(sys.argv[2]))
"""


def encoded(size: tuple[int, int], mode: str = "1", kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize(
    ("size", "kind", "said"),
    [
        ((49_000_000, 1), "PNG", "a side may have 30,000 at most"),
        ((1, 30_001), "PNG", "a side may have 30,000 at most"),
        ((7_100, 7_100), "PNG", "at most 50,000,000 are allowed"),
        ((5_000, 4_000), "WEBP", "of its format at most 18,750,000 are allowed"),
    ],
)
def test_a_header_is_enough_to_refuse(size, kind, said) -> None:
    data = encoded(size, "RGB" if kind == "WEBP" else "1", kind)
    with pytest.raises(Problem, match=said) as refused:
        check_file("image", data, ServingSettings())
    assert (refused.value.status, refused.value.code) == (413, "too_many_pixels")


def test_the_pixels_that_will_be_decoded_are_known() -> None:
    assert check_file("image", encoded((100, 80)), ServingSettings()) == 8_000
    assert check_file("image", encoded((7_000, 7_000)), ServingSettings()) == 7_000**2 // 13**2


@pytest.mark.parametrize(
    ("costs", "groups"),
    [
        ([], []),
        ([0, 0, 0], [[0, 1, 2]]),
        ([5, 5, 1], [[0, 1], [2]]),
        ([20, 1], [[0], [1]]),
        ([4, 7, 3, 9], [[0], [1, 2], [3]]),
    ],
)
def test_queries_are_answered_in_groups_that_fit_into_memory(costs, groups) -> None:
    assert _within(dict(enumerate(costs)), 10) == groups


@pytest.mark.slow
def test_large_images_of_several_people_are_not_decoded_together(serve, searcher) -> None:
    searcher.pause = 0.2
    client = serve()
    data = encoded((1_000, 1_000), "RGB")
    asked = ("POST", "/v1/search", {"files": [("image", (f"{number}", data)) for number in range(12)]})
    assert {answer.status_code for answer in client.together(*[asked] * 6)} == {200}
    shown = [sum(isinstance(part.value, bytes) for part in query.parts) for query in searcher.asked]
    assert sum(shown) == 72 and max(searcher.batches) <= 2
    assert isinstance(searcher.asked[0], Query) and isinstance(searcher.asked[0].parts[0], QueryPart)


@contextmanager
def served(index: Path):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    running = subprocess.Popen([sys.executable, "-c", SERVE, str(index), str(port)], env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            assert running.poll() is None
            try:
                if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield running.pid, address
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


def megabytes(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure")
def test_the_server_stays_small_whatever_is_uploaded(tmp_path) -> None:
    from diptych.search import build_index
    from search.gallery import make, png

    build_index(tmp_path / "model", make(tmp_path, components=4), tmp_path / "index")
    with served(tmp_path / "index") as (pid, address):

        def ask(*images: bytes) -> int:
            files = [("image", (str(number), data)) for number, data in enumerate(images)]
            return httpx.post(f"{address}/v1/search", files=files, timeout=600).status_code

        def together(*requests) -> set[int]:
            statuses: list[int] = []
            threads = [threading.Thread(target=lambda one=one: statuses.append(ask(*one))) for one in requests]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return set(statuses)

        for _ in range(3):
            assert ask(png("red", "warm")) == 200
        before = megabytes(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        assert together([encoded((49_000_000, 1))]) == {413}
        assert together([encoded((7_000, 7_000))], [encoded((7_000, 7_000), "RGBA")]) == {200}
        assert together([encoded((4_300, 4_300), "RGB", "WEBP")], [encoded((3_500, 3_500), "RGB", "JPEG2000")]) == {200}
        slow = io.BytesIO()
        Image.new("RGB", (7_000, 7_000)).save(slow, "JPEG", progressive=True, subsampling=0)
        assert together([slow.getvalue()]) == {200}
        assert megabytes(pid, "VmRSS") - before < 100  # what was decoded has been given back
        many = [encoded((2_000, 2_000), mode) for mode in ("1", "RGB", "P", "RGBA")] * 4
        assert together(*[many] * 12) <= {200, 503}
        noise = io.BytesIO()
        Image.effect_noise((4_400, 4_400), 90).save(noise, "PNG", compress_level=0)
        assert together(*[[noise.getvalue()]] * 8) <= {200, 503}
        grown = megabytes(pid, "VmHWM") - before
        assert httpx.get(f"{address}/v1/search", params={"q": "red"}).status_code == 200
    assert grown < MOST_GROWTH_MB, f"grown by {grown:.0f} MB from {before:.0f} MB"
