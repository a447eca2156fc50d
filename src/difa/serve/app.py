"""The routes: score, models, health, counters, and the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from difa import __version__
from difa.document import Document, Explanation, Result
from difa.errors import DifaError
from difa.serve.batching import Item
from difa.serve.body import read_json
from difa.serve.errors import Refusal
from difa.serve.metrics import CONTENT_TYPE, Metrics
from difa.serve.models import Busy, Job, ServedModel
from difa.serve.requests import Failure, Rule, documents_of, respond
from difa.serve.schemas import EXAMPLES, ModelsResponse, Problem, ScoreRequest, ScoreResponse, check
from difa.serve.security import Guard
from difa.serve.settings import Settings

PAGE = Path(__file__).parent / "page"
_LARGE = 20_000  # bytes and words above which parsing and writing leave the event loop free for others
_log = logging.getLogger("difa.serve")

Outcome = Result | Explanation | Failure

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


class Service:
    """What the routes share: models, settings, counters, and whether the service is on its way out."""

    def __init__(self, models: Mapping[str, ServedModel], settings: Settings, metrics: Metrics) -> None:
        self.models, self.settings, self.metrics = dict(models), settings, metrics
        self.is_draining = False

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken."""
        return not self.is_draining and all(model.is_ready for model in self.models.values())

    def check_open(self) -> None:
        """Refuse at once, before reading anything, where no model could take the request anyway."""
        if self.is_draining:
            raise Refusal(503, "the service is shutting down: ask another one", {"Connection": "close", "Retry-After": "1"})
        refusals = []
        for model in self.models.values():
            try:
                model.check_room()
                return
            except Busy as busy:
                refusals.append(busy)
        raise min(refusals, key=lambda busy: busy.retry_after)

    def model(self, name: str | None) -> ServedModel:
        """The model of that name, or the first."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Refusal(404, f"model: expected one of {', '.join(self.models)}, got another name")
        return self.models[name]

    async def score(self, request: Request) -> Response:
        """Body -> documents -> outcomes -> answer."""
        self.check_open()
        asked = check(await read_json(request, self.settings))
        if len(asked.texts or ()) > self.settings.max_texts:
            line = (
                f"texts: expected at most {self.settings.max_texts} documents, got {len(asked.texts or ())}: send several lists"
            )
            raise Refusal(413, line)
        model = self.model(asked.model)
        self.check_open()  # reading may have taken a while
        characters = int(request.headers.get("content-length") or _LARGE)
        documents = await _off_loop(characters, documents_of, asked, self.settings)
        if asked.texts is None and isinstance(documents[0], Failure):
            raise Refusal(413 if "at most" in documents[0].line else 422, documents[0].line)
        outcomes = await self._outcomes(request, model, documents, asked.return_reasons)
        rule = _rule(asked, model)
        words = sum(len(item.words) for item in documents if isinstance(item, Document))
        content = await _off_loop(words * 10, respond, asked, model.name, rule, outcomes)
        return Response(content, media_type="application/json")

    async def _outcomes(
        self, request: Request, model: ServedModel, documents: Sequence[Document | Failure], reasons: bool
    ) -> list[Outcome]:
        jobs = [Job(document, reasons) for document in documents if isinstance(document, Document)]
        items = iter(await _wait(request, model.submit(jobs), self.settings.timeout))
        return [document if isinstance(document, Failure) else _outcome(next(items)) for document in documents]


async def _wait(
    request: Request, items: list[Item[Job, Result | Explanation]], timeout: float
) -> list[Item[Job, Result | Explanation]]:
    """Until all items are done; what has not begun is withdrawn when the time is up or the client has gone."""
    gone = asyncio.create_task(_gone(request))
    done = asyncio.gather(*(item.outcome for item in items), return_exceptions=True)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.wait((done, gone), return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            raise Refusal(499, "the client went away")
        return items
    except TimeoutError:
        line = f"expected to be done within {timeout:g} s, but the work is not: send less at a time, or try again later"
        raise Refusal(504, line, {"Retry-After": "1"}) from None
    finally:
        gone.cancel()
        for item in items:
            item.outcome.cancel()  # no effect on what is done
        with suppress(asyncio.CancelledError):
            await done


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _outcome(item: Item[Job, Result | Explanation]) -> Outcome:
    if item.outcome.cancelled():
        raise Refusal(503, "the service is shutting down: ask another one", {"Retry-After": "1"})
    error = item.outcome.exception()
    if error is None:
        return item.outcome.result()
    if isinstance(error, DifaError):
        return Failure(str(error), item.job.document.id)
    # The type only: a message may quote the text.
    _log.error("a document of %d words could not be scored: %s", len(item.job.document.words), type(error).__name__)
    return Failure("the document could not be scored: the service has logged why", item.job.document.id)


def _rule(asked: ScoreRequest, model: ServedModel) -> Rule:
    if asked.fdr is not None:
        return Rule("fdr", asked.fdr)
    if asked.fpr is not None:
        return Rule("fpr", asked.fpr)
    own = model.model
    return Rule("fpr", own.fpr) if own.fdr is None else Rule("fdr", own.fdr)


async def _off_loop(size: int, function: Any, *arguments: Any) -> Any:
    return await asyncio.to_thread(function, *arguments) if size > _LARGE else function(*arguments)


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
    app.add_middleware(Guard, api_key=settings.api_key, metrics=metrics)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    _add_errors(app)
    _add_score(app, service)
    _add_rest(app, service)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refuse(request: Request, refusal: Refusal) -> Response:
        return JSONResponse({"error": refusal.line}, refusal.status, refusal.headers)

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Response:
        return JSONResponse({"error": str(error)}, 429, {"Retry-After": str(error.retry_after)})

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
