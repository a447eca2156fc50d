"""The body of a request -> strict JSON, or the documents of a file, within limits of size, time and memory.

The size is watched while the bytes arrive, since a body need not say how long it is. JSON must be UTF-8 without NaN, Infinity,
numbers out of range, duplicate keys or very deep nesting. FastAPI checks the rest against the schemas.
A file goes to a temporary one without a name, since readers of tables want one. It is read as the command line reads it, in a
child process with bounds on memory and time, so that no file can end the service.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from difa.formats.sandbox import ask, start, stop
from difa.formats.tables import Columns
from difa.serve.files import table_as_json
from difa.serve.settings import Settings
from difa.storage.atomic import scratch_file
from difa.storage.model_folder import unique_keys

T = TypeVar("T")

SMALL = 20_000  # bytes: a few milliseconds of work
_LONGEST_NUMBER = 40  # digits; more than any rate or whole number has use for
_HELPERS = ThreadPoolExecutor(2, "difa-json")  # few: what is parsed can be many times as large as its bytes
_LONGEST_NAME = 200
_EXPANSION = 2  # characters of the answer for a byte that may be sent: names of columns are repeated in every row
_MEMORY = 512 << 20  # bytes for the process that reads a file


class Refusal(HTTPException):
    """Ends a request with a status of 4xx or 5xx, a body of {"error": line}, and perhaps the seconds until a new attempt."""

    def __init__(self, status: int, line: str, *, after: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, line, {**(headers or {}), **({} if after is None else {"Retry-After": str(after)})})


class Allowance:
    """An amount that all requests share: clients that send slowly hold a part of it for long."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0

    def take(self, amount: int) -> None:
        """Hold this much more; refuses if there is no room for it."""
        if self.held + amount > self.limit:
            raise Refusal(429, "the service is reading as much as it can hold: try again in 1 s", after=1)
        self.held += amount

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold one until the block ends."""
        self.take(1)
        try:
            yield
        finally:
            self.held -= 1


class JsonRequest(Request):
    """A request whose body is strict JSON. Its bytes count in an allowance until they are given back."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.scope, request.receive)
        service = request.app.state.service
        is_small = stated_length(request, SMALL + 1) <= SMALL
        # Small bodies have an allowance of their own, so that large ones that never end do not lock them out.
        self._allowance: Allowance = service.small_bodies if is_small else service.large_bodies
        self._settings: Settings = service.settings
        self.held = 0

    def give_back(self) -> None:
        self._allowance.held -= self.held
        self.held = 0

    async def body(self) -> bytes:
        """Read the body; refuses other kinds of content, and more than the limits."""
        kind, _, parameters = self.headers.get("content-type", "").partition(";")
        charset = parameters.strip().lower().removeprefix("charset=").strip('"')
        if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
            raise Refusal(415, "expected the header Content-Type: application/json with UTF-8, got something else")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "expected a body without Content-Encoding, got a compressed one: send it as it is")
        content = bytearray()

        def keep(chunk: bytes) -> None:
            self._allowance.take(len(chunk))
            self.held += len(chunk)
            content.extend(chunk)

        limits = self._settings.max_body, self._settings.read_timeout
        await receive(self, keep, "body", *limits, "send fewer or shorter texts")
        self._parsed = await off_loop(len(content), parse, content)
        return bytes(content)

    async def json(self) -> Any:
        return self._parsed


