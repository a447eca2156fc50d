"""Items -> what is made of each, side by side and in order: for encoding ahead, graph sessions and worker processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ordered_map(
    submit: Callable[[T], Future[R]], items: Iterator[T], ready: Callable[[], T | None], ahead: int
) -> Generator[tuple[T, R], None, None]:
    """Each item and what was made of it, in order; an error comes out in the place of its item.

    What is done goes out before anything is waited for. Whoever stops early gives up what has not begun.

    Args:
        submit: begins the work on an item.
        items: waits for the next item.
        ready: gives the next item if there is one already, and None otherwise.
        ahead: items in work at a time.
    """
    waiting: deque[tuple[T, Future[R]]] = deque()

    def fill() -> None:
        while len(waiting) < ahead and (following := ready()) is not None:
            waiting.append((following, submit(following)))

    try:
        for item in items:
            waiting.append((item, submit(item)))
            while waiting:
                fill()
                current, future = waiting.popleft()
                pair = [(current, future.result())]
                del future  # what was made belongs to the caller alone, who may let go of it: it can be large
                fill()
                yield pair.pop()
    finally:
        for _, future in waiting:
            future.cancel()
