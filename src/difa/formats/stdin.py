"""Standard input -> lines as they arrive, or, for what must be read from the beginning again, a file."""

from __future__ import annotations

import atexit
import io
import os
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import lru_cache

from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES, has_returns
from difa.storage.atomic import scratch_file

FORMATS = ("text", "jsonl", "json", "csv", "tsv", "parquet")
"""What standard input can be said to hold."""
PAUSE = 0.2  # seconds without anything new after which readers may go on with what is there


def unreadable(error: OSError) -> InputError:
    """What to say of standard input that cannot be read."""
    return InputError(f"standard input: cannot be read: {error.strerror or 'it is closed'}")


def read_lines() -> Iterator[bytes | None]:
    """Lines as they arrive, and None wherever nothing came for a moment; of a line that is too long only the beginning."""
    blocks: queue.Queue[bytes | OSError | None] = queue.Queue(maxsize=4)
    read = _reader()

    def pump() -> None:
        try:
            while block := read():
                blocks.put(block)
            blocks.put(None)
        except OSError as error:
            blocks.put(error)

    # A daemon: a read that never returns must not keep the process alive.
    threading.Thread(target=pump, daemon=True).start()
    rest, size = list[bytes](), 0  # the beginning of a line whose end has not come yet
    is_returned: bool | None = None
    while True:
        try:
            block = blocks.get(timeout=PAUSE)
        except queue.Empty:
            yield None
            continue
        if block is None:
            break
        if isinstance(block, OSError):
            raise unreadable(block)
        is_returned = has_returns(block) if is_returned is None else is_returned
        *whole, last = block.replace(b"\r", b"\n").split(b"\n") if is_returned else block.split(b"\n")
        if whole:
            yield b"".join(rest) + whole[0] + b"\n"
            yield from (line + b"\n" for line in whole[1:])
            rest, size = [], 0
        if size <= MOST_BYTES:
            rest.append(last)
            size += len(last)
    if remainder := b"".join(rest):
        yield remainder


@lru_cache(maxsize=1)  # it can be read once only
def spooled() -> str:
    """The path of a file with all of it, which is there as long as the process."""
    with ExitStack() as stack:
        try:
            file, path = stack.enter_context(scratch_file())
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
        except OSError as error:
            if error.strerror is None:
                raise unreadable(error) from None
            raise InputError(f"standard input: cannot be kept in {tempfile.gettempdir()}: {error.strerror}") from None
        atexit.register(stack.pop_all().close)
    return path


def _reader() -> Callable[[], bytes]:
    try:
        number = sys.stdin.fileno()
    except (OSError, io.UnsupportedOperation):  # something else was put in its place
        return lambda: sys.stdin.buffer.read(1 << 16)
    return lambda: os.read(number, 1 << 16)