class JsonRoute(APIRoute):
    """A route whose endpoint gets a `JsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            json_request = JsonRequest(request)
            try:
                return await handle(json_request)
            finally:
                json_request.give_back()

        return handle_json


def stated_length(request: Request, default: int = 0) -> int:
    """The length of the body by its header, which the HTTP parser has checked; `default` without one."""
    return int(request.headers.get("content-length", default))


async def receive(request: Request, take: Callable[[bytes], object], what: str, most: int, seconds: float, remedy: str) -> None:
    """Pass a body on as it arrives; refuses one of more bytes, or of more seconds."""
    too_large = Refusal(413, f"expected a {what} of at most {most} bytes, got more: {remedy}", headers={"Connection": "close"})
    if stated_length(request) > most:
        raise too_large  # a client that asked first need not send it at all
    received = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                received += len(chunk)
                if received > most:
                    raise too_large
                take(chunk)
    except TimeoutError:
        raise Refusal(408, f"expected the whole {what} within {seconds:g} s, got only a part of it: send it faster") from None
    except ClientDisconnect:
        raise Refusal(499, "the client went away") from None


async def while_connected(request: Request, work: asyncio.Future[T], seconds: float, late: str) -> T:
    """The result of work for a request whose body is read. The work is cancelled when the time is up or the client has gone."""

    async def disconnected() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.create_task(disconnected())
    try:
        await asyncio.wait((work, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise Refusal(499, "the client went away") if gone.done() else Refusal(504, late, after=1)
        return work.result()
    finally:
        gone.cancel()
        work.cancel()  # no effect on what is done
        await asyncio.wait((work,))


async def off_loop(size: int, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, in another thread if there is much to do, so that other requests need not wait for it."""
    if size < SMALL:
        return function(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_HELPERS, function, *arguments)


def parse(content: bytes) -> Any:
    """Strict JSON from bytes."""
    whole, real = partial(_number, int), partial(_number, float)
    try:
        text = content.decode("utf-8")
        return json.loads(text, parse_constant=real, parse_int=whole, parse_float=real, object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        line = f"expected UTF-8, got byte 0x{content[error.start]:02x} at position {error.start}: encode the body as UTF-8"
    except RecursionError:
        line = "expected JSON of a few levels, got very deep nesting: send a flat object"
    except json.JSONDecodeError as error:
        line = f"expected JSON, got something else: {error.msg} at character {error.pos}"
    except ValueError as error:
        line = f"expected each key once in an object, got {error}"
    raise Refusal(400, line)


def _number(kind: Callable[[str], float], digits: str) -> float:
    if len(digits) > _LONGEST_NUMBER or not math.isfinite(value := kind(digits)):
        ordinary = f"numbers of ordinary size, at most {_LONGEST_NUMBER} digits"
        raise Refusal(400, f"expected JSON with {ordinary}, got one that begins {digits[:9]!r}")
    return value


async def read_table(request: Request, name: str, columns: Columns, settings: Settings, turn: asyncio.Lock) -> bytes:
    """The answer to a request whose body is a file; `turn` is held while it is read, since it is held as a whole."""
    kind = "application/octet-stream"
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise Refusal(415, f"expected the header Content-Type: {kind}, got something else")
    name = Path(name).name[-_LONGEST_NAME:]
    if not name:
        raise Refusal(422, "name: expected the name of the file, got none")
    most, seconds, remedy = settings.max_table, settings.timeout, "score it on the command line"
    late = f"expected a file that is read within {seconds:g} s, but it is not: {remedy}"
    try:
        with scratch_file() as (file, place):
            await receive(request, file.write, "file", most, seconds, remedy)
            file.flush()
            reading = _read_in_child(turn, name, place, columns, _EXPANSION * most)
            return await while_connected(request, asyncio.create_task(reading), seconds, late)
    except OSError as error:
        line = f"expected a folder for temporary files with room for this one, got: {error.strerror}"
        raise Refusal(503, line, after=60) from None


async def _read_in_child(turn: asyncio.Lock, name: str, place: str, columns: Columns, room: int) -> bytes:
    """What a child process says of a file; the child ends with this call, also when it is cancelled."""
    async with turn:
        child = start(_MEMORY)
        try:
            pieces = ask(child, name, table_as_json, name, place, columns.text, columns.id, room)
            return await asyncio.to_thread(b"".join, pieces)
        finally:
            await asyncio.to_thread(stop, child)
