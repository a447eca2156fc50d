"""The shapes at the HTTP edge: pydantic checks requests, and FastAPI writes the OpenAPI document from them.

The documents of a list are not checked here but one by one in `service`, so that a broken one costs only itself.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.config import JsonDict

from difa.formats.lines import kind_of

TIME = "%Y-%m-%dT%H:%M:%SZ"
_AT = "2026-11-17T22:00:00Z"

_WORDS = {"type": "array", "items": {"type": "string"}}
_RECORD = {
    "type": "object",
    "description": "As a JSON line of the command line: `text`, or `tokens`, or both, and perhaps `id`.",
    "properties": {"text": {"type": "string"}, "tokens": _WORDS, "id": {"type": ["string", "integer"]}},
}
_DOCUMENT = {"anyOf": [{"type": "string"}, _WORDS, _RECORD]}

_ONE_INPUT_AND_ONE_RATE: JsonDict = {
    "oneOf": [
        {"required": [name], "properties": {name: {"type": kind}}}
        for name, kind in (("text", "string"), ("tokens", "array"), ("texts", "array"))
    ],
    "not": {"required": ["fpr", "fdr"], "properties": {"fpr": {"type": "number"}, "fdr": {"type": "number"}}},
}

_SPAN = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_OPENING = re.compile(r"(Input should be|\w+ should have) (a valid )?")  # of the messages of pydantic
_WANTED = {"": "a JSON object", "name": "the name of the file"}

Rate = Annotated[float | None, Field(default=None, gt=0, lt=1)]

_LIST = ["Where is my order?", ["My", "parcel", "is", "wet"], {"id": "m-17", "text": "Thank you 👍"}]
_REASONS = {"text": "Your order was h4ck3d", "return_reasons": True, "allow": ["LK-48213", "h4ck3d"]}
_STRANGE = "Is the wpdlkrt garden bench in stock?"
_ODD = {"text": _STRANGE, "verdict": "odd", "spans": [[7, 14]], "model": "support", "at": _AT}

SCORE_EXAMPLES: dict[str, Any] = {
    "one text": {"value": {"text": _STRANGE, "fpr": 0.05}},
    "a list": {
        "summary": "strings, word lists and objects, mixed",
        "value": {"texts": _LIST, "fdr": 0.1, "return_words": False},
    },
    "reasons": {"summary": "why, in words, and two words that are normal", "value": _REASONS},
}
VERDICT_EXAMPLES: dict[str, Any] = {
    "a word": {"summary": "the person calls one word odd", "value": _ODD},
    "a false alarm": {"value": {"text": "Thank you, Louise!", "verdict": "normal"}},
}


def is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which JSON can hold but no file."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class _Shape(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class _Body(_Shape):
    """The body of a request: an object with known keys alone."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, record: Any) -> Any:
        if not isinstance(record, dict):
            raise ValueError(f"expected a JSON object, got {kind_of(record)}")
        if not cls.model_fields.keys() >= record.keys():
            raise ValueError(f"expected only the keys {', '.join(cls.model_fields)}, got another one: remove it")
        return record


