"""A file that someone opens on the page -> its documents, read as the command line reads it.

The bytes go to a temporary file, since readers of tables want one; it has no name, and is gone when the answer is made. A table
without one obvious text column is answered with its columns, so that someone can choose.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO, Any

from starlette.requests import ClientDisconnect, Request

from difa.document import Document
from difa.errors import DifaError
from difa.formats import read_entries
from difa.formats.packed import UnpackedError
from difa.formats.sources import Source, place_source
from difa.formats.tables import AmbiguousTextError, Columns
from difa.runtime.stopping import Abandoned, check_wanted, while_wanted
from difa.scratch import scratch_file
from difa.serve.body import Refusal, until_gone
from difa.serve.settings import Settings
from difa.words import split_words

_READER = ThreadPoolExecutor(1, "difa-table")  # one file at a time, since its documents are held as a whole
_KIND = "application/octet-stream"
_CLOSE = {"Connection": "close"}
_LONGEST_NAME = 200
_EXPANSION = 2  # characters of the answer for a byte that may be sent: names of columns are repeated in every row
_UNPACKED = 4  # bytes that may come out of a packed file for one that may be sent


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
            return await _while_wanted(request, settings.timeout, partial(_described, name, place, columns, settings))
    except OSError as error:
        line = f"expected a folder for temporary files with room for this one, got: {error.strerror}"
        raise Refusal(503, line, {**_CLOSE, "Retry-After": "60"}) from None


async def _while_wanted(request: Request, timeout: float, read: Callable[[], bytes]) -> bytes:
    """The answer; the reading is given up when the time is over or the client has gone."""
    is_over = threading.Event()

    def work() -> bytes | None:
        try:
            with while_wanted(lambda: not is_over.is_set()):
                check_wanted()
                return read()
        except Abandoned:
            return None

    reading = asyncio.get_running_loop().run_in_executor(_READER, work)
    gone = asyncio.create_task(until_gone(request))
    try:
        await asyncio.wait((reading, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise Refusal(499, "the client went away") if gone.done() else _too_slow(timeout)
        return reading.result() or b""
    finally:
        is_over.set()
        gone.cancel()
        reading.cancel()  # no effect on what has begun
        await asyncio.wait((reading,))  # the file is there as long as it is read
        if not reading.cancelled():
            reading.exception()  # asyncio complains of those that nobody looks at


def _too_slow(timeout: float) -> Refusal:
    line = f"expected a file that is read within {timeout:g} s, but it is not: score it on the command line, or try again later"
    return Refusal(504, line, {"Retry-After": "1"})


def _described(name: str, place: str, asked: Columns, settings: Settings) -> bytes:
    try:
        return describe(name, place, asked, settings)
    except UnpackedError as error:
        raise Refusal(413, f"{error}: score it on the command line") from None
    except DifaError as error:
        raise Refusal(422, str(error)) from None


def describe(name: str, place: str, asked: Columns, settings: Settings) -> bytes:
    """Columns and documents of a file as JSON; ids and complaints name it by its name."""
    try:
        source = place_source(name, place, asked, _UNPACKED * settings.max_table)
    except AmbiguousTextError as error:
        return _answer(list(error.columns), None, None, [])
    table = source.table
    columns = list(table.columns) if table else []
    room = _EXPANSION * settings.max_table
    documents: list[str] = []
    for record in _records(source):
        documents.append(json.dumps(record, ensure_ascii=False))
        room -= len(documents[-1])
        if room < 0:
            raise Refusal(413, "the file holds more than fits into a page: score it on the command line")
    return _answer(columns, table.text if table else None, table.id if table else None, documents)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    for entry in read_entries([source]):
        check_wanted()
        if entry.bad is not None:
            yield {"id": f"{source.label}:{entry.position.line}", "error": entry.bad}
        elif entry.document is not None:
            yield _record(entry.document)


def _record(document: Document) -> dict[str, Any]:
    record: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.words != split_words(document.text):
        record["tokens"] = [word.text for word in document.words]
    if document.columns:
        record["columns"] = dict(document.columns)
    return record


def _answer(columns: list[str], text: str | None, id: str | None, documents: list[str]) -> bytes:
    head = json.dumps({"columns": columns, "text_column": text, "id_column": id}, ensure_ascii=False)
    return f'{head[:-1]}, "documents": [{", ".join(documents)}]}}'.encode()


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
