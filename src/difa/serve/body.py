"""The bytes of a request -> strict JSON, within limits of size, time and memory.

The size is watched while the bytes arrive, since a body need not say how long it is. JSON is taken by its letter: UTF-8,
no NaN or Infinity, no number out of range, no key twice, no nesting without end. FastAPI checks the rest against the schemas.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from difa.serve.settings import Settings
from difa.storage.model_folder import unique_keys

T = TypeVar("T")

SMALL = 20_000  # bytes: a few milliseconds of work
_LONGEST_NUMBER = 40  # digits; more than any rate or whole number has use for
_CLOSE = {"Connection": "close"}
_HELPERS = ThreadPoolExecutor(2, "difa-json")  # few: what is parsed can be many times as large as its bytes


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


class Reading:
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
        """Hold nothing any more."""
        self._allowance.held -= self.held
        self.held = 0

    async def body(self) -> bytes:
        """Read and parse; refuses whatever is not JSON within the limits."""
        self._check_headers()
        try:
            async with asyncio.timeout(self.settings.read_timeout):
                content = await self._read(self.settings.max_body)
        except TimeoutError:
            seconds = self.settings.read_timeout
            line = f"expected the whole request within {seconds:g} s, got only a part of it: send it faster"
            raise Refusal(408, line, _CLOSE) from None
        self._parsed = await off_loop(len(content), parse, content)
        return content

    async def json(self) -> Any:
        """The body, parsed."""
        return self._parsed

    def _check_headers(self) -> None:
        kind, _, parameters = self.headers.get("content-type", "").partition(";")
        charset = parameters.strip().lower().removeprefix("charset=").strip('"')
        if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
            raise Refusal(415, "expected the header Content-Type: application/json with UTF-8, got something else", _CLOSE)
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "expected a body without Content-Encoding, got a compressed one: send it as it is", _CLOSE)
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self.settings.max_body and "expect" in self.headers:
            raise _too_large(self.settings.max_body)  # the client asked first, and need not send it at all

    async def _read(self, limit: int) -> bytes:
        content = bytearray()
        try:
            async for chunk in self.stream():
                if len(content) + len(chunk) > limit:
                    raise _too_large(limit)
                self._allowance.take(len(chunk))
                self.held += len(chunk)
                content += chunk
        except ClientDisconnect:
            raise Refusal(499, "the client went away") from None
        return bytes(content)


class JsonRoute(APIRoute):
    """A route whose handler gets a `JsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, which reads the body through the request that it is given."""
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


async def until_gone(request: Request) -> None:
    """Wait until the client of a request, whose body is read, has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


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


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"expected a body of at most {limit} bytes, got more: send fewer or shorter texts", _CLOSE)


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
