"""Odd inputs of every kind are understood, said, and ingested without a single option."""

import csv
import gzip
import io
import json
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.ingest import IngestOptions, ingest, understand
from diptych.ingest.understanding import UNCLEAR, language_of, languages_of
from ingest.images import png

SMALL = {"image": "colour-moments", "text": "bow:50"}
SORTS = ("Tassen", "Schuhe", "Lampen")


def german_shop(root, count=60):
    """A CSV with German headers, HTML, missing and broken images, a tenth of the labels, and other columns."""
    (root / "bilder").mkdir(parents=True)
    rows = [["Artikel-Nr.", "Foto", "Titel", "Beschreibung", "Kategorie", "Preis", "Marke", "url", "text"]]
    for n in range(count):
        if n % 20 != 7:
            (root / "bilder" / f"{n:04x}b.png").write_bytes(png(n) if n % 20 != 9 else b"broken")
        rows.append(
            [
                f"AB-{1000 + n}/x",
                f"{n:04x}b",
                f"{SORTS[n % 3]} &amp; mehr {n}",
                f"<p>Eine <b>sch&ouml;ne</b> Sache f&uuml;r das Haus,</p><p>Nummer {n} mit allem &#x27;was dazu</p>",
                f"{SORTS[n % 3]} &amp; Co" if n % 10 == 0 else "",
                f"{n}.99",
                "Acme" if n % 2 else "Bolt",
                f"https://shop.example.org/{n}",
                f"intern {n}",
            ]
        )
    with (root / "waren.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return root / "waren.csv"


def test_a_german_shop_is_understood(tmp_path) -> None:
    found = understand(german_shop(tmp_path / "shop"))
    parts = {use.column: use.part for use in found.columns}
    expected = {"Artikel-Nr.": "id", "Foto": "image", "Titel": "text", "Beschreibung": "text", "Kategorie": "label"}
    assert parts == expected | dict.fromkeys(("Preis", "Marke", "url", "text"), "metadata")
    assert (found.items, found.rows, found.images.named, found.images.found) == (60, 60, 60, 57)
    assert (found.images.missing, found.images.broken, found.images.looked_at) == (3, 3, 57)
    assert found.labelled == 6 and found.label_share == pytest.approx(0.1)
    assert set(found.classes) == {f"{sort} & Co" for sort in SORTS}
    assert next(iter(found.languages)) == "German"
    assert found.splits_drawn and sum(found.splits.values()) == 60
    json.dumps(found.to_json())


def test_a_german_shop_becomes_a_dataset(tmp_path) -> None:
    pairs = german_shop(tmp_path / "shop")
    made = ingest(IngestOptions(pairs, tmp_path / "d", features=SMALL, columns={"text": ["Titel", "Beschreibung"]}))
    items = made.dataset.items.to_pydict()
    assert made.dataset.ids[3] == "AB-1003/x"
    assert items["text"][4] == "Schuhe & mehr 4\nEine schöne Sache für das Haus,\nNummer 4 mit allem 'was dazu"
    assert items["label"][0] == "Tassen & Co" and items["label"][1] is None
    assert items["Preis"][:2] == [0.99, 1.99] and items["Marke"][:2] == ["Bolt", "Acme"]
    assert items["text_column"][5] == "intern 5" and items["Titel"][5] == "Lampen & mehr 5"
    assert items["media"][10] == "bilder/000ab.png"
    assert made.report.with_modality == {"image": 54, "text": 60}
    reasons = {problem.where: problem.reason for problem in made.report.problems}
    assert reasons["0007b"] == "is not there" and "not an image" in reasons["bilder/0009b.png"]
    assert "is reserved and is kept as 'text_column'" in reasons["waren.csv, column 'text'"]


def test_addresses_are_looked_up_by_file_name_and_never_fetched(tmp_path) -> None:
    root = tmp_path / "web"
    (root / "images").mkdir(parents=True)
    lines = ["photo_url\ttitle"]
    for n in range(10):
        lines.append(f"https://cdn.example.org/a/b/p%20{n}.png?size=big\tThing number {n}")
        if n < 7:
            (root / "images" / f"p {n}.png").write_bytes(png(n))
    lines.append(f"file://{root}/images/p 0.png\tThe first once more")
    (root / "t.tsv").write_text("\n".join(lines))
    found = understand(root / "t.tsv")
    assert (found.images.found, found.images.on_the_web) == (8, 3)
    assert found.warnings == ["3 images are addresses on the web; download them first."]
    made = ingest(IngestOptions(root / "t.tsv", tmp_path / "d", features=SMALL))
    assert made.dataset.items.column("media")[2].as_py() == "images/p 2.png"
    assert made.dataset.items.column("photo_url")[9].as_py() == "https://cdn.example.org/a/b/p%209.png?size=big"
    assert made.report.with_modality == {"image": 8, "text": 11}


def test_addresses_alone_leave_the_texts(tmp_path) -> None:
    rows = [{"image": f"http://x.org/{n}.jpg", "text": f"thing {n}"} for n in range(6)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    found = understand(tmp_path / "t.json")
    assert (found.images.found, found.with_text) == (0, 6) and len(found.warnings) == 2
    (tmp_path / "t.json").write_text(json.dumps([{"image": row["image"]} for row in rows]))
    with pytest.raises(DataError, match="all 6 images are addresses on the web; download them into a folder first"):
        understand(tmp_path / "t.json")


@pytest.mark.parametrize("form", ["array", "held", "lines", "gz", "lines.gz", "csv.gz"])
def test_tables_of_every_form(tmp_path, form) -> None:
    rows = [{"picture": f"{n}.png", "words": f"some plain words about thing {n}", "size": n} for n in range(6)]
    for n in range(6):
        (tmp_path / f"{n}.png").write_bytes(png(n))
    lines = "\n".join(map(json.dumps, rows))
    name, content = {
        "array": ("t.json", json.dumps(rows).encode()),
        "held": ("t.json", json.dumps({"version": 1, "items": rows}).encode()),
        "lines": ("t.json", lines.encode()),
        "gz": ("t.json.gz", gzip.compress(json.dumps(rows).encode())),
        "lines.gz": ("t.jsonl.gz", gzip.compress(lines.encode())),
        "csv.gz": (
            "T.CSV.GZ",
            gzip.compress(b"image,words,size\n" + "\n".join(",".join(map(str, r.values())) for r in rows).encode()),
        ),
    }[form]
    (tmp_path / name).write_bytes(content)
    found = understand(tmp_path / name)
    assert [use.part for use in found.columns] == ["image", "text", "metadata"]
    assert (found.items, found.images.found) == (6, 6)
    made = ingest(IngestOptions(tmp_path / name, tmp_path / "d", features=SMALL))
    assert made.dataset.items.column("size").to_pylist() == list(range(6))


def test_a_broken_archive_of_a_table_is_told(tmp_path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"image,text\na.png,b\n")[:-9])
    with pytest.raises(DataError, match=r"t.csv.gz cannot be unpacked"):
        understand(tmp_path / "t.csv.gz")


def shop_folder(root):
    """A folder with one table, images below it, and a few files that are no table."""
    (root / "photos").mkdir(parents=True)
    for n in range(8):
        (root / "photos" / f"{n}.png").write_bytes(png(n))
    lines = [json.dumps({"file_name": f"photos/{n}.png", "caption": f"a thing of number {n}"}) for n in range(8)]
    (root / "metadata.jsonl").write_text("\n".join(lines))
    (root / "settings.json").write_text('{"size": 3}')
    (root / "README.txt").write_text("hello")
    return root


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "tar.gz"])
def test_a_folder_or_an_archive_with_a_table(tmp_path, kind) -> None:
    root = shop_folder(tmp_path / "shop")
    path = root if kind == "folder" else tmp_path / f"shop.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(root.rglob("*.*")):
                archive.write(file, f"wrapper/{file.relative_to(root)}")
    elif kind != "folder":
        with tarfile.open(path, "w:gz" if kind.endswith("gz") else "w") as archive:
            archive.add(root, "wrapper")
    found = understand(path)
    assert (found.items, found.images.found, found.with_text) == (8, 8, 8)
    assert found.table.endswith("metadata.jsonl")
    dataset = ingest(IngestOptions(path, tmp_path / "d", features=SMALL)).dataset
    assert dataset.modalities["image"].items == 8


