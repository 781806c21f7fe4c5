"""Small imitations of releases."""

from ingest.images import encoded, noise

CLASSES = ("art", "biology")


def write_wikipedia(folder, train=8, test=6, **image):
    """A small release: two classes, an article and an image for each document."""
    (folder / "texts").mkdir(parents=True)
    (folder / "categories.list").write_text("\n".join(CLASSES) + "\n")
    for part, count in (("train", train), ("test", test)):
        lines = []
        for number in range(count):
            text, name, code = f"{part}{number}-{number}", f"{part}image{number}", number % 2
            lines.append(f"{text}\t{name}\t{code + 1}\n")
            article = (
                f'<?xml version="1.0" encoding="UTF-8" ?>\n<document>\n<title>Title {number}</title>\n<text>\n'
                f"The {CLASSES[code]} of caf\u00e9s &amp; gardens, number{number}.\n</text>\n</document>\n"
            )
            (folder / "texts" / f"{text}.xml").write_text(article, encoding="utf-8")
            file = folder / "images" / CLASSES[code] / f"{name}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encoded(noise(name, **image), "JPEG"))
        (folder / f"{part}set_txt_img_cat.list").write_text("".join(lines))
    return folder
