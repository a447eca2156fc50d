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
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from difa.formats.sandbox import TooLargeError, ask, start, stop
from difa.formats.tables import Columns
from difa.serve.files import described_lines
from difa.serve.settings import Settings
from difa.storage.atomic import scratch_file
from difa.storage.model_folder import unique_keys

T = TypeVar("T")

SMALL = 20_000  # bytes: a few milliseconds of work
_LONGEST_NUMBER = 40  # digits; more than any rate or whole number has use for
_HELPERS = ThreadPoolExecutor(2, "difa-json")  # few: what is parsed can be many times as large as its bytes
_KIND = "application/octet-stream"
_LONGEST_NAME = 200
_EXPANSION = 2  # characters of the answer for a byte that may be sent: names of columns are repeated in every row
_MEMORY = 512 << 20  # bytes for whoever reads a file


class Refusal(HTTPException):
    """Ends a request with a status of 4xx or 5xx, a body of {"error": line}, and perhaps a time to come again, in seconds."""

    def __init__(self, status: int, line: str, *, after: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, line, {**(headers or {}), **({} if after is None else {"Retry-After": str(after)})})


class Allowance:
    """So much at a time, shared by all requests: a client that sends slowly holds what it has sent."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0

    def take(self, count: int) -> None:
        """Hold so much more; refuses if there is no room for it."""
        if self.held + count > self.limit:
            raise Refusal(429, "the service is reading as much as it can hold: try again in 1 s", after=1)
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
        self._content, self._parsed = bytearray(), cast(Any, None)

    def give_back(self) -> None:
        self._allowance.held -= self.held
        self.held = 0

    async def body(self) -> bytes:
        """Read and parse; refuses whatever is not JSON within the limits."""
        kind, _, parameters = self.headers.get("content-type", "").partition(";")
        charset = parameters.strip().lower().removeprefix("charset=").strip('"')
        if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
            raise Refusal(415, "expected the header Content-Type: application/json with UTF-8, got something else")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "expected a body without Content-Encoding, got a compressed one: send it as it is")
        limit, seconds = self.settings.max_body, self.settings.read_timeout
        await _receive(self, self._keep, "body", limit, seconds, "send fewer or shorter texts")
        whole = bytes(self._content)
        self._parsed = await off_loop(len(whole), parse, whole)
        return whole

    async def json(self) -> Any:
        return self._parsed

    def _keep(self, chunk: bytes) -> None:
        self._allowance.take(len(chunk))
        self.held += len(chunk)
        self._content.extend(chunk)


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


async def _receive(request: Request, take: Callable[[bytes], object], what: str, most: int, seconds: float, remedy: str) -> None:
    """Hand over a body as it arrives; refuses one of more bytes, or of more seconds."""
    too_large = Refusal(413, f"expected a {what} of at most {most} bytes, got more: {remedy}", headers={"Connection": "close"})
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > most:
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


async def while_there(request: Request, work: asyncio.Future[T], timeout: float, late: str) -> T:
    """What becomes of work that a request asks for, its body being read; it ends when the time is up or the client has gone."""

    async def until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.create_task(until_gone())
    try:
        await asyncio.wait((work, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
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
    return await asyncio.get_running_loop().run_in_executor(_HELPERS, partial(function, *arguments))


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
        line = (
            f"expected JSON with numbers of ordinary size, at most {_LONGEST_NUMBER} digits, got one that begins {digits[:9]!r}"
        )
        raise Refusal(400, line)
    return value


async def read_table(request: Request, name: str, columns: Columns, settings: Settings, turn: asyncio.Lock) -> bytes:
    """The answer to a request with a file as its body; `turn` is held while it is read."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise Refusal(415, f"expected the header Content-Type: {_KIND}, got something else")
    name = Path(name).name[-_LONGEST_NAME:]
    if not name:
        raise Refusal(422, "name: expected the name of the file, got none")
    most, seconds, remedy = settings.max_table, settings.timeout, "score it on the command line"
    try:
        with scratch_file() as (file, place):
            await _receive(request, file.write, "file", most, seconds, remedy)
            file.flush()
            reading = asyncio.create_task(_read_apart(turn, name, place, columns, _EXPANSION * most))
            late = f"expected a file that is read within {seconds:g} s, but it is not: {remedy}"
            return await while_there(request, reading, seconds, late)
    except OSError as error:
        line = f"expected a folder for temporary files with room for this one, got: {error.strerror}"
        raise Refusal(503, line, after=60) from None
    except TooLargeError as error:
        raise Refusal(413, f"{error}: {remedy}") from None


async def _read_apart(turn: asyncio.Lock, name: str, place: str, columns: Columns, room: int) -> bytes:
    """The answer, from a child process, which ends when nobody waits any more; one file at a time, as a whole is held."""
    async with turn:
        child = start(_MEMORY)
        try:
            lines = ask(child, name, described_lines, name, place, columns.text, columns.id, room)
            head, *documents = await asyncio.to_thread(lambda: list(lines))
        finally:
            child.kill()
            await asyncio.to_thread(stop, child)
    return head.rstrip()[:-1] + b', "documents": [' + b", ".join(map(bytes.rstrip, documents)) + b"]}"