class ScoreRequest(_Body):
    """What to score, and how."""

    model_config = ConfigDict(json_schema_extra=_ONE_INPUT_AND_ONE_RATE)

    text: str | None = None
    """One document as a string."""
    tokens: list[str] | None = None
    """One document as a list of words, scored one by one."""
    texts: list[Annotated[Any, WithJsonSchema(_DOCUMENT)]] | None = None
    """Several documents. One that cannot be scored gets an `error` in its place."""
    model: str | None = None
    """A name from /v1/models; the first model without it."""
    fpr: Rate = None
    """Flag this share of normal documents, and words, at most."""
    fdr: Rate = None
    """Instead: at most this share of the flagged documents, and words, of this request may be normal."""
    return_words: bool = True
    """Whether results list their words."""
    return_evidence: bool = True
    """Whether documents carry the evidence of each trait, and words that of each view."""
    return_reasons: bool = False
    """Whether words carry the reasons, in words; slower."""
    allow: list[str] = Field(default_factory=list, max_length=10_000)
    """Words, and phrases, that are normal, in capitals or not: scored as if not there."""

    @model_validator(mode="after")
    def _one_input_and_one_rate(self) -> ScoreRequest:
        given = [name for name in ("text", "tokens", "texts") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of text, tokens and texts, got {' and '.join(given) or 'none'}")
        if self.fpr is not None and self.fdr is not None:
            raise ValueError("expected one of fpr and fdr, got both")
        return self


class Verdict(_Body):
    """What a person says of a text, as it is sent and as it is kept."""

    text: str
    """The text that was judged."""
    verdict: Literal["odd", "normal"]
    """What the person says of the text as a whole."""
    spans: list[Annotated[list[int], WithJsonSchema(_SPAN)]] = Field(default_factory=list)
    """Start and end of each word that the person calls odd; left out where no word was judged."""
    model: str = ""
    """The model that flagged it."""
    at: Annotated[str | None, WithJsonSchema({"type": "string", "format": "date-time", "examples": [_AT]})] = None
    """When, in UTC; the present time without it."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Verdict:
        if not self.text.strip():
            raise ValueError("text: expected a text, got none")
        for span in self.spans:
            if len(span) != 2 or not 0 <= span[0] < span[1] <= len(self.text):
                raise ValueError(f"spans: expected pairs of 0 <= start < end <= {len(self.text)}, got another one")
            if not self.text[span[0] : span[1]].strip():
                raise ValueError("spans: expected words, got white space")
        if self.verdict == "normal" and self.spans:
            raise ValueError("spans: expected none in a normal text, got some: leave them out, or call the text odd")
        try:
            is_time = self.at is None or datetime.strptime(self.at, TIME).strftime(TIME) == self.at
        except ValueError:
            is_time = False
        if not is_time:
            raise ValueError(f"at: expected a time such as {_AT}, got something else")
        if not is_unicode(self.model):
            raise ValueError("model: expected a name in Unicode, got half a character")
        return self


class Reason(_Shape):
    """A reason for a view's evidence, and its share of it."""

    text: str
    weight: float


class Word(_Shape):
    """One scored word; offsets count Unicode code points."""

    text: str
    start: int
    end: int
    score: float
    p_value: float
    is_anomaly: bool
    suggestion: str | None = None
    """What the word may have been meant to be."""
    fault: str | None = None
    """The fault that the word belongs to, if that has a name."""
    evidence: dict[str, float] | None = None
    allowed: bool | None = None
    """True for a word that the request or the model allows."""
    reasons: dict[str, list[Reason]] | None = None
    sentence: str | None = None
    """With reasons: what is unusual about the word, in plain words."""


class ScoredDocument(_Shape):
    """One scored document, with the fields of the command line's JSON."""

    id: str | None
    text: str
    score: float
    p_value: float
    is_anomaly: bool
    summary: str
    """What a flagged document is flagged for; empty if it is not flagged."""
    evidence: dict[str, float] | None = None
    words: list[Word] | None = None
    sentence: str | None = None
    """With reasons: the first thing to say of the document."""


class Failed(_Shape):
    """A document of a list that could not be scored."""

    id: str | None
    error: str


class ScoreResponse(_Shape):
    """One result per document, in their order, and the rate by which flags were set."""

    model: str
    rule: Literal["fpr", "fdr"]
    rate: float
    results: list[ScoredDocument | Failed]


class ReadDocument(_Shape):
    """A document of a file: a line, a row, or a task; an entry of `texts` once `columns` is taken out."""

    id: str
    text: str
    tokens: list[str] | None = None
    """Its words, where the file lists them."""
    columns: dict[str, Any] | None = None
    """The other cells of its row."""


class TableResponse(_Shape):
    """What a file holds. Without a text column there are no documents: name one of the columns, and ask again."""

    columns: list[str]
    """Of a table, in order; none for text and JSON lines."""
    text_column: str | None
    id_column: str | None
    documents: list[ReadDocument | Failed]


class Histogram(_Shape):
    """How many normal documents scored between one edge and the next."""

    edges: list[float]
    counts: list[int]


class Threshold(_Shape):
    """The document score above which a document is flagged at a false-alarm rate."""

    rate: float
    score: float


class Model(_Shape):
    """A model that is served."""

    name: str
    fpr: float
    fdr: float | None
    views: list[str]
    examples: list[str]
    """Texts to try, made of words that its normal documents share: one with a typo, and the same without; or none."""
    fitted_on: str
    """How much normal text it was fitted on, in words."""
    normal_documents: int
    """Those that p-values are ranked among: each of several copies once, and none that was left out."""
    learned_from: str | None
    """How much new text and how many verdicts it learned from beside normal documents, in words."""
    learned: list[str]
    """What stands out in the new text, one sentence each; empty for a model fitted without a feed."""
    least_p_value: float
    histogram: Histogram
    thresholds: list[Threshold]


class RequestLimits(_Shape):
    """What a request may hold: the settings of these names."""

    body_bytes: int = Field(validation_alias="max_body")
    file_bytes: int = Field(validation_alias="max_table")
    texts: int = Field(validation_alias="max_texts")
    characters: int = Field(validation_alias="max_characters")
    words: int = Field(validation_alias="max_words")


class ModelsResponse(_Shape):
    """The models, the default one first, the limits, and whether verdicts are kept."""

    models: list[Model]
    limits: RequestLimits
    takes_verdicts: bool
    """Whether POST /v1/verdicts keeps what people say."""


class Problem(_Shape):
    """Why a request was refused: what was expected, what came, what to do."""

    error: str


def line_of(error: RequestValidationError) -> str:
    """What is wrong with a request, in one line that never repeats what was sent."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])  # without "body" or "query"
    if first["type"] == "missing":
        message = f"{_WANTED.get(place, 'a value')}, got none"
    elif not place:
        return str(first["msg"]).removeprefix("Value error, ")
    else:
        wanted, _, found = _OPENING.sub("", str(first["msg"])).partition(" after validation, not ")
        given = first["input"]
        if not found and isinstance(given, str) and "character" in wanted:
            found = str(len(given))
        message = f"{wanted}, got {found or kind_of(given)}"
    return f"{place}: expected {message}" if place else f"expected {message}"
