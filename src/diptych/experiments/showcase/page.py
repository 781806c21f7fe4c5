"""The showcase as one HTML file: pictures inside, nothing fetched, the credit that the licence asks for."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from diptych.experiments.report import directions_of, show_seconds
from diptych.experiments.showcase.emoji_searches import Answer
from diptych.ingest.samples.emoji_licence import CREDIT, LICENCE_URL, SOURCE_URL


def render_showcase(answers: Sequence[Answer], results: Mapping[str, Any], searched_with: str) -> str:
    """Write the page.

    Args:
        answers: the searches.
        results: of the comparison, as `compare_methods` returns them.
        searched_with: the method whose codes were searched.
    """
    return _template().render(
        results=results,
        directions=[*directions_of(results), "average"],
        searched_with=searched_with,
        by_words=[answer for answer in answers if answer.words is not None],
        by_pictures=[answer for answer in answers if answer.asked is not None],
        credit=CREDIT,
        licence_url=LICENCE_URL,
        source_url=SOURCE_URL,
    )


def data_uri(png: bytes) -> str:
    """A picture as an address that holds it."""
    return f"data:image/png;base64,{b64encode(png).decode('ascii')}"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("diptych.experiments.showcase"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "data_uri": data_uri,
        "percent": lambda share: f"{share:.0%}",
        "score": lambda value: f"{value:.3f}",
        "arrow": lambda direction: direction.replace("->", " → "),
        "seconds": show_seconds,
    }
    return environment.get_template("showcase.html.j2")
