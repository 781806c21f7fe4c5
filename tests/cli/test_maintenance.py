"""`diptych verify`, `backup` and `restore`."""

import json
import shutil
from pathlib import Path

import pytest

from diptych.methods.model_folder import model_problems
from diptych.search import build_index
from search.gallery import make

FORMER = Path(__file__).parents[1] / "former"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with `dataset`, `model` and `index`."""
    folder = tmp_path_factory.mktemp("maintenance")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    return folder


@pytest.mark.parametrize("kind", ["index", "model", "dataset"])
def test_what_is_intact_is_said_to_be(kind, made, diptych) -> None:
    ended = diptych("verify", made / kind)
    assert (ended.status, ended.out) == (0, f"{made / kind}: the {kind} matches its checksums\n")
    assert json.loads(diptych("verify", made / kind, "--json").out) == {
        "folder": str(made / kind),
        "kind": kind,
        "problems": [],
    }


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("model", "weights.safetensors"),
        ("model", "pipeline/weights.safetensors"),
        ("dataset", "image.npy"),
        ("index", "model/weights.safetensors"),
    ],
)
def test_a_changed_byte_is_found(kind, file, made, tmp_path, diptych) -> None:
    folder = shutil.copytree(made / kind, tmp_path / kind)
    content = bytearray((folder / file).read_bytes())
    content[-2] ^= 4
    (folder / file).write_bytes(content)
    ended = diptych("verify", folder)
    assert ended.status == 1 and ended.out.strip()
    assert json.loads(diptych("verify", folder, "--json").out)["problems"]


def test_what_is_none_of_them_is_refused(tmp_path, diptych) -> None:
    ended = diptych("verify", tmp_path)
    assert (ended.status, ended.err) == (
        2,
        f"error: {tmp_path} holds no index, model or dataset; give the folder of one.\n",
    )


@pytest.mark.parametrize("model", sorted(path.name for path in (FORMER / "models").iterdir() if path.is_dir()))
def test_models_of_former_versions_are_intact(model) -> None:
    assert model_problems(FORMER / "models" / model) == []


def test_a_backup_becomes_an_index_again(made, tmp_path, diptych) -> None:
    ended = diptych("backup", made / "index", tmp_path / "kept.tar")
    assert ended.status == 0 and ended.err.startswith(f"backup: {tmp_path / 'kept.tar'} (")
    ended = diptych("restore", tmp_path / "kept.tar", tmp_path / "again")
    assert (ended.status, ended.err) == (0, f"index: {tmp_path / 'again'}\n")
    asked = "--text", "a red wall", "--json"
    one, two = (json.loads(diptych("search", index, *asked).out) for index in (made / "index", tmp_path / "again"))
    assert one["hits"] == two["hits"]
    assert diptych("restore", tmp_path / "kept.tar", tmp_path / "again").status == 2
    assert diptych("restore", tmp_path / "kept.tar", tmp_path / "again", "--overwrite").status == 0
