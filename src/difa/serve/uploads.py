"""A file that someone opens on the page -> its documents, read as the command line reads it.

The bytes go to a temporary file, since readers of tables want one; it has no name, and is gone when the answer is made. It is
read in a child process with bounds on memory and time, so that no file can end the service. A table without one obvious text
column is answered with its columns, so that someone can choose.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO

from starlette.requests import ClientDisconnect, Request

from difa.errors import DifaError
from difa.formats.sandbox import Child, TooLargeError, ask, start, stop
from difa.formats.tables import Columns
from difa.serve.body import Refusal, until_gone
from difa.serve.file_reader import described_lines
from difa.serve.settings import Settings
from difa.storage.atomic import scratch_file

_READER = ThreadPoolExecutor(1, "difa-table")  # one file at a time, since its documents are held as a whole
_KIND = "application/octet-stream"
_CLOSE = {"Connection": "close"}
_LONGEST_NAME = 200
_EXPANSION = 2  # characters of the answer for a byte that may be sent: names of columns are repeated in every row
_MEMORY = 512 << 20  # bytes for whoever reads a file


async def read_table(request: Request, name: str, columns: Columns, settings: Settings) -> bytes:
    """The answer to a request with a file as its body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise Refusal(415, f"expected the header Content-Type: {_KIND}, got something else", _CLOSE)
    name = Path(name).name[-_LONGEST_NAME:]
    if not name:
        raise Refusal(422, "name: expected the name of the file, got none")
    try:
        with scratch_file() as (file, place):
            await _receive(request, file, settings)
            file.flush()
            read = partial(_described, name, place, columns, _EXPANSION * settings.max_table)
            return await _while_wanted(request, settings.timeout, read)
    except OSError as error:
        line = f"expected a folder for temporary files with room for this one, got: {error.strerror}"
        raise Refusal(503, line, {**_CLOSE, "Retry-After": "60"}) from None


async def _while_wanted(request: Request, timeout: float, read: Callable[[Child], bytes]) -> bytes:
    """The answer; whoever reads is stopped when the time is over or the client has gone."""
    is_over, children = threading.Event(), list[Child]()

    def work() -> bytes:
        child = start(_MEMORY)
        children.append(child)
        try:
            return b"" if is_over.is_set() else read(child)
        finally:
            stop(child)

    reading = asyncio.get_running_loop().run_in_executor(_READER, work)
    gone = asyncio.create_task(until_gone(request))
    try:
        await asyncio.wait((reading, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            line = f"expected a file that is read within {timeout:g} s, but it is not: score it on the command line"
            raise Refusal(499, "the client went away") if gone.done() else Refusal(504, line, {"Retry-After": "1"})
        return reading.result()
    finally:
        is_over.set()
        gone.cancel()
        reading.cancel()  # no effect on what has begun
        for child in children:
            child.kill()
        await asyncio.wait((reading,))  # the file is there as long as it is read
        if not reading.cancelled():
            reading.exception()  # asyncio complains of those that nobody looks at


def _described(name: str, place: str, columns: Columns, room: int, child: Child) -> bytes:
    try:
        head, *documents = ask(child, name, described_lines, name, place, columns.text, columns.id, room)
    except TooLargeError as error:
        raise Refusal(413, f"{error}: score it on the command line") from None
    except DifaError as error:
        raise Refusal(422, str(error)) from None
    return head.rstrip()[:-1] + b', "documents": [' + b", ".join(map(bytes.rstrip, documents)) + b"]}"


async def _receive(request: Request, file: IO[bytes], settings: Settings) -> None:
    received = 0
    try:
        async with asyncio.timeout(settings.timeout):
            async for chunk in request.stream():
                received += len(chunk)
                if received > settings.max_table:
                    line = f"expected a file of at most {settings.max_table} bytes, got more: score it on the command line"
                    raise Refusal(413, line, _CLOSE)
                file.write(chunk)
    except TimeoutError:
        raise Refusal(408, f"expected the whole file within {settings.timeout:g} s, got only a part of it", _CLOSE) from None
    except ClientDisconnect:
        raise Refusal(499, "the client went away") from None
