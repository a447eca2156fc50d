"""Long work that may be given up: it asks between its steps whether anybody still waits for it.

Whoever starts the work says how to find out; the work itself only calls `check_wanted`. Without an asker nothing ever stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(Exception):
    """Nobody waits for the work any more."""


_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=lambda: True)


@contextmanager
def while_wanted(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Work in this block ends with `Abandoned` at its next step once `is_wanted` says no; it may be asked in any thread."""
    token = _is_wanted.set(is_wanted)
    try:
        yield
    finally:
        _is_wanted.reset(token)


def check_wanted() -> None:
    """Go on, or raise `Abandoned`."""
    if not _is_wanted.get()():
        raise Abandoned
