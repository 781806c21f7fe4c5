"""What the pages point at is there: files, anchors and extras; and every page is in the navigation."""

import re
import tomllib

import pytest

from docs.pages import PAGES, ROOT, name_of

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads]
    found = {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", head).strip()) for head in plain}
    return found | {f"diptych.{name}" for name in re.findall(r"^::: diptych\.(\S+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page) -> None:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in LINK.findall(text):
        path = (page.parent / target) if target else page
        assert path.exists(), f"{name_of(page)} points at {target}, which is not there"
        if anchor and path.suffix == ".md":
            known = anchors(path.read_text(encoding="utf-8"))
            assert anchor in known, f"{name_of(page)} points at {target}#{anchor}; there are {sorted(known)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_are_there(page) -> None:
    named = re.findall(r"diptych\[([a-z,]+)\]", page.read_text(encoding="utf-8"))
    assert {extra for group in named for extra in group.split(",")} <= EXTRAS


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if "docs" in page.parts}
