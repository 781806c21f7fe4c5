import copy
import re
from html.parser import HTMLParser

import pytest

from diptych.experiments import Recipe, compare_methods, render_report

VOID = {"meta"}
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}"


class Reader(HTMLParser):
    """Notes tags, attributes and text, and insists that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory, counts_dataset):
    from diptych.methods import registry
    from experiments import fakes

    patch = pytest.MonkeyPatch()
    patch.setattr(registry, "_METHODS", fakes.METHODS)
    recipe = Recipe(methods=("steady", "seeded", "failing"), seeds=(0, 1))
    yield compare_methods(counts_dataset, recipe, tmp_path_factory.mktemp("report"))
    patch.undo()


def test_it_says_everything(results):
    page = Reader(render_report(results))
    text = " ".join(" ".join(page.words).split())
    for words in (
        "synthetic",
        results["protocol"]["words"],
        f"{results['chance']['map']:.3f}",
        f"{results['methods']['steady']['average']['map']:.3f}",
        "the <b>matrix</b> is singular",
        results["dataset"]["fingerprint"],
        results["environment"]["versions"]["numpy"],
        "art",
        "Tried on validation",
        "p = " if results["comparisons"]["against_best"]["seeded"]["p_holm"] >= 0.001 else "p < 0.001",
    ):
        assert words in text
    assert page.tags.count("polyline") == 4
    assert page.tags.count("rect") == 8  # MAP and MRR on average, MAP in each direction


def test_class_and_partner_stand_side_by_side_in_the_headline(results):
    text = " ".join(" ".join(Reader(render_report(results)).words).split())
    headline = text[text.index("Cross-modal retrieval") : text.index("Training saw")]
    assert "Finding items of the same class" in headline and "Finding an item's own partner" in headline
    for name, block in results["methods"].items():
        assert name in headline
        assert f"{block['average']['map']:.3f}" in headline
        assert f"{block['instance']['average']['mean_reciprocal_rank']:.3f}" in headline
        assert f"{block['instance']['average']['R@10']:.3f}" in headline


def test_the_headline_names_two_leaders_where_there_are_two(results):
    split = copy.deepcopy(results)
    order = sorted(split["methods"], key=lambda name: split["methods"][name]["average"]["map"])
    for place, name in enumerate(order):
        split["methods"][name]["instance"]["average"]["mean_reciprocal_rank"] = 0.9 - place / 10
    text = " ".join(" ".join(Reader(render_report(split)).words).split())
    assert f"No method leads both: of 2, {order[1]} is best at finding items of the same class, and {order[0]}" in text
    for place, name in enumerate(order):
        split["methods"][name]["instance"]["average"]["mean_reciprocal_rank"] = 0.1 + place / 10
    text = " ".join(" ".join(Reader(render_report(split)).words).split())
    assert f"{order[1]} leads 2 methods both at finding items of the same class" in text


def test_many_methods_are_not_as_many_similar_lines(results):
    many = copy.deepcopy(results)
    block = many["methods"]["steady"]
    many["methods"] = {f"method-{i}": copy.deepcopy(block) for i in range(22)}
    against = next(iter(many["comparisons"]["against_best"].values()))
    many["comparisons"] = {"best": "method-0", "against_best": {f"method-{i}": against for i in range(1, 22)}}
    page = Reader(render_report(many))
    looks = [value for tag, name, value in page.attributes if tag == "polyline" and name == "class"]
    assert len(looks) == 44 and looks.count("curve other") == 32
    assert sum("direct" in value for tag, name, value in page.attributes if (tag, name) == ("text", "class")) == 12


def test_it_needs_nothing_from_elsewhere(results):
    html = render_report(results)
    page = Reader(html)
    assert not [(tag, name) for tag, name, _ in page.attributes if name in ("src", "href", "srcset", "xlink:href")]
    assert not {"link", "img", "iframe", "base", "object", "embed"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(|fetch\(|//[a-z]+\.", html)
    assert "default-src 'none'" in html


def test_hostile_names_stay_text(results):
    hostile = copy.deepcopy(results)
    hostile["dataset"]["name"] = HOSTILE
    hostile["protocol"]["words"] = HOSTILE
    hostile["failures"] = {HOSTILE: HOSTILE}
    hostile["pending"] = [HOSTILE]
    methods = hostile["methods"]
    methods[HOSTILE] = methods.pop("steady")
    for direction in ("image->text", "text->image"):
        methods[HOSTILE][direction]["per_class"] = {HOSTILE: 0.5}
    methods[HOSTILE]["params"] = {HOSTILE: HOSTILE}
    methods[HOSTILE]["saw"] = methods[HOSTILE]["notes"] = HOSTILE
    comparisons = hostile["comparisons"]
    comparisons["best"] = HOSTILE
    comparisons["against_best"] = {"seeded": next(iter(comparisons["against_best"].values()))}
    page = Reader(render_report(hostile))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert HOSTILE in "".join(page.words)
    assert ("polyline", "data-method", HOSTILE) in page.attributes
    assert "49" not in render_report(hostile).split("<title>")[1].split("</title>")[0]


def test_a_report_of_failures_only_is_still_a_report(results):
    empty = copy.deepcopy(results)
    empty["methods"] = {}
    empty["comparisons"] |= {"best": None, "against_best": {}}
    page = Reader(render_report(empty))
    assert "svg" not in page.tags
    assert "Failed" in page.words


def test_three_modalities_and_no_partners_can_be_shown(tmp_path, three_dataset):
    results = compare_methods(three_dataset, Recipe(methods=("steady",)), tmp_path)
    results["methods"]["steady"]["instance"] = {}
    page = Reader(render_report(results))
    assert "no item has a partner to find" in " ".join(" ".join(page.words).split())
    assert page.tags.count("polyline") == 6


def test_every_wide_table_scrolls_on_a_phone_and_fits_on_paper(results):
    page = render_report(results)
    wide = re.findall(r"(.{20})<table(?! class=\"pairs\")", page, re.DOTALL)
    assert len(wide) > 4
    assert all(before.endswith('<div class="scroll">') for before in wide)
    printed = page.split("@media print", 1)[1]
    assert ".scroll { overflow: visible; }" in printed  # paper does not scroll: what does not fit would be cut off
