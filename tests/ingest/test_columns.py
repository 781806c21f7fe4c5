"""Columns are told by their names in several languages and by what their cells hold."""

import json

import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.data.tables import Row, Table
from diptych.ingest.columns import Columns, choose_columns, typed_columns
from diptych.ingest.file_finder import FileFinder
from diptych.media import open_source

LONG = "a long sentence that goes on about the number {} and about its many friends"
HASH = "{:016x}"


def table(count=40, /, **columns) -> Table:
    """A table whose cells are made of patterns, lists that are cycled through, or functions of the row's number."""

    def cell(how, n):
        if callable(how):
            return how(n)
        return how[n % len(how)] if isinstance(how, list) else how.format(n)

    names = tuple(columns)
    return Table(
        "t.csv", names, [Row(n, {name: cell(columns[name], n) for name in names}) for n in range(1, count + 1)]
    )


def chosen(given, named=None, finder=None) -> Columns:
    return choose_columns(given, named or {}, finder)[0]


@pytest.mark.parametrize(
    "names",
    [
        "image,captions,label,split,",
        "Filename,Caption,Class,,",
        "file path,description,,,id",
        "Foto,Beschreibung,Kategorie,,Artikel-Nr.",
        "imagen,descripción,categoría,,uniq_id",
        "изображение,описание,категория,,артикул",
        "画像,説明,カテゴリ,,商品番号",
        "photo_url,body,main-category,subset,sku",
    ],
)
def test_usual_names_are_known(names) -> None:
    image, *others = (name or None for name in names.split(","))
    cells = ("{}.jpg", LONG, ["red", "green", "blue"], ["train", "test", "val"], "AB-{}")
    given = table(**{name: how for name, how in zip(names.split(","), cells, strict=True) if name})
    assert chosen(given) == Columns({"image": image}, *others)


def test_names_that_say_nothing_are_no_hindrance(tmp_path) -> None:
    """Content alone: images that are there, the longest text, few values, values that are all different."""
    for number in range(1, 41):
        (tmp_path / f"{number * 7:016x}.png").touch()
    given = table(
        a=lambda n: HASH.format(n * 7),
        b=lambda n: f"{n}.99",
        c=LONG,
        d=["shoes", "mugs", "lamps"],
        e="short {}",
        f=["yes", "no"],
        g="KX-{}/a",
    )
    with open_source(tmp_path) as source:
        columns, uses = choose_columns(given, {}, FileFinder(source))
    assert columns == Columns({"image": "a"}, "c", "d", None, "g")
    reasons = {use.column: (use.part, use.reason) for use in uses}
    assert reasons["a"] == ("image", "100% of its cells name images that are there")
    assert reasons["c"] == ("text", "the longest free text, 15 words on average")
    assert reasons["d"] == ("label", "3 values, each of several rows")
    assert reasons["g"] == ("id", "codes, every row has one of its own")
    assert reasons["b"] == reasons["e"] == reasons["f"] == ("metadata", "kept as it is")
    assert next(use for use in uses if use.column == "d").example == "mugs"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("price", ["9.99", "19.99", "29.99"]),
        ("brand", ["Acme", "Bolt", "Core"]),
        ("is_new", ["true", "false"]),
        ("group_no", ["1", "2", "3"]),
        ("kind", ["common"] * 39 + ["rare"]),
        ("serial", "S-{}"),
        ("when", ["2021-01-02", "2022-02-03", "2023-01-01"]),
        ("note", ["a long text that says the same of many things", "another text that many things have here"]),
    ],
)
def test_what_is_no_class_is_not_taken_for_one(name, cells) -> None:
    assert chosen(table(**{"image": "{}.jpg", name: cells})).label is None


