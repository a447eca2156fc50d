"""The body of a request -> strict JSON, or the documents of a file, within limits of size, time and memory.

The size is watched while the bytes arrive, since a body need not say how long it is. JSON is taken by its letter: UTF-8, no NaN
or Infinity, no number out of range, no key twice, no nesting without end. FastAPI checks the rest against the schemas.
A file goes to a temporary one without a name, since readers of tables want one. It is read as the command line reads it, in a
child process with bounds on memory and time, so that no file can end the service.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from difa.errors import DifaError
from difa.formats.sandbox import Child, TooLargeError, ask, start, stop
from difa.formats.tables import Columns
from difa.serve.files import described_lines
from difa.serve.settings import Settings
from difa.storage.atomic import scratch_file
from difa.storage.model_folder import unique_keys

T = TypeVar("T")

SMALL = 20_000  # bytes: a few milliseconds of work
_LONGEST_NUMBER = 40  # digits; more than any rate or whole number has use for
_CLOSE = {"Connection": "close"}
_HELPERS = ThreadPoolExecutor(2, "difa-json")  # few: what is parsed can be many times as large as its bytes
_READER = ThreadPoolExecutor(1, "difa-table")  # one file at a time, since its documents are held as a whole
_KIND = "application/octet-stream"
_LONGEST_NAME = 200
_EXPANSION = 2  # characters of the answer for a byte that may be sent: names of columns are repeated in every row
_MEMORY = 512 << 20  # bytes for whoever reads a file


class Refusal(HTTPException):
    """Ends a request with a status of 4xx or 5xx, headers, and a body of {"error": detail}."""


class Allowance:
    """So much at a time, shared by all requests: a client that sends slowly holds what it has sent."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0

    def take(self, count: int) -> None:
        """Hold so much more; refuses if there is no room for it."""
        if self.held + count > self.limit:
            line = "the service is reading as much as it can hold: try again in 1 s"
            raise Refusal(429, line, {**_CLOSE, "Retry-After": "1"})
        self.held += count

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold one until the block ends."""
        self.take(1)
        try:
            yield
        finally:
            self.held -= 1


class Allowances:
    """The allowances of a service. Small bodies have their own, so that large ones that never end do not lock them out."""

    def __init__(self, limit: int) -> None:
        self.small, self.large = Allowance(limit), Allowance(limit)

    def of(self, length: str | None) -> Allowance:
        """The allowance for a body, by the length that its header states."""
        is_small = length is not None and length.isdecimal() and len(length) <= len(str(SMALL)) and int(length) <= SMALL
        return self.small if is_small else self.large


class JsonRequest(Request):
    """A request whose body is read and parsed within the limits, and counts in an allowance until somebody gives that back."""

    def __init__(self, request: Request, settings: Settings, allowance: Allowance) -> None:
        super().__init__(request.scope, request.receive)
        self.settings, self._allowance, self.held = settings, allowance, 0
        self._parsed: Any = None

    def give_back(self) -> None:
        self._allowance.held -= self.held
        self.held = 0

    async def body(self) -> bytes:
        """Read and parse; refuses whatever is not JSON within the limits."""
        limit, seconds = self.settings.max_body, self.settings.read_timeout
        large = f"expected a body of at most {limit} bytes, got more: send fewer or shorter texts"
        late = f"expected the whole request within {seconds:g} s, got only a part of it: send it faster"
        self._check_headers(large)
        content = bytearray()

        def take(chunk: bytes) -> None:
            self._allowance.take(len(chunk))
            self.held += len(chunk)
            content.extend(chunk)

        await _receive(self, take, limit, seconds, large, late)
        whole = bytes(content)
        self._parsed = await off_loop(len(whole), parse, whole)
        return whole

    async def json(self) -> Any:
        return self._parsed

    def _check_headers(self, large: str) -> None:
        kind, _, parameters = self.headers.get("content-type", "").partition(";")
        charset = parameters.strip().lower().removeprefix("charset=").strip('"')
        if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
            raise Refusal(415, "expected the header Content-Type: application/json with UTF-8, got something else", _CLOSE)
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "expected a body without Content-Encoding, got a compressed one: send it as it is", _CLOSE)
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self.settings.max_body and "expect" in self.headers:
            raise Refusal(413, large, _CLOSE)  # the client asked first, and need not send it at all


class JsonRoute(APIRoute):
    """A route whose handler gets a `JsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_within_limits(request: Request) -> Response:
            service = request.app.state.service
            allowance = service.reading.of(request.headers.get("content-length"))
            within_limits = JsonRequest(request, service.settings, allowance)
            try:
                return await handle(within_limits)
            finally:
                within_limits.give_back()

        return handle_within_limits


async def _receive(request: Request, take: Callable[[bytes], object], most: int, seconds: float, large: str, late: str) -> None:
    """Hand over a body as it arrives; refuses one of more bytes, or of more seconds, with these lines."""
    received = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                received += len(chunk)
                if received > most:
                    raise Refusal(413, large, _CLOSE)
                take(chunk)
    except TimeoutError:
        raise Refusal(408, late, _CLOSE) from None
    except ClientDisconnect:
        raise Refusal(499, "the client went away") from None


async def while_there(request: Request, work: asyncio.Future[Any], timeout: float, late: str) -> None:
    """Wait for work that a request asks for, its body being read; refuses when the time is up or the client has gone."""

    async def until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.create_task(until_gone())
    try:
        await asyncio.wait((work, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise Refusal(499, "the client went away") if gone.done() else Refusal(504, late, {"Retry-After": "1"})
    finally:
        gone.cancel()


async def off_loop(size: int, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, in another thread if there is much to do, so that other requests need not wait for it."""
    if size < SMALL:
        return function(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_HELPERS, partial(function, *arguments))


def parse(content: bytes) -> Any:
    """Strict JSON from bytes."""
    try:
        return json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_int=_whole_number,
            parse_float=_number,
            object_pairs_hook=unique_keys,
        )
    except UnicodeDecodeError as error:
        line = f"expected UTF-8, got byte 0x{content[error.start]:02x} at position {error.start}: encode the body as UTF-8"
        raise Refusal(400, line) from None
    except RecursionError:
        raise Refusal(400, "expected JSON of a few levels, got very deep nesting: send a flat object") from None
    except json.JSONDecodeError as error:
        raise Refusal(400, f"expected JSON, got something else: {error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise Refusal(400, f"expected each key once in an object, got {error}") from None


def _refuse_constant(name: str) -> Any:
    raise Refusal(400, f"expected JSON, got {name}, which is no JSON number")


def _whole_number(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise Refusal(400, f"expected numbers of at most {_LONGEST_NUMBER} digits, got one of {len(digits)}")
    return int(digits)


def _number(digits: str) -> float:
    if len(digits) > _LONGEST_NUMBER or math.isinf(value := float(digits)):
        raise Refusal(400, f"expected numbers of ordinary size, got one of {len(digits)} characters that is not")
    return value


async def read_table(request: Request, name: str, columns: Columns, settings: Settings) -> bytes:
    """The answer to a request with a file as its body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise Refusal(415, f"expected the header Content-Type: {_KIND}, got something else", _CLOSE)
    name = Path(name).name[-_LONGEST_NAME:]
    if not name:
        raise Refusal(422, "name: expected the name of the file, got none")
    try:
        with scratch_file() as (file, place):
            most, seconds = settings.max_table, settings.timeout
            large = f"expected a file of at most {most} bytes, got more: score it on the command line"
            late = f"expected the whole file within {seconds:g} s, got only a part of it"
            await _receive(request, file.write, most, seconds, large, late)
            file.flush()
            read = partial(_described, name, place, columns, _EXPANSION * settings.max_table)
            return await _read_apart(request, settings.timeout, read)
    except OSError as error:
        line = f"expected a folder for temporary files with room for this one, got: {error.strerror}"
        raise Refusal(503, line, {**_CLOSE, "Retry-After": "60"}) from None


async def _read_apart(request: Request, timeout: float, read: Callable[[Child], bytes]) -> bytes:
    """The answer; whoever reads is stopped when nobody waits any more."""
    is_over, children = threading.Event(), list[Child]()

    def work() -> bytes:
        child = start(_MEMORY)
        children.append(child)
        try:
            return b"" if is_over.is_set() else read(child)
        finally:
            stop(child)

    reading = asyncio.get_running_loop().run_in_executor(_READER, work)
    try:
        late = f"expected a file that is read within {timeout:g} s, but it is not: score it on the command line"
        await while_there(request, reading, timeout, late)
        return reading.result()
    finally:
        is_over.set()
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
