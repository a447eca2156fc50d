"""Limits and defaults of the service, in one place, each with its reason; checked when made."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path

from difa.errors import ConfigError

_LONGEST = 86_400  # seconds that anything may wait


@dataclass(frozen=True)
class Settings:
    """What the service accepts, how it batches, how long it waits.

    Words are counted as `models.cost_of` does: one that is long or odd counts as several.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    api_key: str | None = None
    """Asked for on every /v1 route; None asks for nothing."""
    verdicts: Path | None = None
    """File that verdicts are appended to; None takes none."""

    batch_words: int = 96
    """Words per batch: the encoder gains little from more, and nobody waits much more than 50 ms for the batch before."""
    batch_wait: float = 0.002
    """Seconds that an idle service waits for more documents before it starts a batch; a busy one collects while it works."""
    batch_documents: int = 64
    """Documents per batch at most; 1 turns micro-batching off."""
    long_words: int = 128
    """Documents above this go to a lane of their own, beside the short ones."""

    queue: int = 36
    """Requests that may be in a lane, waiting or under way: 32 busy clients and a few more, some two batches of short
    texts, so that what is accepted is answered soon."""
    queue_words: int = 100_000
    """Words of all requests that are accepted and not answered yet, and so of one: what they hold in memory is bounded."""
    timeout: float = 60.0
    """Seconds a request may take, the longest document included; work that has not begun by then is dropped."""
    read_timeout: float = 10.0
    """Seconds in which a client must have sent its request, and in which it must take up waiting output."""

    reading: int = 16 * 1024 * 1024
    """Bytes that all large bodies may hold while they are read and parsed, and all small ones as much again."""
    max_body: int = 4 * 1024 * 1024
    """Bytes of a request."""
    max_table: int = 20 * 1024 * 1024
    """Bytes of a file that is opened on the page; one at a time is read."""
    max_texts: int = 1000
    """Documents of a request."""
    max_characters: int = 200_000
    """Characters of a document."""
    max_words: int = 40_000
    """Words of a document: half a minute of work on two cores."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("host", "api_key", "verdicts"):
                continue
            least = 0 if field.name in ("batch_wait", "port") else 1
            is_whole = isinstance(field.default, int)
            if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)) or not value >= least:
                raise ConfigError(f"{field.name}: expected a number of at least {least}, got {value!r}")
            if not is_whole and not (math.isfinite(value) and value <= _LONGEST):
                raise ConfigError(f"{field.name}: expected at most {_LONGEST} seconds, got {value!r}")
        if self.port > 65535:
            raise ConfigError(f"port: expected a number of at most 65535, got {self.port}")
        if self.api_key is not None and (not self.api_key or not self.api_key.isascii() or not self.api_key.isprintable()):
            raise ConfigError("api_key: expected at least one printable ASCII character, got something else")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
