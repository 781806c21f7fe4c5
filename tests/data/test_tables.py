"""Tables of every format: what can be read is read, and each line that cannot says why."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError, DataError
from diptych.data.table_files import read_table
from diptych.data.tables import csv_records


def cells(table):
    return [row.cells for row in table.rows]


def test_all_formats_give_the_same_rows(tmp_path) -> None:
    rows = [{"image": "a.jpg", "text": 'say "hi", twice'}, {"image": "b.jpg", "text": None}]
    (tmp_path / "t.csv").write_text('image,text\na.jpg,"say ""hi"", twice"\n\nb.jpg,\n')
    (tmp_path / "s.csv").write_text('image;text\na.jpg;"say ""hi"", twice"\nb.jpg;\n')
    (tmp_path / "t.tsv").write_text('image\ttext\na.jpg\t"say ""hi"", twice"\nb.jpg\t\n')
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    for path in tmp_path.iterdir():
        table = read_table(path)
        assert cells(table) == rows, path
        assert table.columns == ("image", "text") and not table.problems


def test_a_quoted_cell_may_span_lines(tmp_path) -> None:
    (tmp_path / "t.csv").write_text('image,text\na.jpg,"one\ntwo"\nb.jpg,three\n')
    table = read_table(tmp_path / "t.csv")
    assert [(row.number, row.cells["text"]) for row in table.rows] == [(2, "one\ntwo"), (4, "three")]


@pytest.mark.parametrize("later", ["d.jpg,plain", 'd.jpg,"quoted, text"'])
def test_a_broken_quote_costs_its_line_and_no_other(tmp_path, later) -> None:
    (tmp_path / "t.csv").write_text(f'image,text\na.jpg,one\nb.jpg,"broken\nc.jpg,three\n{later}\n')
    table = read_table(tmp_path / "t.csv")
    assert [row.cells["image"] for row in table.rows] == ["a.jpg", "c.jpg", "d.jpg"]
    assert [str(problem) for problem in table.problems] == ["t.csv, line 3: has a quote that is not closed"]


def test_a_line_of_another_width_is_listed(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("image,text\na.jpg,one\nb.jpg\nc.jpg,a,b\nd.jpg,four\n")
    table = read_table(tmp_path / "t.csv")
    assert [row.cells["image"] for row in table.rows] == ["a.jpg", "d.jpg"]
    assert [problem.where for problem in table.problems] == ["t.csv, line 3", "t.csv, line 4"]
    assert table.problems[0].reason == "has 1 cells where there are 2 columns"


def test_mixed_encodings_harm_no_neighbour(tmp_path) -> None:
    lines = [b"\xef\xbb\xbfimage,text", "a.jpg,été".encode(), "b.jpg,hôtel".encode("cp1252"), "c.jpg,東京".encode()]
    (tmp_path / "t.csv").write_bytes(b"\r\n".join(lines))
    table = read_table(tmp_path / "t.csv")
    assert [row.cells["text"] for row in table.rows] == ["été", "hôtel", "東京"]
    (problem,) = table.problems
    assert problem.kind == "note" and problem.where == "t.csv, line 3" and "Windows-1252" in problem.reason


def test_a_named_encoding_is_taken_at_its_word(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes("image,text\na.jpg,東京\n".encode("gb18030"))
    assert cells(read_table(tmp_path / "t.csv", "gb18030")) == [{"image": "a.jpg", "text": "東京"}]
    with pytest.raises(DataError, match="is not ascii text"):
        read_table(tmp_path / "t.csv", "ascii")
    with pytest.raises(ConfigError, match="the encoding 'klingon' is unknown"):
        read_table(tmp_path / "t.csv", "klingon")


def test_utf16_is_known_by_its_mark(tmp_path) -> None:
    (tmp_path / "t.tsv").write_text("image\ttext\na.jpg\tété\n", encoding="utf-16")
    assert cells(read_table(tmp_path / "t.tsv")) == [{"image": "a.jpg", "text": "été"}]


def test_broken_json_lines_are_listed(tmp_path) -> None:
    separator = json.dumps({"image": "d.jpg", "text": "a\u2028b"}, ensure_ascii=False)
    (tmp_path / "t.jsonl").write_text(f'{{"image": "a.jpg"}}\n{{"image": \n[1]\n\n{separator}\n', encoding="utf-8")
    table = read_table(tmp_path / "t.jsonl")
    assert [row.number for row in table.rows] == [1, 5]
    assert table.rows[1].cells["text"] == "a\u2028b"
    assert table.columns == ("image", "text")
    reasons = [problem.reason for problem in table.problems]
    assert reasons[0].startswith("is not valid JSON") and reasons[1] == "holds a list, no object"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xlsx", b"x", "does not end like a table"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"image,text\n", "holds no row that can be read"),
        ("t.jsonl", b"{", r"holds no row that can be read \(t.jsonl, line 1: is not valid JSON"),
        ("t.parquet", b"PAR1", "cannot be read as Parquet"),
        ("t.parquet", b"", "cannot be read as Parquet"),
    ],
)
def test_a_table_without_rows_is_an_error(tmp_path, name, content, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / name)


CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=12))
def test_records_are_those_of_the_standard_library(rows) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    lines = list(io.StringIO(written.getvalue(), newline=""))
    assert [cells for _, cells in csv_records(iter(lines), ",")] == rows
    assert next(csv_records(lines, ","))[0] == 1


def test_records_are_read_as_they_are_needed_and_a_broken_quote_costs_one_line() -> None:
    def lines():
        yield from ("a,b\n", '"open,1\n', "c,d\n", '"e\nf",2\n'.splitlines(keepends=True)[0], 'f",2\n')

    assert list(csv_records(lines(), ",", number=5)) == [
        (5, ["a", "b"]),
        (6, "has a quote that is not closed"),
        (7, ["c", "d"]),
        (8, ["e\nf", "2"]),
    ]

    def endless():
        while True:
            yield "1,2\n"

    assert next(csv_records(endless(), ",")) == (1, ["1", "2"])


def _in_rows(text: str) -> str:
    return "image,text\n" + "".join(f"{n}.jpg,{text} {n}\n" for n in range(20))


@pytest.mark.parametrize(
    ("encoding", "text", "said"),
    [
        ("cp1252", "Größe für Mädchen, très été", "Windows-1252"),
        ("cp1251", "красный мяч для детей", "Windows-1251"),
        ("koi8-r", "красный мяч для детей", "KOI8-R"),
        ("gb18030", "红色的球和蓝色的盒子", "GB 18030"),
        ("big5", "紅色的球和藍色的盒子", "Big5"),
        ("cp932", "赤いボールと青い箱です", "Shift-JIS"),
        ("cp949", "빨간 공과 파란 상자", "EUC-KR"),
    ],
)
def test_tables_of_other_scripts_are_read_in_their_encoding(tmp_path, encoding, text, said) -> None:
    text = text.replace(",", ";")
    (tmp_path / "t.csv").write_bytes(_in_rows(text).encode(encoding))
    table = read_table(tmp_path / "t.csv")
    assert [row.cells["text"] for row in table.rows] == [f"{text} {n}" for n in range(20)]
    (problem,) = table.problems
    assert problem.where == "t.csv, line 2 and 19 more" and f"read as {said};" in problem.reason


@pytest.mark.parametrize(
    ("before", "note"),
    [
        ("sep=;\n", []),
        ("Artikel der Firma X\n2024-01-01\n\n", ["t.csv, line 1: 3 lines before that of the column names; left out"]),
        ("Artikel;;\n", ["t.csv, line 1: 1 line before that of the column names; left out"]),
    ],
)
def test_what_stands_before_the_names_is_passed_over(tmp_path, before, note) -> None:
    (tmp_path / "t.csv").write_text(before + "id;image;text\n1;a.jpg;one, two\n2;b.jpg;three\n")
    table = read_table(tmp_path / "t.csv")
    assert table.columns == ("id", "image", "text")
    assert [row.cells["text"] for row in table.rows] == ["one, two", "three"]
    assert [str(problem) for problem in table.problems] == note


def test_one_column_of_texts_has_no_title(tmp_path) -> None:
    (tmp_path / "t.csv").write_text('text\n"red, green"\nblue\n')
    assert cells(read_table(tmp_path / "t.csv")) == [{"text": "red, green"}, {"text": "blue"}]


def test_a_table_without_names_of_columns_loses_no_row(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a.jpg,one\nb.jpg,two\n")
    table = read_table(tmp_path / "t.csv")
    assert cells(table) == [{"column 1": "a.jpg", "column 2": "one"}, {"column 1": "b.jpg", "column 2": "two"}]
    assert [str(problem) for problem in table.problems] == ["t.csv, line 1: names a file, so the columns have no names"]


def test_empty_rows_and_empty_cells_past_the_end_are_nothing(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("image,text\n,\na.jpg,one,,\n , \n\nb.jpg,two\n")
    table = read_table(tmp_path / "t.csv")
    assert cells(table) == [{"image": "a.jpg", "text": "one"}, {"image": "b.jpg", "text": "two"}]
    assert not table.problems


def test_captions_in_the_format_of_coco_join_their_images(tmp_path) -> None:
    images = [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}]
    captions = [{"id": 1, "image_id": 7, "caption": "one"}, {"id": 2, "image_id": 7, "caption": "two"}]
    (tmp_path / "t.json").write_text(json.dumps({"info": {}, "images": images, "annotations": captions}))
    rows = cells(read_table(tmp_path / "t.json"))
    assert [(row["file_name"], row["captions"]) for row in rows] == [("a.jpg", ["one", "two"]), ("b.jpg", [])]


def test_texts_by_the_names_of_files_are_a_table(tmp_path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"a.jpg": "one", "b.jpg": ["two", "three"], "c.jpg": {"title": "x"}}))
    assert cells(read_table(tmp_path / "t.json")) == [
        {"file": "a.jpg", "text": "one"},
        {"file": "b.jpg", "text": ["two", "three"]},
        {"file": "c.jpg", "title": "x"},
    ]


def test_several_lists_of_objects_are_named(tmp_path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"one": [{"a": 1}], "two": [{"b": 2}]}))
    with pytest.raises(DataError, match=r"several lists of objects \(one, two\)"):
        read_table(tmp_path / "t.json")
