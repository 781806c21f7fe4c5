"""File names that say something become texts; those of cameras and programs do not."""

import pytest

from diptych.ingest.names import text_of_name, texts_of_names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("red-running-shoe_01.jpg", "red running shoe"),
        ("AirportTerminalB2.jpg", "Airport Terminal"),
        ("iphone12_case.jpg", "iphone case"),
        ("UEFA_cup.jpg", "UEFA cup"),
        ("Schöne_Straße.jpg", "Schöne Straße"),
        ("赤い靴.jpg", "赤い靴"),
        ("赤い3番の靴.jpg", "赤い 番の靴"),
        ("красные-туфли-3.jpg", "красные туфли"),
        ("deep/folder/a_tram.png", "tram"),
        ("IMG_20210101_123456.jpg", None),
        ("DSC0001.JPG", None),
        ("PXL_20220.jpg", None),
        ("WhatsApp Image 2021-03-04 at 10.11.12.jpeg", None),
        ("Screenshot from 2020-01-01.png", "from"),
        ("550e8400-e29b-41d4-a716-446655440000.png", None),
        ("d41d8cd98f00b204e9800998ecf8427e.jpg", None),
        ("kJx8QzPw4.jpg", None),
        ("aBcDeFgHiJ.jpg", None),
        ("1F600-FE0F.png", None),
        ("1FAAA.png", None),
        ("007.png", None),
        ("n02084071_1234.JPEG", None),
        ("photo (3).jpg", None),
    ],
)
def test_what_a_name_says(name, text) -> None:
    assert text_of_name(name) == text


def test_folders_add_their_words() -> None:
    assert text_of_name("x/IMG_1.jpg", ["garden tools", "2021-05", "spades"]) == "garden tools spades"
    assert text_of_name("mugs/mug.jpg", ["mug"]) == "mug"


def test_names_that_all_say_the_same_say_nothing() -> None:
    assert texts_of_names(["product-1.jpg", "product-2.jpg"], [(), ()]) == [None, None]
    assert texts_of_names(["cat-1.jpg", "dog-2.jpg", "3.jpg"], [()] * 3) == ["cat", "dog", None]
    codes = [f"{n:05d}.jpg" for n in range(100)] + ["acer.jpg", "faaad.jpg"]
    assert set(texts_of_names(codes, [()] * 102)) == {None}
