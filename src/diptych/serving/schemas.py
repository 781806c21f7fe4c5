"""What requests and answers look like."""

from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field

from diptych.methods.purposes import Purpose

MOST_PARTS, MOST_RESULTS, DEEPEST_OFFSET, MOST_ITEMS = 16, 1_000, 100_000, 256
LONGEST_TEXT, LONGEST_WHERE, LONGEST_ID = 10_000, 20_000, 1_024

Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
Into = Annotated[str | None, Field(max_length=100, description="The modality to search; all of them if left out.")]
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
    """A picture."""

    kind: Literal["image"]
    data: Annotated[Base64Bytes, Field(description="The picture's file in base64.")]
    weight: Weight = 1.0


Part = Annotated[TextPart | ItemPart | ImagePart, Field(discriminator="kind")]


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
            "item (partner), or anything alike (both, which auto means there)."
        ),
    ] = "auto"


class SearchRequest(Options):
    """A query: words, pictures and items, each with a weight, summed."""

    parts: Annotated[list[Part], Field(min_length=1, max_length=MOST_PARTS)]


class UploadRequest(Options):
    """The field `query` of a multipart search: more parts, and which results are wanted."""

    parts: Annotated[list[Part], Field(max_length=MOST_PARTS)] = []
    weights: Annotated[list[Weight], Field(max_length=MOST_PARTS, description="Of the pictures, in order.")] = []


class SearchForm(BaseModel):
    """A search by uploaded pictures."""

    picture: Annotated[
        list[Annotated[bytes, Field(json_schema_extra={"format": "binary"})]],
        Field(min_length=1, max_length=MOST_PARTS),
    ]
    query: Annotated[str, Field(description="An UploadRequest as JSON.")] = "{}"


class ItemBody(Strict):
    """The content of an item: words or a picture."""

    text: Annotated[str | None, Field(min_length=1, max_length=LONGEST_TEXT)] = None
    data: Annotated[Base64Bytes | None, Field(description="A picture's file in base64.")] = None
    metadata: dict[str, Any] = {}


class NewItemBody(ItemBody):
    """An item to add."""

    id: Id


class AddRequest(Strict):
    """Items to add, all or none."""

    items: Annotated[list[NewItemBody], Field(min_length=1, max_length=MOST_ITEMS)]
    replace: Annotated[bool, Field(description="Put them in the place of items with the same ids.")] = False


class ItemForm(BaseModel):
    """An item whose picture is uploaded."""

    picture: Annotated[bytes, Field(json_schema_extra={"format": "binary"})]
    item: Annotated[str, Field(description="The rest of the item as JSON: its id, if the address lacks it, metadata.")]


class ItemOut(BaseModel):
    """An item of the index."""

    id: str
    modality: str
    metadata: dict[str, Any]
    media: Annotated[str | None, Field(description="Where its picture is, if it has one.")] = None


class HitOut(ItemOut):
    """A result."""

    score: Annotated[float, Field(description="Cosine with the query.")]
    probability: Annotated[float | None, Field(description="That it belongs to the query; null if not calibrated.")]


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


class ItemList(BaseModel):
    """One page of items in the order of their ids."""

    items: list[ItemOut]
    next: Annotated[str | None, Field(description="Give it as `after` for the next page; null at the end.")]


class Changed(BaseModel):
    """How many items were changed."""

    count: int


class Projection(BaseModel):
    """The space in two dimensions, column by column."""

    ids: list[str]
    modalities: list[str]
    labels: list[str | None]
    x: list[float]
    y: list[float]
    total: Annotated[int, Field(description="Items placed; fewer are sent where there are very many.")]


class Limits(BaseModel):
    """What this server reads and allows."""

    writes: bool
    key_needed: bool
    max_upload_bytes: int
    max_pixels: int
    max_results: int


class Info(BaseModel):
    """What is served, as far as it is known."""

    model_config = ConfigDict(extra="allow")

    purposes: Annotated[
        list[str], Field(description="What a query may look for; empty where the index has a single space.")
    ] = []
    limits: Limits


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
