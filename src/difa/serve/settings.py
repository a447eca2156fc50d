"""Limits and defaults of the service, in one place, each with its reason; checked when made.

Those that are annotated with an `Option` are options of `difa serve`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_type_hints

from typer import Option

from difa.config.checks import Bounds
from difa.errors import ConfigError

_LONGEST = 86_400  # seconds that anything may wait


@dataclass(frozen=True)
class Settings:
    """What the service accepts, how it batches, how long it waits.

    Words are counted as `models.cost_of` does: one that is long or odd counts as several.
    """

    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 listens on all addresses of this machine.")] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen on; 0 chooses a free one.")] = 8000
    api_key: Annotated[
        str | None,
        Option(envvar="DIFA_API_KEY", help="Key that every /v1 request must send; safer in the variable DIFA_API_KEY."),
    ] = None

    batch_words: Annotated[int, Option(help="Maximum words in a batch; a long or odd word counts as several.")] = 96
    """The encoder gains little from more, and nobody waits much more than 50 ms for the batch before."""
    batch_documents: Annotated[int, Option(help="Maximum documents in a batch; 1 turns micro-batching off.")] = 64
    batch_wait: Annotated[float, Option(help="Seconds that an idle service waits for more documents.")] = 0.002
    """A busy one collects while it works."""
    long_words: int = 128
    """Documents above this go to a lane of their own, beside the short ones."""

    queue: Annotated[int, Option(help="Maximum requests queued or running; further ones get 429.")] = 36
    """Of a lane: 32 busy clients and a few more, some two batches of short texts, so that what is accepted is answered soon."""
    queue_words: int = 100_000
    """Words of all requests that are accepted and not answered yet, and so of one: what they hold in memory is bounded."""
    timeout: Annotated[float, Option(help="Maximum seconds for one request.")] = 60.0
    """The longest document included; work that has not begun by then is dropped."""
    read_timeout: float = 10.0
    """Seconds in which a client must have sent its request, and in which it must take up waiting output."""

    reading: int = 16 * 1024 * 1024
    """Bytes that all large bodies may hold while they are read and parsed, and all small ones as much again."""
    max_body: Annotated[int, Option(help="Maximum bytes of a request.")] = 4 * 1024 * 1024
    max_table: int = 20 * 1024 * 1024
    """Bytes of a file that is opened on the page; one at a time is read."""
    max_texts: Annotated[int, Option(help="Maximum documents of a request.")] = 1000
    max_characters: Annotated[int, Option(help="Maximum characters of a document.")] = 200_000
    max_words: Annotated[int, Option(help="Maximum words of a document; a long or odd word counts as several.")] = 40_000
    """Half a minute of work on two cores."""
    verdicts: Annotated[
        Path | None,
        Option(help="File that people's verdicts are appended to, as JSON lines. Default: the page alone keeps them."),
    ] = None

    def __post_init__(self) -> None:
        bounds = {"port": Bounds(0, 65535), "batch_wait": Bounds(0, _LONGEST)}
        for name, kind in get_type_hints(type(self)).items():
            if kind in (int, float):
                allowed = bounds.get(name, Bounds(1) if kind is int else Bounds(1, _LONGEST))
                if expected := allowed.refusal(getattr(self, name), kind):
                    raise ConfigError(f"{name}: expected {expected}, got {getattr(self, name)!r}")
        if self.api_key is not None and not (self.api_key and self.api_key.isascii() and self.api_key.isprintable()):
            raise ConfigError("api_key: expected at least one printable ASCII character, got something else")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
