"""The worked examples of CONTRIBUTING, applied to a copy of the source tree: they work and touch no other file."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from docs.pages import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<language>python|diff|js) file=(?P<file>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)

TRY_OUT = """
import json, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
import diptych, synthetic
from diptych.export import export_model
from diptych.features import make_feature
from diptych.index import EmbedderId, Identity, create_index, engines, open_index
from diptych.methods import create, load_model, names, save_model
from diptych.experiments import evaluate_model

folder = Path(sys.argv[2])
dataset = synthetic.write(folder / "dataset", synthetic.draft(counts_text=False))
model = create("class-means").fit(dataset)
save_model(model, folder / "model")
exported = export_model(folder / "model", folder / "exported")
rows = dataset.split("test").having("image").features("image")
graph = load_model(folder / "exported").embed("image", rows)
image = np.zeros((4, 6, 3), dtype=np.uint8)
image[:, :3] = [255, 0, 51]
identity = Identity(EmbedderId("class-means", "0" * 32), 2)
index = create_index("toy", identity, engine="memory")
known = [{"n": 1}, {}, {"n": 2}]
index.add(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]], modality=["image", "text", "image"], metadata=known)
found = open_index("toy", engine="memory").search([1, 0.2], 2, where="n >= 1")[0]
print(json.dumps({
    "listed": "class-means" in names() and "memory" in engines() and diptych.ClassMeans is type(model),
    "map": evaluate_model(load_model(folder / "model"), dataset).average_map,
    "chance": evaluate_model(create("chance").fit(dataset), dataset).average_map,
    "graph": float(np.abs(graph - model.embed("image", rows)).max()),
    "colour": make_feature("image", "mean-colour").fit([])([image])[0].tolist(),
    "found": list(found.ids),
}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources with all that the page adds."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for block in BLOCK.finditer(PAGE):
        path = root / block["file"]
        if block["language"] != "diff":
            path.parent.mkdir(parents=True, exist_ok=True)
            assert not path.exists(), f"{block['file']} is there already"
            path.write_text(block["code"], encoding="utf-8")
        else:
            path.write_text(added(path.read_text(encoding="utf-8"), block["code"]), encoding="utf-8")
    return root


def added(text: str, diff: str) -> str:
    """Insert the lines that begin with + after the line of context above them, which must stand there once."""
    lines, place = text.splitlines(), None
    for line in diff.splitlines():
        if line.startswith("+"):
            lines.insert(place, line[1:])
            place += 1
        else:
            assert lines.count(line[1:]) == 1, f"{line!r} is no single line of the file"
            place = lines.index(line[1:]) + 1
    return "\n".join(lines) + "\n"


def test_the_examples_work(tree, tmp_path) -> None:
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", TRY_OUT, str(ROOT / "tests"), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["listed"]
    assert told["map"] > 2 * told["chance"]
    assert told["graph"] < 1e-5
    assert told["colour"] == pytest.approx([0.5, 0.0, 0.1])
    assert told["found"] == ["a", "c"]


KIND = """
import json, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
from diptych.ingest import IngestOptions, ingest, understand
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index
from diptych.serving import ServingSettings, create_app
from serving.asgi_client import AsgiClient

folder = Path(sys.argv[2])
(folder / "raw").mkdir()


def points(kind, seed):
    shape = {"flat": (5, 5, 0.1), "tall": (0.3, 0.3, 9)}[kind]
    drawn = np.random.default_rng(seed).normal(0, shape, (40, 3)).astype("<f4")
    return b"PTS1" + drawn.tobytes()


rows = []
for number in range(40):
    kind = ("flat", "tall")[number % 2]
    name = f"{number}.pts"
    (folder / "raw" / name).write_bytes(points(kind, number))
    rows.append({"scan": name if number != 3 else "", "text": f"a {kind} thing of number {number}", "label": kind})
(folder / "raw" / "5.pts").write_bytes(points("tall", 5)[:-3])
(folder / "raw" / "things.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
table = folder / "raw" / "things.jsonl"
understood = understand(table)
made = ingest(IngestOptions(table, folder / "dataset", features={"points": "extent", "text": "bow:30"}))
save_model(create("sm").fit(made.dataset), folder / "model")
build_index(folder / "model", made.dataset, folder / "index")
with Searcher.open(folder / "index") as searcher:
    by_words = searcher.search(text="a tall thing", into="points", k=5)
    drawn = searcher.thumbnail(by_words.hits[0].id)[:4].hex()
    app = create_app(searcher, ServingSettings())
    client = AsgiClient(app)
    asked = client("POST", "/v1/search", files={"points": ("x.pts", points("flat", 99))}, data={"query": '{"k": 5}'})
    wrong = client("POST", "/v1/search", files={"points": ("x.pts", b"hello")})
    page = client("GET", "/page/points.js").status_code
    client.close()
print(json.dumps({
    "columns": {use.column: use.part for use in understood.columns},
    "items": {name: modality.items for name, modality in made.dataset.modalities.items()},
    "problems": [str(problem) for problem in made.report.problems],
    "by_words": [hit.metadata["label"] for hit in by_words.hits],
    "drawn": drawn,
    "asked": [hit["metadata"]["label"] for hit in asked.json()["hits"]],
    "wrong": [wrong.status_code, wrong.json()["error"]["message"]],
    "page": page,
}))
"""


def test_a_new_kind_of_media_is_known_everywhere(tree, tmp_path) -> None:
    """The kind of the example goes from files of a table to a search and a server, with no other file touched."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", KIND, str(ROOT / "tests"), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["columns"] == {"scan": "points", "text": "text", "label": "label"}
    assert told["items"] == {"points": 38, "text": 40}
    assert told["problems"] == ["5.pts: not a set of points: the mark is missing, or the file is cut off"]
    assert told["by_words"] == ["tall"] * 5 and told["asked"].count("flat") >= 4
    assert told["drawn"] == b"\x89PNG".hex()
    assert told["wrong"] == [422, "the file is no set of points this server can read."]
    assert told["page"] == 200


def test_they_touch_the_files_that_the_page_names(tree) -> None:
    """Every file of an example is named in the list above it, by itself or by its place and a name to choose."""
    for block in BLOCK.finditer(PAGE):
        file = block["file"]
        if block["language"] == "diff":
            assert f"`{file}`" in PAGE, file
        else:
            folder = file.rpartition("/")[0].replace("methods/semantic", "methods/FAMILY")
            folder = folder.replace("features/points", "features/your_kind")
            assert re.search(rf"`{folder}/your_\w+\.(py|js)`", PAGE), file
    changed = {block["file"] for block in BLOCK.finditer(PAGE)}
    for path in sorted((tree / "src").rglob("*.py")):
        name = str(path.relative_to(tree))
        original = ROOT / name
        if name not in changed:
            assert original.read_bytes() == path.read_bytes(), f"{name} was changed too"


def test_the_table_of_packages_is_complete() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "diptych").glob("*/__init__.py")}
    assert {package for package in packages if f"| `{package}` |" in PAGE} == packages
