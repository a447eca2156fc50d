"""The routes: score, files, verdicts, models, health, counters, and the page; and what OpenAPI says of their refusals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from difa import __version__
from difa.formats.table_output import _FORMULA
from difa.serve.body import JsonRoute, Refusal
from difa.serve.counters import CONTENT_TYPE, Counters
from difa.serve.models import ServedModel
from difa.serve.schemas import Kept, ModelsResponse, Problem, ScoreResponse, TableResponse, line_of
from difa.serve.security import Guard
from difa.serve.service import Service
from difa.serve.settings import Settings

PAGE = Path(__file__).parent / "page"
_KEYS = [
    Security(APIKeyHeader(name="X-API-Key", scheme_name="key", auto_error=False)),
    Security(HTTPBearer(scheme_name="bearer", auto_error=False)),
]
_LATER = {
    "Retry-After": {"description": "Seconds after which to come again.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
}
_REFUSALS: dict[int, str] = {
    400: "Not HTTP, or not strict JSON in UTF-8",
    401: "The key is missing or wrong",
    404: "No model of that name, or no file for verdicts",
    408: "The request came too slowly",
    413: "The body, a list in it, or a document is too large",
    415: "Not the content type that is asked for",
    421: "Not a name of this machine: a service without a key answers to localhost alone",
    422: "Not a request as described; or a single document, or a file, that cannot be read",
    429: "The queue is full, or too much is being read; Retry-After says when to come again",
    431: "The address and the headers are too long",
    500: "The service failed on this request, and has logged where",
    503: "The service is shutting down, or cannot write",
    504: "It took too long",
}
_POST = (404, 408, 413, 415, 422, 429, 503, 504)
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_FILE = {"requestBody": {"required": True, "content": _BYTES}}


def create_app(models: Mapping[str, ServedModel], settings: Settings, counters: Counters) -> FastAPI:
    """The application: routes around one `Service`, which is also at `app.state.service`."""
    service = Service(models, settings, counters)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for model in models.values():
            model.start()
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
    app.add_middleware(Guard, settings=settings, counters=counters, refusal=service.refusal)
    app.add_exception_handler(HTTPException, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_error)
    _add_v1(app, service, settings)
    _add_watched(app, service)
    app.add_route("/", _page, include_in_schema=False)
    app.add_route("/static/formula.js", _formula, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    return app


def _add_v1(app: FastAPI, service: Service, settings: Settings) -> None:
    """What asks for the key, if there is one."""
    has_key = settings.api_key is not None
    asks = (401,) if has_key else (421,) if settings.is_loopback else ()
    add = partial(app.router.add_api_route, dependencies=_KEYS if has_key else [])
    post = partial(add, methods=["POST"], responses=_refusals(*_POST, *asks))
    words = "Score documents and their words"
    post("/v1/score", service.score, summary=words, response_model=ScoreResponse, route_class_override=JsonRoute)
    words = "Read the documents of a file: text, JSON lines, CSV, TSV, Parquet, packed or not"
    post("/v1/tables", service.table, summary=words, response_model=TableResponse, openapi_extra=_FILE)
    words = "Keep what a person says of a text and its words"
    post("/v1/verdicts", service.verdict, summary=words, response_model=Kept, route_class_override=JsonRoute)
    words = "The models and the limits"
    add("/v1/models", service.describe, summary=words, response_model=ModelsResponse, responses=_refusals(*asks))


def _add_watched(app: FastAPI, service: Service) -> None:
    """What those who run the service ask."""

    @app.get("/health/live", summary="Whether the process answers")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", summary="Whether requests are taken", responses=_refusals(503), response_model=dict[str, str])
    async def ready() -> Response:
        if service.is_ready:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"error": "not ready"}, 503, {"Retry-After": "1"})

    @app.get("/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(service.counters.text(), headers={"Content-Type": CONTENT_TYPE})


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer beside 200."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        found[status] = {"model": Problem, "description": _REFUSALS[status]}
        if status in (429, 503, 504):
            found[status]["headers"] = _LATER
    return found


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        return JSONResponse({"error": line_of(error)}, 422)
    if not isinstance(error, HTTPException):
        raise error
    line = error.detail if isinstance(error, Refusal) else f"{error.detail}: see /openapi.json"
    return JSONResponse({"error": line}, error.status_code, error.headers)


async def _page(request: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def _formula(request: Request) -> Response:
    """How a formula of a spreadsheet begins: one list for what the page saves and what the command writes."""
    return Response(f"export const FORMULA = {json.dumps(_FORMULA)};\n", media_type="text/javascript")
