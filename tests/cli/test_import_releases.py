"""The commands that import releases of pictures and texts."""

import tarfile

from diptych.data import Dataset
from ingest.conftest import write_pairs
from ingest.imitations import write_wikipedia

SMALL = ("--image-features", "colour-moments+visual-words:4", "--text-features", "bow:12", "--workers", 0)


def test_a_table_of_pairs_is_read_as_by_ingest(diptych, tmp_path) -> None:
    pairs = write_pairs(tmp_path / "raw")
    with tarfile.open(tmp_path / "raw" / "images.tar", "w") as archive:
        archive.add(tmp_path / "raw" / "images", "images")
    ended = diptych("import", "rsicd", tmp_path / "raw", "--out", tmp_path / "d", *SMALL)
    assert ended.status == 0, ended.err
    assert "30 found, in" in ended.err and "(tar)" in ended.err
    ended = diptych("ingest", pairs, "--images", tmp_path / "raw" / "images.tar", "--out", tmp_path / "e", *SMALL)
    assert ended.status == 0, ended.err
    assert Dataset.open(tmp_path / "d").fingerprint == Dataset.open(tmp_path / "e").fingerprint
    assert Dataset.open(tmp_path / "d").name == "rsicd"


def test_the_raw_wikipedia_set(diptych, tmp_path) -> None:
    release = write_wikipedia(tmp_path / "release")
    ended = diptych("import", "wikipedia-raw", release, "--out", tmp_path / "d", "--split", "seeded", *SMALL)
    assert ended.status == 0, ended.err
    assert "14 found, in" in ended.err and "read as" not in ended.err
    assert "8/2/4" in ended.out
    ended = diptych("import", "wikipedia-raw", release, "--out", tmp_path / "d", *SMALL)
    assert ended.status == 2 and "--overwrite" in ended.err
    ended = diptych("import", "wikipedia-raw", tmp_path, "--out", tmp_path / "e", *SMALL)
    assert ended.status == 2 and "holds no trainset_txt_img_cat.list; get" in ended.err
