"""What a person says of a text, on the page or by a program -> a line of the file that was named at the start."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from difa.serve.errors import Refusal
from difa.verdict_file import append_verdicts

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_SPAN = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_WRITER = ThreadPoolExecutor(1, "difa-verdicts")  # one at a time: they would only wait for each other
_log = logging.getLogger("difa.serve")

EXAMPLES = {
    "a word": {
        "summary": "the person calls one word odd",
        "value": {
            "text": "Is the wpdlkrt garden bench in stock?",
            "verdict": "odd",
            "spans": [[7, 14]],
            "model": "support",
            "at": "2026-11-17T22:00:00Z",
        },
    },
    "a false alarm": {"value": {"text": "Thank you, Louise!", "verdict": "normal"}},
}


class Verdict(BaseModel):
    """What a person says of a text, as it is sent and as it is kept."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str, Field(description="The text that was judged.")]
    verdict: Annotated[Literal["odd", "normal"], Field(description="What the person says of the text as a whole.")]
    spans: Annotated[
        list[Annotated[list[int], WithJsonSchema(_SPAN)]],
        Field(description="Start and end of each word that the person calls odd; left out where no word was judged."),
    ] = Field(default_factory=list)
    model: Annotated[str, Field(description="The model that flagged it.")] = ""
    at: Annotated[
        str | None,
        Field(description="When, in UTC; the present time without it."),
        WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-17T22:00:00Z"]}),
    ] = None

    @model_validator(mode="after")
    def _spans_in_the_text(self) -> Verdict:
        if not self.text.strip():
            raise ValueError("text: expected a text, got none")
        for span in self.spans:
            if len(span) != 2 or not 0 <= span[0] < span[1] <= len(self.text):
                raise ValueError(f"spans: expected pairs of 0 <= start < end <= {len(self.text)}, got another one")
            if not self.text[span[0] : span[1]].strip():
                raise ValueError("spans: expected words, got white space")
        if self.verdict == "normal" and self.spans:
            raise ValueError("spans: expected none in a normal text, got some: leave them out, or call the text odd")
        return self

    @model_validator(mode="after")
    def _time_and_name(self) -> Verdict:
        if not _is_time(self.at):
            raise ValueError("at: expected a time such as 2026-11-17T22:00:00Z, got something else")
        if any("\ud800" <= character <= "\udfff" for character in self.model):
            raise ValueError("model: expected a name in Unicode, got half a character")
        return self


def _is_time(at: str | None) -> bool:
    try:
        return at is None or datetime.strptime(at, _TIME).strftime(_TIME) == at
    except ValueError:
        return False


class Kept(BaseModel):
    """A verdict is on disk."""

    status: Literal["kept"] = "kept"


async def keep_verdict(path: Path, verdict: Verdict, timeout: float) -> None:
    """Append it, and return when it is on disk; one without a time gets the present one."""
    record = verdict.model_dump(exclude=set() if verdict.spans else {"spans"})
    record["at"] = verdict.at or datetime.now(UTC).strftime(_TIME)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.get_running_loop().run_in_executor(_WRITER, append_verdicts, path, [record], timeout)
    except TimeoutError:
        line = f"expected to write the verdict within {timeout:g} s, but others hold the file: try again later"
        raise Refusal(504, line, {"Retry-After": "1"}) from None
    except OSError as error:
        _log.error("a verdict could not be written: %s", error.strerror)
        line = f"expected a file for verdicts that can be written, got: {error.strerror}: it must be mended at the service"
        raise Refusal(503, line, {"Retry-After": "60"}) from None
