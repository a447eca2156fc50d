"""One request from body to answer: read, check, queue, wait, write; and what ends it early."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from difa.document import Explanation, Result
from difa.errors import DifaError
from difa.serve.allowance import Allowance, Reading
from difa.serve.batching import Item
from difa.serve.body import off_loop, read_json, until_gone
from difa.serve.errors import Refusal
from difa.serve.metrics import Metrics
from difa.serve.models import Query, ServedModel
from difa.serve.requests import Failure, check_text, queries_of, respond
from difa.serve.schemas import ScoreRequest, check
from difa.serve.settings import Settings
from difa.serve.tables import read_table
from difa.serve.verdicts import Kept, Verdict, keep_verdict

_log = logging.getLogger("difa.serve")

_FILES = 4  # received at a time, each into a file of its own
_VERDICTS = 64  # that may wait for their turn at the file

Outcome = Result | Explanation | Failure


class Service:
    """What the routes share: models, settings, counters, and whether the service is on its way out."""

    def __init__(self, models: Mapping[str, ServedModel], settings: Settings, metrics: Metrics) -> None:
        self.models, self.settings, self.metrics = dict(models), settings, metrics
        self.is_draining = False
        self.reading = Reading(settings.reading)
        self._files, self._verdicts = Allowance(_FILES), Allowance(_VERDICTS)

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken."""
        return not self.is_draining and all(model.is_ready for model in self.models.values())

    def refusal(self) -> Refusal | None:
        """What to answer, before anything is read, where no model could take the request."""
        if self.is_draining:
            return _shutting_down()
        refusals = [model.refusal() for model in self.models.values()]
        return None if None in refusals else refusals[0]

    def model(self, name: str | None) -> ServedModel:
        """The model of that name, or the first."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Refusal(404, f"model: expected one of {', '.join(self.models)}, got another name")
        return self.models[name]

    async def score(self, request: Request) -> Response:
        """Body -> documents -> outcomes -> answer."""
        length = request.headers.get("content-length")
        with self.reading.of(length).share() as share:
            asked = check(await read_json(request, self.settings, share), ScoreRequest)
            model = self.model(asked.model)
            if refusal := self.refusal():  # reading may have taken a while
                raise refusal
            queries = await self._queries(asked, share.held)
        with model.submitted([query for query in queries if isinstance(query, Query)]) as items:
            done = iter(await _wait(request, items, self.settings.timeout))
            outcomes = [query if isinstance(query, Failure) else _outcome(next(done)) for query in queries]
            content = await self._answer(asked, model, outcomes)
        return Response(content, media_type="application/json")

    async def _answer(self, asked: ScoreRequest, model: ServedModel, outcomes: Sequence[Outcome]) -> bytes:
        words = sum(len(_result(outcome).words) for outcome in outcomes if not isinstance(outcome, Failure))
        self.metrics.words.labels(model.name).inc(words)
        rule = model.model.rule(asked.fpr, asked.fdr, warn=False)
        return await off_loop(words * 10, respond, asked, model.name, rule, outcomes)

    async def table(self, request: Request) -> Response:
        """A file -> its documents."""
        with self._files.share() as share:
            if refusal := _shutting_down() if self.is_draining else share.take(1):
                raise refusal
            return Response(await read_table(request, self.settings), media_type="application/json")

    async def verdict(self, request: Request) -> Response:
        """What a person says -> a line of the file."""
        path = self.settings.verdicts
        if path is None:
            raise Refusal(404, "this service keeps no verdicts: it was started without a file for them", {"Connection": "close"})
        length = request.headers.get("content-length")
        with self.reading.of(length).share() as share, self._verdicts.share() as waiting:
            if refusal := _shutting_down() if self.is_draining else waiting.take(1):
                raise refusal
            verdict = check(await read_json(request, self.settings, share), Verdict)
            await off_loop(share.held, check_text, verdict.text, self.settings)
            await keep_verdict(path, verdict, self.settings.timeout)
        return Response(Kept().model_dump_json(), media_type="application/json")

    async def _queries(self, asked: ScoreRequest, size: int) -> list[Query | Failure]:
        if len(asked.texts or ()) > self.settings.max_texts:
            line = (
                f"texts: expected at most {self.settings.max_texts} documents, got {len(asked.texts or ())}: send several lists"
            )
            raise Refusal(413, line)
        queries = await off_loop(size, queries_of, asked, self.settings)
        if asked.texts is None and isinstance(failure := queries[0], Failure):
            raise Refusal(failure.status, failure.line)
        return queries


def _shutting_down() -> Refusal:
    return Refusal(503, "the service is shutting down: ask another one", {"Connection": "close", "Retry-After": "1"})


async def _wait(
    request: Request, items: list[Item[Query, Result | Explanation]], timeout: float
) -> list[Item[Query, Result | Explanation]]:
    """Until all items are done; what has not begun is withdrawn when the time is up or the client has gone."""
    gone = asyncio.create_task(until_gone(request))
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


def _result(outcome: Result | Explanation) -> Result:
    return outcome.result if isinstance(outcome, Explanation) else outcome


def _outcome(item: Item[Query, Result | Explanation]) -> Outcome:
    if item.outcome.cancelled():
        raise _shutting_down()
    error = item.outcome.exception()
    if error is None:
        return item.outcome.result()
    if isinstance(error, DifaError):
        return Failure(str(error), item.payload.document.id)
    # The type only: a message may quote the text.
    _log.error("a document of %d words could not be scored: %s", len(item.payload.document.words), type(error).__name__)
    return Failure("the document could not be scored: the service has logged why", item.payload.document.id)
