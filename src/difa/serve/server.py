"""The process: a socket, and signals.

uvicorn speaks HTTP, with the bounds of `protocol`. SIGTERM first refuses new requests (503), then ends the process
when the requests under way are answered or their time is up.
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

from difa.errors import ConfigError
from difa.serve.app import create_app
from difa.serve.counters import Counters
from difa.serve.models import load_models
from difa.serve.protocol import patient_protocol
from difa.serve.settings import Settings
from difa.serve.verdict_file import check_verdict_file

_LAST_TURNS, _PAUSE = 5, 0.01  # turns of the loop before it stops listening, and the seconds between them
_TURN = 0.001  # seconds: the thread that answers clients need not wait long for the threads that compute


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
            log_level="error",  # strangers must not fill the log with a line for each request that is none
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, once what has arrived by now is accepted and read: it gets an answer instead of a closed connection."""
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(_PAUSE)
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
