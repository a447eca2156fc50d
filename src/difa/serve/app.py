"""The routes: score, files, verdicts, models, health, counters, and the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from difa import __version__
from difa.formats.table_output import _FORMULA
from difa.serve.errors import Refusal
from difa.serve.metrics import CONTENT_TYPE, Metrics
from difa.serve.models import ServedModel
from difa.serve.openapi import describe_keys, file_body, refusals, score_body, verdict_body
from difa.serve.schemas import ModelsResponse, ScoreResponse, TableResponse
from difa.serve.security import V1_ROUTES, Guard
from difa.serve.service import Service
from difa.serve.settings import Settings
from difa.serve.verdicts import Kept

PAGE = Path(__file__).parent / "page"
_READ = (404, 408, 413, 415, 422, 429, 503, 504)


def create_app(models: Mapping[str, ServedModel], settings: Settings, metrics: Metrics) -> FastAPI:
    """The application: routes around one `Service`, which is also at `app.state.service`."""
    service = Service(models, settings, metrics)

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
    )
    app.state.service = service
    key, is_loopback = settings.api_key, settings.is_loopback
    app.add_middleware(Guard, api_key=key, metrics=metrics, refusal=service.refusal, is_loopback=is_loopback)
    app.add_route("/static/formula.js", _formula, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    _add_errors(app)
    asks = (401,) if settings.api_key is not None else (421,) if settings.is_loopback else ()
    _add_score(app, service, asks)
    _add_rest(app, service, asks)
    app.add_route("/", _page, include_in_schema=False)
    if settings.api_key is not None:
        describe_keys(app, V1_ROUTES)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refuse(request: Request, refusal: Refusal) -> Response:
        return JSONResponse({"error": refusal.line}, refusal.status, refusal.headers)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": f"{error.detail}: see /openapi.json"}, error.status_code, error.headers)


def _add_score(app: FastAPI, service: Service, asks: tuple[int, ...]) -> None:
    @app.post(
        "/v1/score",
        summary="Score documents and their words",
        responses=refusals(*_READ, *asks),
        openapi_extra=score_body(),
        response_model=ScoreResponse,
    )
    async def score(request: Request) -> Response:
        return await service.score(request)

    @app.post(
        "/v1/tables",
        summary="Read the documents of a file: text, JSON lines, CSV, TSV, Parquet, packed or not",
        responses=refusals(408, 413, 415, 422, 429, 503, *asks),
        openapi_extra=file_body(),
        response_model=TableResponse,
    )
    async def table(request: Request) -> Response:
        return await service.table(request)

    @app.post(
        "/v1/verdicts",
        summary="Keep what a person says of a text and its words",
        responses=refusals(*_READ, *asks),
        openapi_extra=verdict_body(),
        response_model=Kept,
    )
    async def verdict(request: Request) -> Response:
        return await service.verdict(request)


def _add_rest(app: FastAPI, service: Service, asks: tuple[int, ...]) -> None:
    settings = service.settings
    limits = {
        "body_bytes": settings.max_body,
        "file_bytes": settings.max_table,
        "texts": settings.max_texts,
        "characters": settings.max_characters,
        "words": settings.max_words,
    }

    @app.get("/v1/models", summary="The models and the limits", response_model=ModelsResponse, responses=refusals(*asks))
    async def models() -> Response:
        known = [model.info for model in service.models.values()]
        return JSONResponse({"models": known, "limits": limits, "takes_verdicts": settings.verdicts is not None})

    @app.get("/health/live", summary="Whether the process answers", responses=refusals())
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", summary="Whether requests are taken", responses=refusals(503), response_model=dict[str, str])
    async def ready() -> Response:
        if service.is_ready:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"error": "not ready"}, 503, {"Retry-After": "1"})

    @app.get("/metrics", summary="Counters for Prometheus", responses=refusals(), response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


async def _page(request: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def _formula(request: Request) -> Response:
    """How a formula of a spreadsheet begins: one list for what the page saves and what the command writes."""
    return Response(f"export const FORMULA = {json.dumps(_FORMULA)};\n", media_type="text/javascript")
