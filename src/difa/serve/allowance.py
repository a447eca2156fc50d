"""Bytes that requests may hold while they are read: a client that sends slowly holds what it has sent.

Small bodies have an allowance of their own, so that a few large ones that never end do not lock everybody out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from difa.serve.errors import Refusal

SMALL = 20_000  # bytes: a few milliseconds of work


class Allowance:
    """So many bytes at a time, shared by all who read."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0

    @contextmanager
    def share(self) -> Iterator[Share]:
        """A part of it, given back when the block ends."""
        share = Share(self)
        try:
            yield share
        finally:
            share.give_back()


class Share:
    """What one request holds of an allowance."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance, self.held = allowance, 0

    def take(self, count: int) -> Refusal | None:
        """Hold so many bytes more, or say what to answer where there is no room for them."""
        if self._allowance.held + count > self._allowance.limit:
            line = "the service is reading as much as it can hold: try again in 1 s"
            return Refusal(429, line, {"Connection": "close", "Retry-After": "1"})
        self._allowance.held += count
        self.held += count
        return None

    def give_back(self) -> None:
        """Hold nothing any more."""
        self._allowance.held -= self.held
        self.held = 0


class Reading:
    """The allowances of a service."""

    def __init__(self, limit: int) -> None:
        self.small, self.large = Allowance(limit), Allowance(limit)

    def of(self, length: str | None) -> Allowance:
        """The allowance for a body, by the length that its header states."""
        is_small = length is not None and length.isdecimal() and len(length) <= len(str(SMALL)) and int(length) <= SMALL
        return self.small if is_small else self.large
