"""A shop's table as people have them: odd headers, HTML, missing and broken images, few labels; and its images."""

import csv
import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from diptych._core.seeding import generator

COLOURS = {"rot": (200, 40, 40), "blau": (40, 60, 200), "grün": (40, 160, 60), "gelb": (230, 210, 60)}
THINGS = {
    "mug": ("Ceramic mug", "coffee mug with a handle, dishwasher safe"),
    "lamp": ("Desk lamp", "reading lamp with a metal arm &amp; dimmer"),
    "plate": ("Dinner plate", "porcelain plate for pasta &ndash; microwave safe"),
}
COLUMNS = ("uniq_id", "Produktname", "Foto", "Beschreibung", "Kategorie", "Marke", "Preis EUR", "url")
MISSING, BROKEN = (4, 17, 33), (8,)


def drawing(thing: str, colour: str, number: int, side: int = 96) -> bytes:
    """A plain drawing of a thing, as the bytes of a JPEG."""
    random = generator(0, thing, colour, str(number))
    image = Image.new("RGB", (side, side), tuple(int(v) for v in random.integers(225, 256, 3)))
    draw, fill = ImageDraw.Draw(image), COLOURS[colour]
    shift = int(random.integers(-6, 7))
    if thing == "mug":
        draw.rectangle((25 + shift, 25, 65 + shift, 80), fill=fill)
        draw.arc((58 + shift, 35, 85 + shift, 65), -90, 90, fill=fill, width=6)
    elif thing == "lamp":
        draw.polygon([(30 + shift, 50), (66 + shift, 50), (48 + shift, 18)], fill=fill)
        draw.rectangle((45 + shift, 50, 51 + shift, 85), fill=(60, 60, 60))
    else:
        draw.ellipse((12 + shift, 30, 84 + shift, 66), fill=fill)
        draw.ellipse((28 + shift, 38, 68 + shift, 58), outline=(255, 255, 255), width=3)
    noise = np.asarray(image, np.int16) + random.integers(-6, 7, (side, side, 3))
    out = io.BytesIO()
    Image.fromarray(noise.clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=90)
    return out.getvalue()


def things(count: int) -> list[tuple[str, str]]:
    """The kind and the colour of each."""
    kinds, colours = list(THINGS), list(COLOURS)
    return [(kinds[number % 3], colours[number // 3 % 4]) for number in range(count)]


def part_number(number: int) -> str:
    return f"KX-{1000 + 7 * number}/{'ABC'[number % 3]}"


def write_shop(folder: Path, count: int = 60) -> Path:
    """The table; images lie in a folder beside it, three are missing and one is broken."""
    (folder / "fotos").mkdir(parents=True)
    rows = []
    for number, (thing, colour) in enumerate(things(count)):
        name, about = THINGS[thing]
        image = folder / "fotos" / f"art_{number:03d}.jpg"
        if number not in MISSING:
            image.write_bytes(b"\xff\xd8 no image" if number in BROKEN else drawing(thing, colour, number))
        rows.append(
            {
                "uniq_id": f"u{number:03d}",
                "Produktname": f"{name} {colour}",
                "Foto": f"fotos/{image.name}",
                "Beschreibung": f"<p><b>{name}</b>, {colour}.<br/>\n{about}.&nbsp;Art. {part_number(number)}</p>",
                "Kategorie": thing if number % 10 == 0 else "",
                "Marke": ("Nordlicht", "O'Brien & Söhne")[number % 2],
                "Preis EUR": f"{9.9 + number:.2f}",
                "url": f"https://shop.example/p/{number}",
            }
        )
    with (folder / "shop.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return folder / "shop.csv"


def write_folder(folder: Path, count: int = 24) -> Path:
    """Images, each with a text of the same name beside it."""
    folder.mkdir(parents=True)
    for number, (thing, colour) in enumerate(things(count)):
        (folder / f"{number:03d}.jpg").write_bytes(drawing(thing, colour, number))
        (folder / f"{number:03d}.txt").write_text(f"{THINGS[thing][0]}, {colour}, no. {number}", encoding="utf-8")
    return folder
