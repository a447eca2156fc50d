"""The routes: score, files, verdicts, models, health, counters and the page; what OpenAPI says of them; and a guard around them.

The guard is one plain ASGI layer: who may ask, and what browsers may do with the answers. It also counts every request, refusals
and failures included. Bodies never pass through it, nor into the log.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import time
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader, HTTPBearer
from prometheus_client import generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from difa import __version__
from difa.errors import InputError
from difa.formats.sandbox import TooLargeError
from difa.formats.write import FORMULA
from difa.serve.body import JsonRoute, Refusal
from difa.serve.models import ServedModel
from difa.serve.schemas import ModelsResponse, Problem, ScoreResponse, TableResponse, line_of
from difa.serve.service import Service
from difa.serve.settings import Settings

_log = logging.getLogger("difa.serve")
_PAGE = Path(__file__).parent / "page"
_KEYS = [
    Security(APIKeyHeader(name="X-API-Key", scheme_name="key", auto_error=False)),
    Security(HTTPBearer(scheme_name="bearer", auto_error=False)),
]
_SECONDS = {"description": "Seconds until a new attempt makes sense.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
_REFUSALS: dict[int, str] = {
    400: "Not HTTP, or not strict JSON in UTF-8",
    401: "The key is missing or wrong",
    404: "No model of that name, or no file for verdicts",
    408: "The request came too slowly",
    413: "The body, a list in it, or a document is too large",
    415: "Not the content type that is asked for",
    421: "Not a name of this machine: a service without a key answers to localhost alone",
    422: "Not a request as described; or a single document, or a file, that cannot be read",
    429: "The queue is full, or too much is being read; Retry-After says when to try again",
    431: "The address and the headers are too long",
    500: "The service failed on this request, and has logged where",
    503: "The service is shutting down, or cannot write",
    504: "It took too long",
}
_POST = (404, 408, 413, 415, 422, 429, 503, 504)
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOCAL = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_NO_RANGE = b'{"error":"expected a range within the file, such as bytes=0-99, got another one: leave the header Range out"}'
_WATCHED = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/")
_ROUTES = ("/v1/score", "/v1/tables", "/v1/verdicts", "/v1/models", *_WATCHED)


def create_app(models: Mapping[str, ServedModel], settings: Settings) -> FastAPI:
    """The application: routes around one `Service`, which is also at `app.state.service`."""
    service = Service(models, settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for model in models.values():
            model.start(service.counters)
        yield
        service.is_draining = True
        for model in models.values():
            await model.stop()

    app = FastAPI(
        title="DiFA",
        version=__version__,
        description="Which words in a text do not belong, and which documents. Offsets count Unicode code points.",
        lifespan=lifespan,
        docs_url=None,  # its page would fetch scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        responses=_refusals(400, 431, 500),
    )
    app.state.service = service
    app.add_middleware(Guard, service=service)
    for kind in (HTTPException, RequestValidationError, InputError):
        app.add_exception_handler(kind, _answer_error)
    _add_v1(app, service, settings)
    _add_watched(app, service)
    _add_page(app)
    return app


def _add_v1(app: FastAPI, service: Service, settings: Settings) -> None:
    """The routes that need the key, if there is one."""
    has_key = settings.api_key is not None
    asks = (401,) if has_key else (421,) if settings.is_loopback else ()
    add = partial(app.router.add_api_route, dependencies=_KEYS if has_key else [])
    post = partial(add, methods=["POST"], responses=_refusals(*_POST, *asks))
    post_json = partial(post, route_class_override=JsonRoute)
    upload = {"requestBody": {"required": True, "content": _BYTES}}
    readable = "Read the documents of a file: text, JSON lines, CSV, TSV, Parquet, packed or not"
    post_json("/v1/score", service.score, summary="Score documents and their words", response_model=ScoreResponse)
    post("/v1/tables", service.table, summary=readable, response_model=TableResponse, openapi_extra=upload)
    post_json("/v1/verdicts", service.verdict, summary="Keep what a person says of a text and its words")
    get = partial(add, responses=_refusals(*asks))
    get("/v1/models", service.describe, summary="The models and the limits", response_model=ModelsResponse)


def _add_watched(app: FastAPI, service: Service) -> None:
    """Health and counters, for those who run the service."""

    @app.get("/health/live", summary="Whether the process answers")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", summary="Whether requests are taken", responses=_refusals(503))
    async def ready() -> dict[str, str]:
        if not service.is_ready:
            raise Refusal(503, "not ready", after=1)
        return {"status": "ready"}

    @app.get("/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        content = generate_latest(service.counters.registry)
        return Response(content, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def _add_page(app: FastAPI) -> None:
    async def index(request: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    async def formula(request: Request) -> Response:
        """The beginnings of spreadsheet formulas: one list for what the page saves and what the command writes."""
        return Response(f"export const FORMULA = {json.dumps(FORMULA)};\n", media_type="text/javascript")

    app.add_route("/", index, include_in_schema=False)
    app.add_route("/static/formula.js", formula, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=_PAGE), name="static")


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The statuses of a route besides 200, for the OpenAPI document."""
    later = {"headers": {"Retry-After": _SECONDS}}
    return {
        status: {"model": Problem, "description": _REFUSALS[status], **(later if status in (429, 503, 504) else {})}
        for status in statuses
    }


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _answer(error, "" if isinstance(error, Refusal) else ": see /openapi.json")
    line = line_of(error) if isinstance(error, RequestValidationError) else str(error)
    return _answer(Refusal(413 if isinstance(error, TooLargeError) else 422, line))


