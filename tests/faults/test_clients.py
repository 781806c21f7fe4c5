"""Clients that upload large images, send slowly, or do not read: the server stays small and others are answered."""

import io
import resource
import shutil
import socket
import threading
import time
from contextlib import suppress

import httpx
import psutil
import pytest
from PIL import Image

from diptych.search import NewItem, Searcher
from faults.clients import Load, searching
from faults.programs import serving
from media.test_memory import jpeg2000_of, jpeg_of_scans, tiff_of_strips
from search.gallery import png
from serving.test_uploads import encoded

MOST_GROWTH_MB = 512
HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_BODY = (
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
)


def saved(image, kind, **options):
    """The bytes of an image file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def uploads():
    """Requests by name: the images of each."""
    small = [encoded((2_000, 2_000), mode) for mode in ("1", "RGB", "P", "RGBA")] * 4
    noise = saved(Image.effect_noise((4_400, 4_400), 90), "PNG", compress_level=0)
    progressive = saved(Image.new("RGB", (7_000, 7_000)), "JPEG", progressive=True, subsampling=0)
    frames = [Image.new("P", (3_000, 3_000), colour) for colour in range(8)]
    animated = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    yield "49,000,000 × 1", [[encoded((49_000_000, 1))]] * 8
    yield "7,000 × 7,000", [[encoded((7_000, 7_000))], [encoded((7_000, 7_000), "RGBA")]] * 4
    yield (
        "WebP and JPEG 2000",
        [
            [encoded((4_300, 4_300), "RGB", "WEBP")],
            [encoded((3_500, 3_500), "RGB", "JPEG2000")],
        ]
        * 3,
    )
    yield (
        "TIFF and animated GIF",
        [[saved(Image.new("RGB", (6_000, 6_000)), "TIFF", compression="tiff_lzw")], [animated]],
    )
    yield "progressive JPEG", [[progressive]] * 4
    yield "very many parts", [[jpeg2000_of(1_000, precinct=1)], [jpeg_of_scans(5_000)], [tiff_of_strips(4_000_000)]] * 3
    yield "16 small ones each", [small] * 12
    yield "20 MB of noise", [[noise]] * 12


@pytest.mark.faults(
    "uploads that decode to gigabytes, up to 12 clients at once",
    f"the server grows by less than {MOST_GROWTH_MB} MB and releases the memory",
)
def test_uploads(world, tmp_path, noted):
    statuses = []
    with serving(world / "index", tmp_path / "log") as server:

        def ask(images):
            files = [("image", (str(number), data)) for number, data in enumerate(images)]
            statuses.append(httpx.post(f"{server.address}/v1/search", files=files, timeout=600).status_code)

        for _ in range(3):
            ask([png("red", "warm")])
        before = server.megabytes()
        server.forget_peak()
        with Load(server.address, [searching()], pause_s=0.02) as others:
            for _, requests in uploads():
                threads = [threading.Thread(target=ask, args=(images,)) for images in requests]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        grown, kept = server.megabytes("VmHWM") - before, server.megabytes() - before
    noted(
        len(statuses),
        f"grew by at most {grown:.0f} MB, kept {kept:.0f} MB; text searches took at most {max(others.waits):.1f} s",
    )
    assert set(statuses) <= {200, 413, 503} and set(others.statuses) == {200}
    assert grown < MOST_GROWTH_MB and kept < 150 and max(others.waits) < 5


class Connections:
    """Connections that stay open, as many as the system allows."""

    def __init__(self, port):
        self._port, self._opened = port, []
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limits = soft, hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))

    def open(self, count, data):
        """Open so many more, and send the same on each."""
        for _ in range(count):
            with suppress(OSError):
                opened = socket.create_connection(("127.0.0.1", self._port), timeout=10)
                self._opened.append(opened)
                opened.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for opened in self._opened:
            opened.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, self._limits)


@pytest.mark.faults(
    "1,500 half-sent headers, then 1,500 half-sent bodies, at `ulimit -n 256`",
    "other requests are answered within 5 s, the log stays short, the process idles",
)
def test_slow_senders(world, tmp_path, noted):
    with serving(world / "index", tmp_path / "log", descriptors=256) as server:
        watched, waits = psutil.Process(server.process.pid), []
        with Connections(server.port) as attackers:
            for data in (HALF_HEAD, HALF_BODY):
                attackers.open(1_500, data)
                for _ in range(10):
                    started = time.monotonic()
                    answer = httpx.get(f"{server.address}/v1/search", params={"q": "red"}, timeout=60)
                    waits.append(time.monotonic() - started)
                    assert answer.status_code == 200
            watched.cpu_percent()
            time.sleep(5)
            busy, descriptors = watched.cpu_percent(), watched.num_fds()
        size = server.log.stat().st_size
    found = f"the slowest took {max(waits):.1f} s; {descriptors} descriptors, {busy:.0f} % CPU, {size:,} bytes of log"
    noted(3_000, found)
    assert max(waits) < 5 and busy < 60 and size < 20_000 and descriptors < 256


@pytest.mark.faults(
    "150 requests for a 15 MB image whose clients never read the response",
    f"the server grows by less than {MOST_GROWTH_MB} MB and releases the memory within a minute",
)
def test_slow_readers(world, tmp_path, noted):
    index = shutil.copytree(world / "index", tmp_path / "index")
    with Searcher.open(index, writable=True) as searcher:
        large = saved(Image.effect_noise((3_900, 3_900), 90), "PNG", compress_level=0)
        searcher.add([NewItem("large", "image", large, {})])
    asked = b"GET /v1/media/large?size=original HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(index, tmp_path / "log") as server:
        assert len(httpx.get(f"{server.address}/v1/media/large?size=original").content) == len(large)
        before = server.megabytes()
        server.forget_peak()
        with Connections(server.port) as attackers, Load(server.address, [searching()], pause_s=0.02) as others:
            attackers.open(150, asked)
            time.sleep(5)
            end = time.monotonic() + 60
            while server.megabytes() - before > 100 and time.monotonic() < end:
                time.sleep(0.5)
            kept = server.megabytes() - before
        grown = server.megabytes("VmHWM") - before
    noted(150, f"grew by at most {grown:.0f} MB, kept {kept:.0f} MB")
    assert grown < MOST_GROWTH_MB and kept < 150 and set(others.statuses) == {200}
