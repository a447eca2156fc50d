"""The routes: score, models, health, counters, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from difa import __version__
from difa.serve.errors import Refusal
from difa.serve.metrics import CONTENT_TYPE, Metrics
from difa.serve.models import ServedModel
from difa.serve.schemas import EXAMPLES, ModelsResponse, Problem, ScoreRequest, ScoreResponse
from difa.serve.security import Guard
from difa.serve.service import Service
from difa.serve.settings import Settings

PAGE = Path(__file__).parent / "page"
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "Not strict JSON in UTF-8"},
    401: {"model": Problem, "description": "The key is missing or wrong"},
    404: {"model": Problem, "description": "No model of that name"},
    408: {"model": Problem, "description": "The request came too slowly"},
    413: {"model": Problem, "description": "The body, or a list in it, is too large"},
    415: {"model": Problem, "description": "Not application/json"},
    422: {"model": Problem, "description": "JSON, but not a request; or a single document that cannot be scored"},
    429: {"model": Problem, "description": "The queue is full; Retry-After says when to come again"},
    503: {"model": Problem, "description": "The service is shutting down"},
    504: {"model": Problem, "description": "It took too long"},
}


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
    app.add_middleware(Guard, api_key=settings.api_key, metrics=metrics, refusal=service.refusal)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    _add_errors(app)
    _add_score(app, service)
    _add_rest(app, service)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refuse(request: Request, refusal: Refusal) -> Response:
        return JSONResponse({"error": refusal.line}, refusal.status, refusal.headers)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": f"{error.detail}: see /openapi.json"}, error.status_code, error.headers)


def _add_score(app: FastAPI, service: Service) -> None:
    body = {"schema": ScoreRequest.model_json_schema(), "examples": EXAMPLES}
    extra = {"requestBody": {"required": True, "content": {"application/json": body}}}
    if service.settings.api_key is not None:
        extra["security"] = [{"key": []}]  # type: ignore[assignment]

    @app.post(
        "/v1/score",
        summary="Score documents and their words",
        responses=_REFUSALS,
        openapi_extra=extra,
        response_model=ScoreResponse,
    )
    async def score(request: Request) -> Response:
        return await service.score(request)


def _add_rest(app: FastAPI, service: Service) -> None:
    settings = service.settings
    limits = {
        "body_bytes": settings.max_body,
        "texts": settings.max_texts,
        "characters": settings.max_characters,
        "words": settings.max_words,
    }

    @app.get("/v1/models", summary="The models and the limits", response_model=ModelsResponse)
    async def models() -> Response:
        return JSONResponse({"models": [model.info for model in service.models.values()], "limits": limits})

    @app.get("/health/live", summary="Whether the process answers")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", summary="Whether requests are taken", responses={503: {"model": Problem}})
    async def ready() -> Response:
        if service.is_ready:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"error": "not ready"}, 503, {"Retry-After": "1"})

    @app.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html")
