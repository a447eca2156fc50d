"""The process: a socket, signals, and uvicorn's HTTP with bounds for clients that are slow, send too much, or send no HTTP.

A client that trickles its headers, or does not take its answer, is cut off. What is no HTTP, or has too many headers, gets an
error in the form of all others. An answer may be given before the request is read to its end. The kernel resets a connection that
is closed with bytes unread, and the client would never see that answer. So the rest is read and thrown away, within bounds.
SIGTERM first refuses new requests (503), then ends the process when the requests under way are answered or their time is up.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from difa.errors import ConfigError
from difa.serve.app import create_app
from difa.serve.files import check_verdict_file
from difa.serve.models import Counters, load_models
from difa.serve.settings import Settings

MOST_HEADERS = 64 * 1024
"""Bytes of a request's first line and headers."""
MOST_DISCARDED = 64 * 1024 * 1024
"""Bytes that are read and thrown away after an early answer: three times the largest file that the service takes."""
_NO_HTTP = "expected an HTTP request, got something else: check what is sent"
_TOO_LARGE = f"expected at most {MOST_HEADERS} bytes of address and headers, got more: send fewer or shorter ones"
_LAST_CALL = 0.05  # seconds before it stops listening
_TURN = 0.001  # seconds: the thread that answers clients need not wait long for the threads that compute


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with bounds on the time and size of headers and on the time that output may wait."""

    patience = 0.0
    """Seconds; `Server` sets them."""
    _discardable: int | None = None  # bytes that may still be thrown away; None unless a request was answered early
    _is_closing = False  # nothing more is written, and what comes is thrown away
    _parsed = 0  # bytes of the address and of the headers that are complete
    _unparsed = 0  # bytes at most of one that is not

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._socket = transport
        super().connection_made(cast(asyncio.Transport, _Closing(self, transport)))
        self._expect_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        if self._discardable is not None:
            self._discardable -= len(data)
            if self._discardable < 0:
                self._socket.abort()
        if self.transport.is_closing():
            return
        was_reading = "headers" in self._timers
        super().data_received(data)
        if was_reading and "headers" in self._timers and not self.transport.is_closing():
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
        self._cancel("headers")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self._discardable is not None:  # all is read: the connection can be used again
            self._cancel("rest")
            self._discardable = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._discard()

    def close(self) -> None:
        """Say that no more is written, and close once the client has taken note, or the bounds are reached."""
        if self.transport.is_closing():
            return
        self._is_closing = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._cancel("headers")
        self._discard()
        self._socket.write_eof()
        self.flow.resume_reading()

    def shutdown(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._discardable is None:
            self._socket.close()  # nobody waits for an answer
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Called for whatever the parser, or a callback of ours, refuses; uvicorn's own message is plain text."""
        self._cancel("headers")
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            is_too_large = max(self._parsed, self._unparsed) > MOST_HEADERS
            self.transport.write(_refusal(431, _TOO_LARGE) if is_too_large else _refusal(400, _NO_HTTP))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect("output", self._socket.abort)

    def resume_writing(self) -> None:
        self._cancel("output")
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for what in list(self._timers):
            self._cancel(what)
        super().connection_lost(exc)

    def _expect(self, what: str, otherwise: Callable[[], None]) -> None:
        self._cancel(what)
        self._timers[what] = self.loop.call_later(self.patience, otherwise)

    def _cancel(self, what: str) -> None:
        if what in self._timers:
            self._timers.pop(what).cancel()

    def _discard(self) -> None:
        if self._discardable is None:
            self._discardable = MOST_DISCARDED
            self._expect("rest", self._socket.close)

    def _expect_headers(self) -> None:
        self._parsed = self._unparsed = 0
        self._expect("headers", self._socket.abort)

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > MOST_HEADERS:
            raise ValueError(_TOO_LARGE)  # ends the parsing


class _Closing:
    """The transport, as uvicorn sees it: closing it waits for what the client still sends."""

    def __init__(self, protocol: PatientProtocol, transport: asyncio.Transport) -> None:
        self._protocol, self._transport = protocol, transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        self._protocol.close()

    def is_closing(self) -> bool:
        return self._protocol._is_closing or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if not self.is_closing():
            self._transport.write(data)


def _refusal(status: int, line: str) -> bytes:
    content = json.dumps({"error": line}).encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}X-Content-Type-Options: nosniff\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


class Server(uvicorn.Server):
    """uvicorn's server, which tells the service before it stops, and ends with exit code 0 when asked to."""

    def __init__(self, app: FastAPI, settings: Settings, on_start: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            # uvicorn makes one for each connection, and gives it no settings of ours
            http=type("Protocol", (PatientProtocol,), {"patience": settings.read_timeout}),
            ws="none",
            server_header=False,
            access_log=False,  # requests are counted in /metrics; a line each would cost more than some of them
            log_level="error",  # strangers must not fill the log with a line for each request that is none
            backlog=1024,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=int(settings.timeout) + 1,
        )
        super().__init__(config)
        self._service, self._on_start = app.state.service, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, once what has arrived by now is accepted and read: it gets an answer instead of a closed connection."""
        await asyncio.sleep(_LAST_CALL)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Refuse new requests; a second signal ends the process at once."""
        self._service.is_draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(folders: Sequence[Path], settings: Settings, threads: int | None, say: Callable[[str], None]) -> None:
    """Load the models and answer until a signal comes; `say` gets the address as soon as there is one."""
    sys.setswitchinterval(_TURN)
    if settings.verdicts is not None:
        check_verdict_file(settings.verdicts)
    with bind(settings) as listener:  # first, since a taken port is known at once and a model takes a while
        counters = Counters()
        models = load_models(folders, settings, counters, threads)
        host, port = listener.getsockname()[:2]
        line = f"serving {', '.join(models)} at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl+C stops it)"
        Server(create_app(models, settings, counters), settings, lambda: say(line)).run(sockets=[listener])


def bind(settings: Settings) -> socket.socket:
    """A socket at the host and port, not yet listening."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        return listener
    except OSError as error:
        raise ConfigError(
            f"expected to listen on {settings.host} port {settings.port}, got: {error.strerror}: choose another host or port"
        ) from None