def test_ten_per_cent_of_labels_are_enough() -> None:
    assert (
        chosen(table(200, image="{}.jpg", group=lambda n: ["cup", "hat"][n // 10 % 2] if n % 10 == 0 else "")).label
        == "group"
    )
    assert chosen(table(200, image="{}.jpg", label=lambda n: "cup" if n == 7 else None)).label == "label"


def test_a_column_called_label_must_hold_classes() -> None:
    columns, uses = choose_columns(table(image="{}.jpg", text=LONG, category="number {}"), {})
    assert columns.label is None
    assert uses[2].reason == "kept as it is; no label, since almost every value is another"
    assert chosen(table(image="{}.jpg", label=lambda n: n / 7)).label is None
    assert chosen(table(image="{}.jpg", label=[0, 1])).label == "label"


def test_the_first_level_of_a_tree_of_classes_is_the_class() -> None:
    tree = table(
        image="{}.jpg",
        product_category_tree=lambda n: json.dumps([f"{'Home' if n % 2 else 'Garden'} >> Part {n} >> X"]),
    )
    columns = chosen(tree)
    assert (columns.label, columns.label_levels) == ("product_category_tree", " >> ")
    few = table(image="{}.jpg", category=["Home > Lamps", "Home > Mugs", "Garden > Tools"])
    assert chosen(few) == Columns({"image": "image"}, None, "category")


def test_titles_texts_and_tags_are_joined_in_this_order() -> None:
    given = table(image="{}.jpg", tags="tag{} blue", Beschreibung=LONG, Titel="Thing {}", price="{}")
    assert chosen(given).texts == ("Titel", "Beschreibung", "tags")
    assert chosen(table(image="{}.jpg", description_de="ein Ding mit Nummer {}", description_en=LONG)).texts == (
        "description_de",
        "description_en",
    )
    given = table(image="{}.jpg", name="the number {}", text=LONG)
    columns, uses = choose_columns(given, {})
    assert columns.text == "text" and uses[1].reason == "kept as it is; the text says the same"
    assert chosen(table(image="{}.jpg", captions=lambda n: ["one", f"two {n}"], name="Thing {}")).text == "captions"
    assert chosen(table(image="{}.jpg", title="Thing {}")).text == "title"


def test_structures_and_addresses_are_no_texts() -> None:
    given = table(
        image="{}.jpg",
        product_specifications=lambda n: (
            '{"product_specification"=>[{"key"=>"Size", "value"=>"' + str(n) + ' by 3 cm"}]}'
        ),
        product_url="https://shop.example.org/a/very/long/path/about/{}",
        words="a few plain words {}",
    )
    assert chosen(given).text == "words"


def test_images_that_are_there_win_over_the_name(tmp_path) -> None:
    for number in range(1, 41):
        (tmp_path / f"img-{number}.jpg").touch()
    given = table(image="http://elsewhere.org/{}.jpg", local="img-{}", text=LONG)
    with open_source(tmp_path) as source:
        assert chosen(given, finder=FileFinder(source)).image == "local"
    assert chosen(given).image == "image"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"id": lambda n: n // 2}, "id"),  # rows of one id are one item
        ({"id": lambda n: n // 2, "image": "{}.jpg"}, None),  # but not with an image each
        ({"category_id": [1, 2, 3]}, None),
        ({"id": lambda n: None if n == 3 else n}, None),
        ({"pid": "P{}", "uniq_id": "U{}"}, "uniq_id"),
        ({"stamp": lambda n: f"2021-01-01T00:{n:02d}"}, None),
        ({"views": lambda n: n * 13}, None),
    ],
)
def test_ids_tell_rows_apart(columns, expected) -> None:
    assert chosen(table(**{"text": LONG, **columns})).id == expected


def test_splits_are_told_by_name_and_values() -> None:
    assert chosen(table(text=LONG, set=["a", "b"])).split is None
    assert chosen(table(text=LONG, purpose=["train", "test"])).split is None
    assert chosen(table(text=LONG, set=["Training", "dev", None])).split == "set"


def test_named_columns_win_and_are_not_guessed_again() -> None:
    given = table(image="{}.jpg", caption=LONG, title="Thing {}", label=["a", "b"])
    assert chosen(given, {"text": "title", "label": "caption"}) == Columns({"image": "image"}, "title", "caption")
    assert chosen(given, {"text": ["caption", "title"]}).texts == ("caption", "title")
    assert chosen(given, {"text": "-", "label": "-"}) == Columns({"image": "image"})


def test_what_is_not_found_is_asked_for() -> None:
    with pytest.raises(
        DataError, match=r"no column holds images, sounds or texts \(price, size\); name one with --image-column"
    ):
        choose_columns(table(price="{}", size="{}"), {})
    with pytest.raises(ConfigError, match=r"t.csv has no column 'pic' for the image; it has image, text"):
        choose_columns(table(image="{}.jpg", text=LONG), {"image": "pic"})
    with pytest.raises(ConfigError, match="2 columns are named for the image"):
        choose_columns(table(image="{}.jpg", text=LONG), {"image": ["image", "text"]})
    with pytest.raises(DataError, match="no column holds images, sounds or texts"):
        choose_columns(table(a="x.jpg"), {"image": "-", "text": "-"})


def test_numbers_with_a_decimal_comma_are_numbers() -> None:
    rows = [{"price": price, "part": part} for price, part in [("760,77", "1,234"), ("1.234,5", "5,678"), ("12", "7")]]
    typed, _ = typed_columns(rows, "t.csv")
    assert [row["price"] for row in typed] == [760.77, 1234.5, 12.0]
    assert [row["part"] for row in typed] == ["1,234", "5,678", "7"]  # could be thousands


def test_prices_in_one_currency_and_dates_are_comparable() -> None:
    prices = {
        "dollar": ["$12.99", "$1,299.00", "$5"],
        "euro": ["1.299 €", "899 €", "5 €"],
        "mixed": ["$5", "5 €", "7 €"],
        "codes": ["SKU 12", "SKU 13", "SKU 14"],
    }
    dates = {
        "datum": ["23.03.2024", "1.4.2023 10:30", "02.12.2022"],
        "us": ["3/23/2024", "4/1/2023", "12/2/2022"],
        "british": ["23/3/2024", "1/4/2023", "2/12/2022"],
        "unclear": ["3/4/2024", "4/1/2023", "12/2/2022"],
        "impossible": ["31.02.2024", "1.4.2023", "2.12.2022"],
    }
    columns = prices | dates
    rows, notes = typed_columns([{name: cells[n] for name, cells in columns.items()} for n in range(3)], "t.csv")
    read = {name: [row[name] for row in rows] for name in columns}
    assert read["dollar"] == [12.99, 1299.0, 5.0] and read["euro"] == [1299.0, 899.0, 5.0]
    assert read["datum"] == ["2024-03-23", "2023-04-01T10:30", "2022-12-02"]
    assert read["us"] == read["british"] == ["2024-03-23", "2023-04-01", "2022-12-02"]
    assert all(read[name] == columns[name] for name in ("mixed", "codes", "unclear", "impossible"))
    assert [note.where.split("'")[1] for note in notes] == ["dollar", "euro", "datum", "us", "british"]
    assert "23.03.2024, kept as 2024-03-23" in str(notes[2])