def _answer(error: HTTPException, remedy: str = "") -> Response:
    return JSONResponse({"error": f"{error.detail}{remedy}"}, error.status_code, error.headers)


class Guard:
    """Asks for the key on every /v1 route, turns requests away while the queue is full, adds the headers, counts."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app, self._service, self._counters = app, service, service.counters
        self._key = service.settings.api_key
        self._asks_host = service.settings.is_loopback and self._key is None  # a service for this machine alone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status, replaced = 0, b""

        async def send_guarded(message: Message) -> None:
            nonlocal status, replaced
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                if status >= 400 and headers.get("content-type", "").startswith("text/plain"):  # of Starlette's files
                    replaced = _NO_RANGE
                    headers["content-type"], headers["content-length"] = "application/json", str(len(replaced))
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            elif replaced:
                message = {**message, "body": replaced}
            await send(message)

        path = scope["path"]
        try:
            # A service that has too much to do must not spend much on saying so: before routing, reading and parsing.
            refusal = self._refusal(path, Headers(scope=scope))
            await (_answer(refusal) if refusal else self._app)(scope, receive, send_guarded)
        except Exception as error:
            # Where and what kind, but not the message: it may quote the text.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
            if not status:
                failed = Refusal(500, "the service failed on this request, and has logged where")
                await _answer(failed)(scope, receive, send_guarded)
        finally:
            route = path if path in _ROUTES else "/static" if path.startswith("/static/") else "other"
            self._counters.requests.labels(route, str(status)).inc()
            self._counters.seconds.labels(route).observe(time.perf_counter() - started)

    def _refusal(self, path: str, headers: Headers) -> Refusal | None:
        host = headers.get("host", "localhost")
        if self._asks_host and not _LOCAL.fullmatch(host):  # a page from elsewhere must not reach it by a name that leads here
            line = "expected a request to localhost or 127.0.0.1, got the host"
            return Refusal(421, f"{line} {host[:100]!r}: set an API key to allow other names")
        if self._key is not None and f"{path}/".startswith("/v1/"):
            given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode("latin-1", "replace"), self._key.encode()):
                line = "expected a valid key in the header X-API-Key or Authorization: Bearer, got none or another one"
                return Refusal(401, line, headers={"WWW-Authenticate": "Bearer"})
        return self._service.refusal(path)
