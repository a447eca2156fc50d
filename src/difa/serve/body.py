"""The bytes of a request -> strict JSON, within limits of size and time.

The size is watched while the bytes arrive, since a body need not say how long it is. JSON is taken by its letter: UTF-8,
no NaN or Infinity, no number out of range, no key twice, no nesting without end.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from difa.model_folder import unique_keys
from difa.serve.allowance import SMALL, Share
from difa.serve.errors import Refusal
from difa.serve.settings import Settings

T = TypeVar("T")

_LONGEST_NUMBER = 40  # digits; more than any rate or whole number has use for
_CLOSE = {"Connection": "close"}
_HELPERS = ThreadPoolExecutor(2, "difa-json")  # few: what is parsed can be many times as large as its bytes


async def read_json(request: Request, settings: Settings, share: Share) -> Any:
    """The parsed body, held by the share; raises `Refusal` for anything that is not JSON within the limits."""
    _check_headers(request, settings)
    try:
        async with asyncio.timeout(settings.read_timeout):
            content = await _read(request, settings.max_body, share)
    except TimeoutError:
        line = f"expected the whole request within {settings.read_timeout:g} s, got only a part of it: send it faster"
        raise Refusal(408, line, _CLOSE) from None
    parsed: Any = await off_loop(len(content), parse, content)
    return parsed


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


def _check_headers(request: Request, settings: Settings) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise Refusal(415, "expected the header Content-Type: application/json with UTF-8, got something else", _CLOSE)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "expected a body without Content-Encoding, got a compressed one: send it as it is", _CLOSE)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > settings.max_body and "expect" in request.headers:
        raise _too_large(settings.max_body)  # the client asked first, and need not send it at all


async def _read(request: Request, limit: int, share: Share) -> bytes:
    content = bytearray()
    received, refusal = 0, None
    try:
        async for chunk in request.stream():
            received += len(chunk)
            if refusal is None:
                refusal = _too_large(limit) if received > limit else share.take(len(chunk))
            if refusal is None:
                content += chunk
            elif received > 4 * limit:
                break
            else:
                # Read on for a while without keeping it: a client that is cut off in the middle never sees the answer.
                content.clear()
                share.give_back()
    except ClientDisconnect:
        raise Refusal(499, "the client went away") from None
    if refusal is not None:
        raise refusal
    return bytes(content)


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
