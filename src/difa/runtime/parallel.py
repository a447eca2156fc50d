"""Work side by side: how many threads, chunks of documents, work done before it is wanted, and work that may be cancelled.

Several processes on one machine must not fight over its cores: a process takes the least of the cores it is bound to, the
processor quota of its control groups (as containers have it) and `OMP_NUM_THREADS`. Encoding and looking at vectors wait in
different places: side by side they keep the cores busy that one of them would leave idle. Long work asks between its steps
whether anybody still waits for it (`check_cancelled`). Whoever starts the work says how to find out; without that nothing stops.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from difa.document import Document

T = TypeVar("T")
R = TypeVar("R")

MOST_DOCUMENTS, MOST_WORDS = 256, 4096
"""Documents and words that are scored together: enough to fill batches, and few, since two chunks are in work at a time."""
WITHOUT_VECTORS = 8
"""How many times larger chunks may be where words have no vectors: they take little memory, and each step costs less a word."""
_COLUMN_WORD = 1 << 14  # characters of columns that count as a word: those of a chunk take some 64 MB at most
_SLOT = 8  # characters that an entry of a list counts for, whatever it holds
_GROUPS, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=lambda: True)


def core_count() -> int:
    """Cores that this process may use."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wished = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    limits = [bound, group_quota(_GROUPS, _MEMBERSHIP), int(wished) if wished.isdecimal() else None]
    return min(limit for limit in limits if limit)


def bound_tokenizer(threads: int | None) -> None:
    """Limit the threads of the Rust tokenizer; its pool is made once per process, at first use."""
    if threads is not None or core_count() < (os.cpu_count() or 1):
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads or core_count()))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One thread of torch: trainings on small tensors share the cores well, teams of threads wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def group_quota(groups: Path, membership: Path) -> int | None:
    """The tightest `cpu.max` of the process's control group and those above it, in whole cores; None without one."""
    try:
        lines = membership.read_text().splitlines()
        own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    except OSError:
        own = ""
    found = []
    for folder in [groups / own, *(groups / own).parents]:
        if folder != groups and groups not in folder.parents:
            break
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            found.append(-(-int(quota) // int(period)))
        except (OSError, ValueError):
            continue  # no such file here, or "max": no bound
    return max(1, min(found)) if found else None


class Cancelled(Exception):
    """Nobody waits for the work any more."""


@contextmanager
def cancellable(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Work in this block ends with `Cancelled` at its next step once `is_wanted` says no; it may be asked in any thread."""
    token = _is_wanted.set(is_wanted)
    try:
        yield
    finally:
        _is_wanted.reset(token)


def check_cancelled() -> None:
    """Go on, or raise `Cancelled`."""
    if not _is_wanted.get()():
        raise Cancelled


class HasDocuments(Protocol):
    """Documents that are scored together, and what belongs to them."""

    @property
    def documents(self) -> Sequence[Document]: ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents that are scored together."""

    documents: Sequence[Document]


def chunk_documents(documents: Iterable[Document], times: int = 1) -> Iterator[Chunk]:
    """Chunks of documents in order; a document with too many words is a chunk of its own."""
    return map(Chunk, cut_chunks(documents, weight, times=times))


def weight(document: Document) -> int:
    """Words of a document, and one for every few thousand characters of its columns, which are held as long as its words."""
    return len(document.words) + sum(map(_characters, document.columns.values())) // _COLUMN_WORD


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) + _SLOT * len(value) if isinstance(value, (list, tuple)) else 0


def cut_chunks(
    items: Iterable[T], count_words: Callable[[T], int], is_last: Callable[[T], bool] = lambda item: False, times: int = 1
) -> Iterator[list[T]]:
    """Items in order, at most `MOST_DOCUMENTS` of them and `MOST_WORDS` words together unless one alone has more.

    Args:
        items: documents, or what holds them.
        count_words: the words of an item.
        is_last: whether a chunk must end behind an item; called once for each, in order.
        times: how many times as many documents and words.
    """
    chunk: list[T] = []
    words, most_documents, most_words = 0, times * MOST_DOCUMENTS, times * MOST_WORDS
    for item in items:
        more = count_words(item)
        if chunk and words + more > most_words:
            yield chunk
            chunk, words = [], 0
        chunk.append(item)
        words += more
        if is_last(item) or len(chunk) == most_documents or words >= most_words:
            yield chunk
            chunk, words = [], 0
    if chunk:
        yield chunk


class Ahead(Generic[R]):
    """What `work` makes of items, in order, by another thread, a few at most before they are wanted; its errors come out here.

    To be used in a `with` block. Its end waits for work that is under way, since native code must not outlive the process, but
    not for an item: standard input may never have another one.
    """

    def __init__(self, work: Callable[[T], R], items: Iterable[T], most: int) -> None:
        self._room = threading.Semaphore(most)  # what may be made before it is wanted
        self._made: queue.SimpleQueue[list[R]] = queue.SimpleQueue()  # one at a time; none behind the last
        self._held: list[R] | None = None
        self._error: BaseException | None = None
        self._working, self._is_left = threading.Lock(), False
        # In a copy of our context: who gives up the work gives up this, too.
        arguments = self._make_all, work, iter(items)
        threading.Thread(target=copy_context().run, args=arguments, daemon=True).start()

    def __enter__(self) -> Ahead[R]:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_left = True
        self._room.release()
        self._made.put([])  # for another thread that still waits for more
        with self._working:
            pass

    def __iter__(self) -> Ahead[R]:
        return self

    def __next__(self) -> R:
        if self._held is None:
            self._held = self._made.get()
        if not self._held:
            raise self._error or StopIteration  # an error stays: there is nothing behind it
        made, self._held = self._held, None
        self._room.release()
        return made.pop()

    def comes_within(self, seconds: float) -> bool:
        """Whether something is there, or comes in that time; an error and the end count as something."""
        if self._held is None:
            with suppress(queue.Empty):
                self._held = self._made.get(timeout=seconds)
        return self._held is not None

    def _make_all(self, work: Callable[[T], R], items: Iterator[T]) -> None:
        try:
            while self._room.acquire() and not self._is_left:
                self._made.put(self._make(work, next(items)))
        except StopIteration:
            pass
        except BaseException as error:
            self._error = error
        self._made.put([])

    def _make(self, work: Callable[[T], R], item: T) -> list[R]:
        """What then belongs to the caller alone, since it can be large; nothing once nobody wants it."""
        with self._working:
            return [] if self._is_left else [work(item)]


def prefetch(work: Callable[[T], R], items: Iterable[T], most: int) -> AbstractContextManager[Iterator[R]]:
    """What `work` makes of items, in order: by another thread, so many at most before they are wanted; with 0 by the caller's."""
    return Ahead(work, items, most) if most else nullcontext(map(work, items))
