"""The process: a socket, signals, and uvicorn's HTTP with bounds for clients that are slow, send too much, or send no HTTP.

A client that sends its headers too slowly, or does not read its answer, is cut off. Bytes that are not HTTP, and headers that
are too large, get an error in the form of all others. An answer may be given before the request is read to its end. The kernel
resets a connection that is closed with bytes unread, and the client would never see that answer. So the rest is read and thrown
away, within bounds. SIGTERM first refuses new requests (503), then ends the process when the requests under way are answered or
their time is up.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from difa.errors import ConfigError
from difa.serve.app import create_app
from difa.serve.files import check_verdict_file
from difa.serve.models import load_models
from difa.serve.settings import Settings

MOST_HEADERS = 64 * 1024  # bytes of a request's first line and headers
MOST_DISCARDED = 64 * 1024 * 1024
"""Bytes that are read and thrown away after an early answer: three times the largest file that the service takes."""
_NO_HTTP = "expected an HTTP request, got something else: check what is sent"
_TOO_LARGE = f"expected at most {MOST_HEADERS} bytes of address and headers, got more: send fewer or shorter ones"
_PIECE = 16 * 1024  # bytes that are parsed at a time: how exactly headers are measured
_LAST_ARRIVALS = 0.05  # seconds in which requests are still accepted before it stops listening
_SWITCH_INTERVAL = 0.001  # seconds: the thread that answers clients need not wait long for the threads that compute


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with bounds on headers, on output that waits, and on what is thrown away."""

    _received = 0  # bytes of the headers under way, or since what came was refused
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        app: Any = self.config.app
        self._patience = app.state.service.settings.read_timeout
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self.app = partial(self._answer, self.app)
        self._expect("headers", transport.abort)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._received = 0
        self._expect("headers", self.transport.abort)

    def on_headers_complete(self) -> None:
        self._cancel("headers")
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            if not self._is_refused:
                super().data_received(piece)
            if self._is_refused or "headers" in self._timers:
                self._received += len(piece)
                if self._received > (MOST_DISCARDED if self._is_refused else MOST_HEADERS):
                    self.transport.abort() if self._is_refused else self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP or too large, as JSON; the parser, and our count of bytes, lead here."""
        self._cancel("headers")
        if self.pipeline or (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            self.transport.close()  # in the middle of another answer
            return
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        is_too_large = self._received > MOST_HEADERS
        self.transport.write(_refusal(431, _TOO_LARGE) if is_too_large else _refusal(400, _NO_HTTP))
        self.transport.write_eof()
        self._is_refused, self._received = True, 0
        self.flow.resume_reading()
        self._expect("rest", self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect("output", self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel("output")
        super().resume_writing()

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the answer ends when the rest of the request is read, or is too much or too slow."""
        is_answered, has_more, left = False, True, MOST_DISCARDED

        async def receive_noted() -> Message:
            nonlocal has_more
            message = await receive()
            has_more = message.get("more_body", False)
            return message

        async def send_open(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.body" and not message.get("more_body"):
                is_answered, message = True, {**message, "more_body": True}
            await send(message)

        await app(scope, receive_noted, send_open)
        if not is_answered:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while has_more and left >= 0:
                    left -= len((await receive_noted()).get("body", b""))
        if has_more:
            self.transport.close()
        await send({"type": "http.response.body"})

    def _expect(self, what: str, otherwise: Callable[[], None]) -> None:
        self._cancel(what)
        self._timers[what] = self.loop.call_later(self._patience, otherwise)

    def _cancel(self, what: str) -> None:
        if what in self._timers:
            self._timers.pop(what).cancel()


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
            http=PatientProtocol,
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
        await asyncio.sleep(_LAST_ARRIVALS)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Refuse new requests; a second signal ends the process at once."""
        self._service.is_draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(folders: Sequence[Path], settings: Settings, threads: int | None, say: Callable[[str], None]) -> None:
    """Load the models and answer until a signal comes; `say` gets the address as soon as there is one."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if settings.verdicts is not None:
        check_verdict_file(settings.verdicts)
    with bind(settings) as listener:  # first, since a taken port is known at once and a model takes a while
        models = load_models(folders, settings, threads)
        host, port = listener.getsockname()[:2]
        line = f"serving {', '.join(models)} at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl+C stops it)"
        Server(create_app(models, settings), settings, lambda: say(line)).run(sockets=[listener])


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