def test_tables_named_by_splits_are_one(tmp_path) -> None:
    (tmp_path / "images").mkdir()
    for split, numbers in (("train", range(6)), ("test", range(6, 9))):
        for n in numbers:
            (tmp_path / "images" / f"{n}.png").write_bytes(png(n))
        lines = "".join(f"{n}.png,thing {n}\n" for n in numbers)
        (tmp_path / f"{split}.csv").write_text(f"image,text\n{lines}")
    found = understand(tmp_path)
    assert found.splits == {"train": 6, "val": 0, "test": 3} and not found.splits_drawn


def test_a_table_that_names_no_image_here_is_passed_over(tmp_path) -> None:
    for n in range(4):
        (tmp_path / f"red-thing-{'abcd'[n] * 3}.png").write_bytes(png(n))
    (tmp_path / "prices.csv").write_text("item,price\nmug,3\ncup,4\n")
    found = understand(tmp_path)
    assert found.table is None and found.items == 4


def test_an_archive_beside_the_table_is_found(tmp_path) -> None:
    with tarfile.open(tmp_path / "images.tar", "w") as archive:
        for n in range(5):
            (tmp_path / "x.png").write_bytes(png(n))
            archive.add(tmp_path / "x.png", f"images/{n}.png")
    (tmp_path / "x.png").unlink()
    (tmp_path / "other.zip").write_bytes(b"no zip")
    lines = [json.dumps({"image": f"images/{n}.png", "captions": [f"thing {n}", "it"]}) for n in range(5)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    for path in (tmp_path, tmp_path / "pairs.jsonl"):
        found = understand(path)
        assert found.images.place == tmp_path / "images.tar" and found.images.found == 5


def test_file_names_are_the_texts_of_a_flat_folder(tmp_path) -> None:
    names = ["red-running-shoe_01", "blueCoffeeMug", "IMG_1234", "DSC0001", "d41d8cd98f00b204e9800998ecf8427e"]
    for name in names:
        (tmp_path / f"{name}.png").write_bytes(png(name))
    dataset = ingest(IngestOptions(tmp_path, tmp_path.parent / "flat", features=SMALL)).dataset
    texts = dict(zip(dataset.ids.tolist(), dataset.items.column("text").to_pylist(), strict=True))
    assert texts == {
        "red-running-shoe_01.png": "red running shoe",
        "blueCoffeeMug.png": "blue Coffee Mug",
        **{f"{name}.png": None for name in names[2:]},
    }


def test_images_alone_are_a_dataset_with_a_warning(tmp_path) -> None:
    for n in range(6):
        (tmp_path / f"IMG_{n:04d}.png").write_bytes(png(n))
    found = understand(tmp_path)
    assert found.with_text == 0 and "No item has a text" in found.warnings[0]
    dataset = ingest(IngestOptions(tmp_path, tmp_path.parent / "alone", features=SMALL)).dataset
    assert list(dataset.modalities) == ["image"]


def test_one_class_is_noticed(tmp_path) -> None:
    rows = [{"text": f"thing {n}", "label": "only"} for n in range(6)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = understand(tmp_path / "t.jsonl")
    assert "All 6 labels are 'only'; a single class separates nothing." in found.warnings


def test_images_inside_a_parquet_table_are_named_rather_than_lost(tmp_path) -> None:
    rows = [{"image": {"bytes": png(str(n)), "path": f"{n}.png"}, "caption": f"thing {n}"} for n in range(6)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    found = understand(tmp_path / "t.parquet")
    assert any("column 'image': holds the files themselves" in warning for warning in found.warnings)


def test_an_article_number_that_few_rows_repeat_is_the_id(tmp_path) -> None:
    rows = [
        {"Artikel-Nr.": f"A-{n}", "Beschreibung": f"a thing of kind {n}", "Preis": f"1.0{n:02},50"} for n in range(60)
    ]
    rows.append(rows[3] | {"Beschreibung": "the same thing said again"})
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = understand(tmp_path / "t.jsonl")
    assert found.items == 60
    reasons = {use.column: (use.part, use.reason) for use in found.columns}
    assert reasons["Artikel-Nr."] == ("id", "its name; 1 rows repeat one; rows of one id are one item")


def test_images_elsewhere_name_the_option_of_the_command_that_has_it(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("image,text\n" + "".join(f"../{n}.png,thing {n}\n" for n in range(6)))
    with pytest.raises(DataError, match="Put them there, or name their folder with `diptych ingest --images`"):
        understand(tmp_path / "t.csv")


def zipped(files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("photo.jpg", png("x"), "is one image; give the folder it lies in"),
        ("t.xlsx", zipped({"xl/media/image1.png": png("x")}), "save it as CSV, or give one of .csv"),
        ("t.pdf", b"%PDF", "give one of .csv, .tsv, .tab, .jsonl, .ndjson, .json, .parquet, a folder or an archive"),
        ("t.json", b'{"a": 1}', "holds no list of objects"),
        ("t.json", b"{", "is not valid JSON"),
        ("t.csv", b"a,b\n1,2\n", "no column holds images, sounds or texts"),
    ],
)
def test_what_cannot_be_used_says_why(tmp_path, name, content, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        understand(tmp_path / name)


def test_a_folder_with_a_readme_is_an_error(tmp_path) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    with pytest.raises(DataError, match=r"holds no image or sound that can be used; it holds 1 file \(1 with .txt\)"):
        understand(tmp_path)


def test_a_products_list_with_a_tree_of_classes(tmp_path) -> None:
    """As shops export it: lists as text, a path of classes, a structure nobody wants as text, flags."""
    with (tmp_path / "p.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        file.write("uniq_id,crawl_timestamp,product_name,product_category_tree,pid,retail_price,image,")
        file.write("is_FK_Advantage_product,description,overall_rating,brand,product_specifications\n")
        for n in range(40):
            (tmp_path / f"{n:032x}.png").write_bytes(png(n))
            row = [f"{n:032x}", "2016-03-25 22:59:23 +0000", f"Sort {n} of mug", f'["{SORTS[n % 3]} >> Part {n} >> X"]']
            row += [f"PID{n}", str(100 + n), f'["http://img.example.com/{n:032x}.png", "http://example.com/b{n}.png"]']
            row += ["False", f"Key features of the thing number {n} are many &amp; good", "No rating available"]
            row += [f"Brand {n % 9}", '{"product_specification"=>[{"key"=>"Type", "value"=>"Mug of some kind"}]}']
            writer.writerow(row)
    found = understand(tmp_path / "p.csv")
    parts = {use.column: use.part for use in found.columns if use.part != "metadata"}
    assert parts == {
        "uniq_id": "id",
        "product_name": "text",
        "product_category_tree": "label",
        "image": "image",
        "description": "text",
    }
    assert set(found.classes) == set(SORTS)
    assert found.images.found == 40
    dataset = ingest(IngestOptions(tmp_path / "p.csv", tmp_path / "d", features=SMALL)).dataset
    items = dataset.items.to_pydict()
    assert items["text"][3] == "Sort 3 of mug\nKey features of the thing number 3 are many & good"
    assert items["product_category_tree"][3] == ["Tassen >> Part 3 >> X"]
    assert items["retail_price"][3] == 103 and items["is_FK_Advantage_product"][3] is False


def test_columns_are_no_matter_of_folders_but_parts_can_be_waived(tmp_path) -> None:
    for n in range(8):
        (tmp_path / "in" / "ab"[n % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "ab"[n % 2] / f"red-thing-{'xyzuvwst'[n] * 3}e.png").write_bytes(png(n))
    options = IngestOptions(tmp_path / "in", tmp_path / "d", columns={"label": "-"})
    assert understand(tmp_path / "in").labelled == 8
    assert understand(tmp_path / "in", options).labelled == 0
    with pytest.raises(ConfigError, match="holds no table with a column 'sort'"):
        understand(tmp_path / "in", IngestOptions(tmp_path / "in", tmp_path / "d", columns={"label": "sort"}))


TEXTS = {
    "English": "a red mug with a handle for the kitchen",
    "German": "eine rote Tasse mit Henkel für die Küche",
    "French": "une tasse rouge avec une anse pour la cuisine",
    "Spanish": "una taza roja con asa para la cocina de los niños",
    "Italian": "una tazza rossa con il manico per la cucina della nonna",
    "Dutch": "een rode mok met een handvat voor de keuken van het huis",
    "Polish": "czerwony kubek do kawy jest dla dzieci oraz na prezent",
    "Russian": "красная кружка для кухни",
    "Ukrainian": "червона чашка для кухні і чаю",
    "Japanese": "赤い取っ手のマグカップ",
    "Chinese": "红色的马克杯",
    "Korean": "빨간 머그컵 USB",
    "Thai": "แก้วกาแฟสีแดง",
    "Greek": "κόκκινη κούπα",
    "Arabic": "كوب أحمر",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_sentence_tells_its_language(name) -> None:
    assert language_of(TEXTS[name]) == name


def test_german_titles_are_no_english_ones() -> None:
    assert languages_of(["Schöner Becher in Rot", "Teller in Blau, ohne Rand", "Kissen in Grün"]) == {"German": 3}


def test_names_and_numbers_are_unclear() -> None:
    assert language_of("Nikon D90") == language_of("12") == language_of("") == UNCLEAR


def test_languages_of_many_texts() -> None:
    texts = [TEXTS["English"]] * 6 + [TEXTS["German"]] * 3 + ["Nikon"]
    assert languages_of(texts) == {"English": 6, "German": 3, UNCLEAR: 1}
    assert languages_of([]) == {}
    few = ["a house of the lord", "the cat is in the hat"] * 40 + ["no"]
    assert languages_of(few) == {"English": 80, UNCLEAR: 1}
