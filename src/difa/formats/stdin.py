"""Standard input -> lines as they arrive, or, for what must be read from the beginning again, a file."""

from __future__ import annotations

import atexit
import io
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from typing import cast

from difa.errors import InputError
from difa.formats.bounds import lines_in
from difa.storage.atomic import scratch_file

FORMATS = ("text", "jsonl", "json", "csv", "tsv", "parquet")
"""What standard input can be said to hold."""
PAUSE = 0.2  # seconds without anything new after which readers may go on with what is there


def unreadable(error: OSError) -> InputError:
    """What to say of standard input that cannot be read."""
    return InputError(f"standard input: cannot be read: {error.strerror or 'it is closed'}")


def read_lines() -> Iterator[bytes | None]:
    """Lines as they arrive, and None wherever nothing came for a moment; of a line that is too long only the beginning."""
    lines: queue.Queue[bytes | OSError | None] = queue.Queue(maxsize=16)

    def pump() -> None:
        try:
            for line in lines_in(file):
                lines.put(line)
            lines.put(None)
        except OSError as error:
            lines.put(error)

    try:
        file = _opened()
    except OSError as error:
        raise unreadable(error) from None
    # A daemon: a read that never returns must not keep the process alive.
    threading.Thread(target=pump, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=PAUSE)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        if isinstance(line, OSError):
            raise unreadable(line)
        yield line


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


def _opened() -> io.BufferedReader:
    """Standard input with a buffer of its own: one that the end of the process wants to close must not be locked by a read."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # something else was put in its place
        return io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
