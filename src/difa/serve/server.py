"""The process: a socket, signals, and clients that are slow or gone.

uvicorn speaks HTTP. Added here: a client that trickles its headers, or does not take its answer, is cut off; and SIGTERM
first closes the door (new requests get 503), then ends the process when the requests under way are answered.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from difa.errors import ConfigError
from difa.serve.app import create_app
from difa.serve.metrics import Metrics
from difa.serve.models import load_models
from difa.serve.settings import Settings

_MOST_HEADERS = 64 * 1024  # bytes
_TURN = 0.001  # seconds: the thread that answers clients need not wait long for the threads that compute


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


def patient_protocol(patience: float) -> type[HttpToolsProtocol]:
    """Uvicorn's protocol, with bounds on the time and size of headers and on the time that output may wait."""

    class PatientProtocol(HttpToolsProtocol):
        _header_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._reading, self._writing = Timer(), Timer()
            super().connection_made(transport)
            self._expect_headers()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._expect_headers()

        def data_received(self, data: bytes) -> None:
            self._header_bytes += len(data)
            super().data_received(data)
            if self._reading.is_running and self._header_bytes > _MOST_HEADERS:
                self.transport.abort()

        def on_headers_complete(self) -> None:
            self._reading.cancel()
            super().on_headers_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._writing.start(patience, self.transport.abort)

        def resume_writing(self) -> None:
            self._writing.cancel()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._reading.cancel()
            self._writing.cancel()
            super().connection_lost(exc)

        def _expect_headers(self) -> None:
            self._header_bytes = 0
            self._reading.start(patience, self.transport.abort)

    return PatientProtocol


class Server(uvicorn.Server):
    """uvicorn's server, which tells the service before it stops, and ends with exit code 0 when asked to."""

    def __init__(self, app: FastAPI, settings: Settings, on_start: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http=patient_protocol(settings.read_timeout),
            ws="none",
            server_header=False,
            access_log=False,  # requests are counted in /metrics; a line each would cost more than some of them
            log_level="warning",
            backlog=1024,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=int(settings.timeout) + 1,
        )
        super().__init__(config)
        self._service, self._on_start = app.state.service, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Close the door; a second signal does not wait for anybody."""
        self._service.is_draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(folders: Sequence[Path], settings: Settings, threads: int | None, say: Callable[[str], None]) -> None:
    """Load the models and answer until a signal comes; `say` gets the address as soon as there is one."""
    sys.setswitchinterval(_TURN)
    with bind(settings) as listener:  # first, since a taken port is known at once and a model takes a while
        metrics = Metrics()
        models = load_models(folders, settings, metrics, threads)
        host, port = listener.getsockname()[:2]
        line = f"serving {', '.join(models)} at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl+C stops it)"
        Server(create_app(models, settings, metrics), settings, lambda: say(line)).run(sockets=[listener])


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
