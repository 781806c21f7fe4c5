"""The web page over 100,000 items: time to the first result, bytes transferred, and time spent in scripts.

Similar to Lighthouse, but against a local server: Chromium opens the page with an empty cache for every figure, after
it has been opened twice to warm up the server and the browser process. On a busy machine,
`chrt -r 10 python -m benchmarks page` gives the server and the browser priority; the result says so. The items are
coloured squares with an image and a text each; their vectors are those of a small index plus noise. Needs Chromium
and playwright. DIPTYCH_BENCH_PAGE_ITEMS sets the number of items, DIPTYCH_BENCH_PAGE_INDEX the folder that keeps
their index for the next run.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import build_index
from diptych.search.browse.projection import Projection, write_projection
from diptych.search.generation import Generation
from diptych.search.media_store import StoredFile, content_hash
from diptych.serving.routes.page import page_files

ITEMS = int(os.environ.get("DIPTYCH_BENCH_PAGE_ITEMS", "100000"))
COLOURS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (40, 60, 200), "grey": (128, 128, 128)}
THINGS = ("wall", "cloth", "paper", "tile", "door", "book", "cup", "chair")
ROUNDS, BATCH = 5, 10_000
PORT = 8799
WATCH = """
window.__long = [];
new PerformanceObserver((list) => window.__long.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask", buffered: true });
const seen = new MutationObserver(() => {
    const card = document.querySelector("#results .card:not(.skeleton)");
    if (card && !window.__first) requestAnimationFrame(() => (window.__first ??= performance.now()));
});
document.addEventListener("DOMContentLoaded", () => seen.observe(document.body, { childList: true, subtree: true }));
"""
ASK = """() => new Promise((done) => {
    const start = performance.now();
    const seen = new MutationObserver(() => {
        if (!document.querySelector(".foot-line")) return;
        seen.disconnect();
        requestAnimationFrame(() => done(performance.now() - start));
    });
    seen.observe(document.body, { childList: true, subtree: true });
    document.querySelector("#query").requestSubmit();
})"""
SCROLL = """async () => {
    const frames = [];
    let before = performance.now();
    for (let turn = 0; turn < 120; turn += 1) {
        window.scrollBy(0, 240);
        await new Promise((done) => requestAnimationFrame(done));
        frames.push(performance.now() - before);
        before = performance.now();
    }
    return [frames, document.querySelectorAll("#results > li").length];
}"""


MOVE_MAP = """async () => {
    const frames = [], map = document.querySelector("#map");
    for (let turn = 0; turn < 30; turn += 1) {
        const before = performance.now();
        map.dispatchEvent(new KeyboardEvent("keydown", { key: turn % 2 ? "ArrowLeft" : "ArrowRight" }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        frames.push(performance.now() - before);
    }
    return frames;
}"""


def run() -> dict[str, Any]:
    """Build the index, open the page again and again, and return the figures."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return {"skipped": "there is no Chromium"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("DIPTYCH_BENCH_PAGE_INDEX", scratch))
        if not (folder / "index").exists():
            build(folder)
        command = [sys.executable, "-m", "diptych.cli", "serve", str(folder / "index"), "--port", str(PORT)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return {"items": ITEMS, "scheduling": scheduling(), **measured(browser, f"http://127.0.0.1:{PORT}")}
        finally:
            server.terminate()
            server.wait()


def scheduling() -> str:
    """How the processes of this benchmark are scheduled beside others."""
    kind = os.sched_getscheduler(0) if hasattr(os, "sched_getscheduler") else None
    return "before other processes" if kind is not None and kind != os.SCHED_OTHER else "as other processes"


def page_sizes() -> dict[str, float]:
    """All files of the page together, whatever a visit loads, in kilobytes: as they are and as they are sent."""
    files = page_files().values()
    return {
        "all_files_kb": sum(len(file.content) for file in files) / 1000,
        "all_files_gzip_kb": sum(len(file.packed) for file in files) / 1000,
    }


def build(folder: Path) -> None:
    """A small index that is really built, and then filled up with copies of its items."""
    small = folder / "small"
    (small / "images").mkdir(parents=True)
    random = np.random.default_rng(0)
    rows = []
    for colour, value in COLOURS.items():
        for number in range(32):
            name = f"{colour}-{number:02d}"
            field = np.clip(np.array(value) + random.normal(0, 20, (64, 64, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(field).save(small / "images" / f"{name}.png")
            text = f"a {colour} {THINGS[number % 8]} in the light"
            split = ("train", "train", "val", "test")[number % 4]
            rows.append({"id": name, "image": f"images/{name}.png", "text": text, "label": colour, "split": split})
    (small / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    features = {"image": "colour-moments", "text": "bow:60"}
    dataset = ingest(IngestOptions(small / "pairs.jsonl", small / "dataset", features=features, name="fields")).dataset
    save_model(create("cca", components=8).fit(dataset), small / "model")
    build_index(small / "model", dataset, folder / "index", projection="none")
    generation = Generation(folder / "index", writable=True)
    fill(generation, folder / "index", random)
    generation.retire()


def fill(generation: Generation, folder: Path, random: np.random.Generator) -> None:
    """Add copies of the first items, each with a little noise, until there are enough."""
    assert generation.texts is not None
    sides = {name: generation.index.list_ids(modality=name, limit=1000) for name in ("image", "text")}
    images = [item for item in generation.index.get(sides["image"]) if item is not None]
    texts = [item for item in generation.index.get(sides["text"]) if item is not None]
    words = [item for item in generation.texts.index.get(sides["text"]) if item is not None]
    small = [generation.thumbnail(item.id) or b"" for item in images]
    missing = ITEMS - len(images)
    for start in range(0, missing, BATCH):
        names = [f"copy-{number:06d}" for number in range(start, min(start + BATCH, missing))]
        places = random.integers(0, len(images), len(names))
        known = [{**texts[at].metadata, "item": name, "document": name} for name, at in zip(names, places, strict=True)]
        for side, items in (("image", images), ("text", texts)):
            rows = np.stack([items[at].vector for at in places])
            rows = rows + random.normal(0, 0.15 / np.sqrt(rows.shape[1]), rows.shape)
            about = known
            if side == "image":
                hashes = [content_hash(small[at]) for at in places]
                about = [one | {"media": hash} for one, hash in zip(known, hashes, strict=True)]
                generation.store.put(
                    StoredFile(f"image:{name}", hash, small[at])
                    for name, hash, at in zip(names, hashes, places, strict=True)
                )
            generation.index.update([f"{side}:{name}" for name in names], rows, modality=side, metadata=about)
        generation.texts.index.update(
            [f"text:{name}" for name in names],
            np.stack([words[at].vector for at in places]),
            modality="text",
            metadata=known,
            words=[one["text"] for one in known],
        )
    generation.index.optimise()
    ids = generation.index.list_ids(modality="image", limit=2 * ITEMS)
    labels = [None if item is None else item.metadata.get("label") for item in generation.index.get(ids)]
    positions = random.normal(0, 0.3, (len(ids), 2)).clip(-1, 1).astype(np.float32)
    write_projection(Projection("pca", ids, ["image"] * len(ids), labels, positions), folder)


def measured(browser: str, address: str) -> dict[str, Any]:
    """Open the page in every way that counts."""
    from playwright.sync_api import sync_playwright

    ready(address)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=browser, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        visits = [visit(chromium, f"{address}/?q=red+wall") for _ in range(ROUNDS + 2)][2:]
        start = [visit(chromium, f"{address}/") for _ in range(ROUNDS)]
        asked = [question(chromium, address) for _ in range(ROUNDS)]
        frames, cards = scrolled(chromium, f"{address}/")
        map_ms, paint_ms = mapped(chromium, f"{address}/?view=explore")
        chromium.close()
    return {
        "first_result_ms": statistics.median(one["first"] for one in visits),
        "first_result_worst_ms": max(one["first"] for one in visits),
        "start_first_item_ms": statistics.median(one["first"] for one in start),
        "asked_first_result_ms": statistics.median(asked),
        "transfer_kb": visits[-1]["transferred"] / 1000,
        "page_files_kb": visits[-1]["files"] / 1000,
        "requests": visits[-1]["requests"],
        "long_tasks_ms": statistics.median(one["long"] for one in visits),
        "layout_shift": max(one["shift"] for one in visits),
        "scroll_frame_median_ms": statistics.median(frames),
        "scroll_frame_95_ms": float(np.quantile(frames, 0.95)),
        "scroll_cards_in_document": cards,
        "map_first_painted_ms": map_ms,
        "map_frame_ms": paint_ms,
        **page_sizes(),
    }


def ready(address: str) -> None:
    """Wait until the server has read the index, and ask it once."""
    for _ in range(240):
        try:
            if httpx.get(f"{address}/v1/browse?k=1", timeout=60).status_code == 200:
                break
        except httpx.HTTPError:
            time.sleep(0.5)
    httpx.post(f"{address}/v1/search", json={"parts": [{"kind": "text", "text": "blue"}], "k": 5}, timeout=60)


def opened(chromium: Any) -> Any:  # noqa: ANN401 - playwright is not imported here
    """A fresh profile with a usual window."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, locale="en")
    context.set_default_timeout(120_000)
    return context


def visit(chromium: Any, address: str) -> dict[str, float]:  # noqa: ANN401 - playwright has no types here
    """Open an address in a fresh profile and wait for the first card."""
    context = opened(chromium)
    page = context.new_page()
    page.add_init_script(WATCH)
    files: list[int] = []
    page.on("response", lambda one: ("/page/" in one.url or one.url == address) and files.append(len(one.body())))
    page.goto(address)
    first = page.wait_for_function("() => window.__first").json_value()
    page.wait_for_load_state("networkidle", timeout=120_000)
    resources = page.evaluate(
        "() => [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
        ".map((one) => one.transferSize)"
    )
    shift = page.evaluate(
        "() => new Promise((done) => { let sum = 0; new PerformanceObserver((list) => { for (const one of "
        "list.getEntries()) sum += one.value; }).observe({ type: 'layout-shift', buffered: true }); "
        "setTimeout(() => done(sum), 100); })"
    )
    long = sum(page.evaluate("() => window.__long"))
    context.close()
    return {
        "first": first,
        "transferred": sum(resources),
        "requests": len(resources),
        "long": long,
        "shift": shift,
        "files": sum(files),
    }


def question(chromium: Any, address: str) -> float:  # noqa: ANN401
    """Type words on a page that is open: milliseconds from Enter to the first ranked card."""
    context = opened(chromium)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#results .card:not(.skeleton)")
    page.fill("#words", "green cloth")
    taken = page.evaluate(ASK)
    context.close()
    return float(taken)


def scrolled(chromium: Any, address: str) -> tuple[list[float], int]:  # noqa: ANN401
    """The times of frames while the list is scrolled, and how many cards are in the document then."""
    context = opened(chromium)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#results .card:not(.skeleton)")
    page.wait_for_load_state("networkidle", timeout=120_000)
    frames, cards = page.evaluate(SCROLL)
    context.close()
    return frames, cards


def mapped(chromium: Any, address: str) -> tuple[float, float]:  # noqa: ANN401
    """Milliseconds until the map of all items is painted, and of the frames while it is moved."""
    context = opened(chromium)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#map[data-names]", timeout=60_000)
    taken = page.evaluate("() => performance.now()")
    frames = page.evaluate(MOVE_MAP)
    context.close()
    return float(taken), statistics.median(frames)
