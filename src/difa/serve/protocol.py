"""HTTP on a socket: uvicorn's protocol, with bounds for clients that are slow, send too much, or send no HTTP.

A client that trickles its headers, or does not take its answer, is cut off. What is no HTTP, or has too many headers, gets an
error in the form of all others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADERS = 64 * 1024
"""Bytes of a request's first line and headers."""
_NO_HTTP = "expected an HTTP request, got something else: check what is sent"
_TOO_LARGE = f"expected at most {MOST_HEADERS} bytes of address and headers, got more: send fewer or shorter ones"


class Timer:
    """Something that happens after a while, unless it is called off."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started and not called off."""
        return self._handle is not None

    def start(self, seconds: float, action: Callable[[], None]) -> None:
        """Start it, or start it again."""
        self.cancel()
        self._handle = asyncio.get_running_loop().call_later(seconds, action)

    def cancel(self) -> None:
        """Call it off, if it was started."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with bounds on the time and size of headers and on the time that output may wait."""

    patience = 0.0
    """Seconds; `patient_protocol` sets them."""
    _parsed = 0  # bytes of the address and of the headers that are complete
    _unparsed = 0  # bytes at most of one that is not

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._reading, self._writing = Timer(), Timer()
        super().connection_made(transport)
        self._expect_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        was_reading = self._reading.is_running
        super().data_received(data)
        if was_reading and self._reading.is_running and not self.transport.is_closing():
            self._unparsed += len(data)
            if self._unparsed > MOST_HEADERS:
                self.send_400_response("")

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        self._reading.cancel()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Called for whatever the parser, or a callback of ours, refuses; uvicorn's own message is plain text."""
        self._reading.cancel()
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            is_too_large = max(self._parsed, self._unparsed) > MOST_HEADERS
            self.transport.write(_refusal(431, _TOO_LARGE) if is_too_large else _refusal(400, _NO_HTTP))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing.start(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        self._writing.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading.cancel()
        self._writing.cancel()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._parsed = self._unparsed = 0
        self._reading.start(self.patience, self.transport.abort)

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > MOST_HEADERS:
            raise ValueError(_TOO_LARGE)  # ends the parsing


def patient_protocol(seconds: float) -> type[PatientProtocol]:
    """The protocol with so much patience; uvicorn makes one for each connection, and gives it no settings of ours."""

    class WithPatience(PatientProtocol):
        patience = seconds

    return WithPatience


def _refusal(status: int, line: str) -> bytes:
    content = json.dumps({"error": line}).encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}X-Content-Type-Options: nosniff\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
