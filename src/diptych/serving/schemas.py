"""What requests and answers look like."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Base64Bytes, BaseModel, ConfigDict, Field

from diptych.methods.purposes import Purpose
from diptych.search import Mode, Sort

MOST_PARTS, MOST_RESULTS, DEEPEST_OFFSET, MOST_ITEMS, MOST_IDS = 16, 1_000, 100_000, 256, 5_000
LONGEST_TEXT, LONGEST_WHERE, LONGEST_ID = 10_000, 20_000, 1_024
LONGEST_PREFIX, MOST_SUGGESTIONS = 200, 20

PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def printable(id: str) -> str:
    """Refuse an id that could be added and then not be written in an address.

    Raises:
        ValueError: when it holds control characters, or is "." or "..", which clients take for a way.
    """
    if id in (".", ".."):
        raise ValueError(f"the id is {id!r}, which no address can hold; choose another")
    found = _CONTROL.search(id)
    if found:
        raise ValueError(f"the id holds the control character {found.group()!r}; use printable ones")
    return id


NewId = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_ID, json_schema_extra={"pattern": PRINTABLE}),
    AfterValidator(printable),
]
Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
Into = Annotated[
    str | None,
    Field(
        max_length=100, description="The modality whose entries are the results; left out, a result is a whole item."
    ),
]
K = Annotated[int, Field(ge=1, le=MOST_RESULTS, description="Results at most.")]
Offset = Annotated[int, Field(ge=0, le=DEEPEST_OFFSET, description="Leave out so many of the best.")]
Where = Annotated[
    str | None, Field(max_length=LONGEST_WHERE, description="A condition such as split = 'train' and label = 'pond'.")
]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False, description="Negative: away from it.")]


class Strict(BaseModel):
    """A body in which an unknown name is a mistake, not a wish that is passed over."""

    model_config = ConfigDict(extra="forbid")


class TextPart(Strict):
    """Words."""

    kind: Literal["text"]
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    weight: Weight = 1.0


class ItemPart(Strict):
    """An item of the index."""

    kind: Literal["item"]
    id: Id
    weight: Weight = 1.0


class ImagePart(Strict):
    """An image."""

    kind: Literal["image"]
    data: Annotated[Base64Bytes, Field(description="The image's file in base64.")]
    weight: Weight = 1.0


class AudioPart(Strict):
    """A sound."""

    kind: Literal["audio"]
    data: Annotated[Base64Bytes, Field(description="The sound's file in base64.")]
    weight: Weight = 1.0


Part = Annotated[TextPart | ItemPart | ImagePart | AudioPart, Field(discriminator="kind")]


class Options(Strict):
    """Which results are wanted."""

    into: Into = None
    k: K = 10
    offset: Offset = 0
    where: Where = None
    min_probability: Annotated[
        Probability, Field(description="Leave out results that belong less probably than this.")
    ] = 0.0
    purpose: Annotated[
        Purpose,
        Field(
            description="What to look for, where the index has several purposes: things of this kind (class), the very "
            "item (partner), or anything alike (both); auto takes partner for typed words, else both."
        ),
    ] = "auto"
    mode: Annotated[
        Mode,
        Field(
            description="How typed words are ranked: by embeddings and matching words together (hybrid), by embeddings "
            "alone (vector), or by matching words alone (lexical)."
        ),
    ] = "hybrid"
    correct: Annotated[
        bool, Field(description="Answer for the corrected words where no text holds the words as typed.")
    ] = True
    sort: Annotated[
        Sort, Field(description="By name, or by date, newest first: the best 1,000 results in that order.")
    ] = "score"
    signatures: Annotated[
        bool, Field(description="Send with every result the signature by which near-duplicates are told.")
    ] = False


class SearchRequest(Options):
    """A query: texts, images, sounds and items, each with a weight, summed."""

    parts: Annotated[list[Part], Field(min_length=1, max_length=MOST_PARTS)]


class FacetsRequest(Options):
    """A query whose results are counted; without parts, all items that meet the condition are."""

    parts: Annotated[list[Part], Field(max_length=MOST_PARTS)] = []
    keys: Annotated[list[str], Field(min_length=1, max_length=4, description="label, split")] = ["label"]


class UploadRequest(Options):
    """The field `query` of a multipart search: more parts, and which results are wanted."""

    parts: Annotated[list[Part], Field(max_length=MOST_PARTS)] = []
    weights: Annotated[
        list[Weight], Field(max_length=MOST_PARTS, description="Of the files, in order: images, then sounds.")
    ] = []


File = Annotated[bytes, Field(json_schema_extra={"format": "binary"})]


class SearchForm(BaseModel):
    """A search by uploaded images and sounds, at least one."""

    image: Annotated[list[File], Field(max_length=MOST_PARTS)] = []
    audio: Annotated[list[File], Field(max_length=MOST_PARTS)] = []
    query: Annotated[str, Field(description="An UploadRequest as JSON.")] = "{}"


class ItemBody(Strict):
    """The content of an item: text, an image or a sound."""

    text: Annotated[str | None, Field(min_length=1, max_length=LONGEST_TEXT)] = None
    data: Annotated[Base64Bytes | None, Field(description="An image's or a sound's file in base64.")] = None
    metadata: dict[str, Any] = {}


class ItemChange(Strict):
    """What to change of an item."""

    text: Annotated[str | None, Field(min_length=1, max_length=LONGEST_TEXT)] = None
    metadata: Annotated[dict[str, Any], Field(description="By key; null removes a key.")] = {}


class NewItemBody(ItemBody):
    """An item to add."""

    id: NewId


class AddRequest(Strict):
    """Items to add, all or none."""

    items: Annotated[list[NewItemBody], Field(min_length=1, max_length=MOST_ITEMS)]
    replace: Annotated[bool, Field(description="Put them in the place of items with the same ids.")] = False


class ItemForm(BaseModel):
    """An item whose image or sound is uploaded, one of both."""

    image: File | None = None
    audio: File | None = None
    item: Annotated[str, Field(description="The rest of the item as JSON: its id, if the address lacks it, metadata.")]


class ItemOut(BaseModel):
    """An item of the index."""

    id: str
    modality: str
    metadata: dict[str, Any]
    media: Annotated[str | None, Field(description="Where its image or its sound is, if it has one.")] = None
    item: Annotated[str, Field(description="The item (document) that this is, or is an entry of.")] = ""
    entries: Annotated[
        dict[str, str], Field(description="The ids of the item's entries by modality, as far as they are known.")
    ] = {}


class WhyOut(BaseModel):
    """Why a result is there."""

    words: Annotated[list[str], Field(description="The typed words that stand in its text.")]
    image: Annotated[float | None, Field(description="The cosine of the query with its image; null if not compared.")]
    audio: Annotated[float | None, Field(description="The cosine of the query with its sound; null if not compared.")]
    text: Annotated[float | None, Field(description="The cosine of the query with its text; null if not compared.")]
    bm25: Annotated[float | None, Field(description="How well the words match its text, 0 to 1; null if none does.")]
    side: Annotated[
        Literal["words", "image", "audio", "text"] | None, Field(description="What contributed most; null if unknown.")
    ]


class HitOut(ItemOut):
    """A result."""

    score: Annotated[float, Field(description="How well it fits the query; results are ordered by it.")]
    probability: Annotated[float | None, Field(description="That it belongs to the query; null if not calibrated.")]
    why: WhyOut
    signature: Annotated[
        str | None,
        Field(description="16 hexadecimal digits of a difference hash and 24 of mean colours; null if not asked for."),
    ] = None


class SearchAnswer(BaseModel):
    """Results, best first."""

    hits: list[HitOut]
    closest: Annotated[
        float | None, Field(description="The best probability found, also when it was too low to be a result.")
    ]
    seconds: float
    purpose: Annotated[
        str | None, Field(description="What was looked for; null where the index has a single space.")
    ] = None
    mode: Annotated[
        str, Field(description="How the results were ranked; not what was asked for where the index cannot do that.")
    ]
    ignored: Annotated[list[str], Field(description="Typed words that this index can make nothing of.")]
    did_you_mean: Annotated[
        str | None, Field(description="The query with unknown words replaced by near ones of the index, if there are.")
    ]
    total: Annotated[int | None, Field(description="How many results can be paged through; null if unknown.")]
    nothing_close: Annotated[
        bool, Field(description="Whether even the best result is not credible, and the results are merely the nearest.")
    ]
    corrected: Annotated[
        bool, Field(description="Whether these are the results of `did_you_mean`: no text holds the words as typed.")
    ] = False


class Suggestions(BaseModel):
    """What the words typed so far may become."""

    suggestions: list[str]


class ItemList(BaseModel):
    """One page of items in the order of their ids."""

    items: list[ItemOut]
    next: Annotated[str | None, Field(description="Give it as `after` for the next page; null at the end.")]


class Changed(BaseModel):
    """How many items were changed."""

    count: int


class Condition(BaseModel):
    """How the server is."""

    status: Literal["ok"] = "ok"


class ErrorDetail(BaseModel):
    """What went wrong: a word for programs and a sentence for people."""

    code: str
    message: str


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorDetail
