"""One request from its body to the answer: check, queue, wait, flag, write; and what ends it early.

Flags are set per request: at its false-alarm rate, or by Benjamini–Hochberg over its own documents. The fields of a result are
those of `Result.to_dict`, with `words` and `evidence` left out on request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Query, Request
from starlette.responses import JSONResponse, Response

from difa.corpus.allow import AllowList
from difa.decide import Rule, flag
from difa.document import Explanation, Reason, Result
from difa.errors import DifaError, InputError
from difa.formats.lines import kind_of, parse_record
from difa.formats.sandbox import TooLargeError
from difa.formats.tables import Columns
from difa.formats.write import to_json
from difa.report.sentences import document_sentence, telling, unusual_words, word_sentence
from difa.serve.body import Allowance, Allowances, JsonRequest, Refusal, off_loop, read_table, while_there
from difa.serve.files import append_verdicts
from difa.serve.models import Counters, Queued, ServedModel, cost_of
from difa.serve.schemas import SCORE_EXAMPLES, TIME, VERDICT_EXAMPLES, Kept, ScoreRequest, Verdict, is_unicode
from difa.serve.settings import Settings

_log = logging.getLogger("difa.serve")
_FILES = 4  # received at a time, each into a file of its own
_VERDICTS = 64  # that may wait for their turn at the file
_WRITER = ThreadPoolExecutor(1, "difa-verdicts")  # one at a time: they would only wait for each other
_COUNTED, _CUT = "(a long or odd one counts as several)", "cut it into parts"
_NONE = AllowList()


class Failure(Refusal):
    """A document that cannot be scored: an entry in the answer to a list, the answer itself where it was the only document."""

    def __init__(self, line: str, document_id: str | None, status: int = 422) -> None:
        super().__init__(status, line)
        self.document_id = document_id


class Service:
    """What the routes share: models, settings, counters, and whether the service is on its way out."""

    def __init__(self, models: Mapping[str, ServedModel], settings: Settings) -> None:
        self.models, self.settings, self.counters = dict(models), settings, Counters()
        self.is_draining = False
        self.reading = Allowances(settings.reading)
        self._files, self._verdicts, self._reading_file = Allowance(_FILES), Allowance(_VERDICTS), asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken."""
        return not self.is_draining and all(model.is_ready for model in self.models.values())

    def refusal(self, path: str = "/v1/score") -> Refusal | None:
        """What to answer before anything is read: the service ends, no model could take the request, or nobody keeps it."""
        if path not in ("/v1/score", "/v1/tables", "/v1/verdicts"):
            return None
        if self.is_draining:
            return _shutting_down()
        if path == "/v1/verdicts" and self.settings.verdicts is None:
            return _keeps_no_verdicts()
        refusals = [model.refusal() for model in self.models.values()]
        return refusals[0] if path == "/v1/score" and all(refusals) else None

    def model(self, name: str | None) -> ServedModel:
        """The model of that name, or the first."""
        name = next(iter(self.models)) if name is None else name
        if name not in self.models:
            raise Refusal(404, f"model: expected one of {', '.join(self.models)}, got another name")
        return self.models[name]

    async def score(
        self, request: JsonRequest, asked: Annotated[ScoreRequest, Body(openapi_examples=SCORE_EXAMPLES)]
    ) -> Response:
        """Scores, p-values and flags of documents and their words."""
        model = self.model(asked.model)
        if refusal := self.refusal():  # reading may have taken a while
            raise refusal
        jobs = await off_loop(request.held, jobs_of, asked, self.settings)
        request.give_back()
        queued = [job for job in jobs if isinstance(job, Queued)]
        with model.submitted(queued):
            done = asyncio.gather(*(job.outcome for job in queued), return_exceptions=True)
            seconds = self.settings.timeout
            late = f"expected to be done within {seconds:g} s, but the work is not: send less at a time, or try again later"
            await while_there(request, done, seconds, late)
            outcomes = [_outcome(job) if isinstance(job, Queued) else job for job in jobs]
            words = sum(len(outcome.result.words) for outcome in outcomes if isinstance(outcome, Explanation))
            self.counters.words.labels(model.name).inc(words)
            rule = model.model.rule(asked.fpr, asked.fdr, warn=False)
            content = await off_loop(words * 10, _respond, asked, model.name, rule, outcomes)
        return Response(content, media_type="application/json")

    async def table(
        self,
        request: Request,
        name: Annotated[str, Query(min_length=1, description="The file's name: its ending says what it holds.")],
        text_column: Annotated[str, Query(description="Of a table; guessed without it.")] = "",
        id_column: Annotated[str, Query(description="Of a table; `id` without it.")] = "",
    ) -> Response:
        """The columns and the documents of a file."""
        with self._files.one():
            columns = Columns(text=text_column or None, id=id_column or None)
            content = await read_table(request, name, columns, self.settings, self._reading_file)
        return Response(content, media_type="application/json")

    async def verdict(
        self, request: JsonRequest, verdict: Annotated[Verdict, Body(openapi_examples=VERDICT_EXAMPLES)]
    ) -> Response:
        """Appends a verdict to the file that was named when the service was started."""
        if (path := self.settings.verdicts) is None:
            raise _keeps_no_verdicts()
        job = await off_loop(request.held, _job, verdict.text, self.settings)
        if isinstance(job, Failure):  # verdicts are about texts that were scored
            raise job
        with self._verdicts.one():
            await _keep(path, verdict, self.settings.timeout)
        return JSONResponse(Kept().model_dump())

    async def describe(self) -> Response:
        """What is served, within which limits, and whether verdicts are kept."""
        settings = self.settings
        limits = {
            "body_bytes": settings.max_body,
            "file_bytes": settings.max_table,
            "texts": settings.max_texts,
            "characters": settings.max_characters,
            "words": settings.max_words,
        }
        known = [model.info for model in self.models.values()]
        return JSONResponse({"models": known, "limits": limits, "takes_verdicts": settings.verdicts is not None})


def jobs_of(asked: ScoreRequest, settings: Settings) -> list[Queued | Failure]:
    """The request's documents in order, with a `Failure` in the place of each that cannot be scored."""
    documents = [asked.tokens if asked.text is None else asked.text] if asked.texts is None else asked.texts
    if len(documents) > settings.max_texts:
        raise Refusal(413, f"texts: expected at most {settings.max_texts} documents, got {len(documents)}: send several lists")
    allow, jobs, cost = AllowList.of(asked.allow), list[Queued | Failure](), 0
    for document in documents:
        job = _job(document, settings, asked.return_reasons, allow)
        if isinstance(job, Queued):
            cost += job.cost
        elif asked.texts is None:
            raise job
        if cost > settings.queue_words:  # found out on the way: all of them together may be more than fits into memory
            line = f"expected at most {settings.queue_words} words {_COUNTED} in a request, got more: send several lists"
            raise Refusal(413, line)
        jobs.append(job)
    return jobs


def _job(item: Any, settings: Settings, reasons: bool = False, allow: AllowList = _NONE) -> Queued | Failure:
    document_id = None
    try:
        record = _as_record(item)
        given = record.get("id")
        document_id = str(given) if isinstance(given, (str, int)) and is_unicode(str(given)) else None
        if (size := _size(record)) > settings.max_characters:
            raise TooLargeError(f"expected at most {settings.max_characters} characters in a document, got {size}: {_CUT}")
        document = replace(parse_record(record), id=document_id)
        if (cost := cost_of(document)) > settings.max_words:
            raise TooLargeError(f"expected at most {settings.max_words} words {_COUNTED} in a document, got {cost}: {_CUT}")
        return Queued(document, cost, reasons, allow)
    except InputError as error:
        return Failure(str(error), document_id, 413 if isinstance(error, TooLargeError) else 422)


def _as_record(item: Any) -> dict[str, Any]:
    if isinstance(item, dict):
        if not item.keys() <= {"id", "text", "tokens"}:
            raise InputError("expected only the keys id, text and tokens in a document, got another one: remove it")
        return item
    if not isinstance(item, (str, list)):
        raise InputError(f"expected a string, a list of words or an object with text or tokens, got {kind_of(item)}")
    return {"text" if isinstance(item, str) else "tokens": item}


def _size(record: Mapping[str, Any]) -> int:
    """Characters of a document before it is parsed; a word costs one more, for the space before it."""
    text, tokens = record.get("text"), record.get("tokens")
    of_words = sum(1 + len(token) for token in tokens if isinstance(token, str)) if isinstance(tokens, list) else 0
    return max(len(text) if isinstance(text, str) else 0, of_words)


def _respond(asked: ScoreRequest, model: str, rule: Rule, outcomes: Sequence[Explanation | Failure]) -> bytes:
    """The body of the answer."""
    flagged = iter(flag([outcome.result for outcome in outcomes if isinstance(outcome, Explanation)], rule))
    records = [
        _record(next(flagged), outcome.reasons, asked)
        if isinstance(outcome, Explanation)
        else {"id": outcome.document_id, "error": outcome.detail}
        for outcome in outcomes
    ]
    return to_json({"model": model, "rule": rule.name, "rate": rule.rate, "results": records})


def _record(result: Result, reasons: Sequence[Mapping[str, Sequence[Reason]]], asked: ScoreRequest) -> dict[str, Any]:
    shared = ("rule", "rate")  # the answer has them once, for all
    record = {name: value for name, value in result.to_dict().items() if name not in shared}
    if asked.return_reasons:
        record["sentence"] = document_sentence(result, reasons)
        unusual = frozenset(unusual_words(result))
        for t, (word, scored, of_word) in enumerate(zip(record["words"], result.words, reasons, strict=True)):
            if t in unusual:
                word["sentence"] = word_sentence(scored, of_word)
            found = {view: telling(of_word.get(view, ()), value) for view, value in scored.evidence.items()}
            word["reasons"] = {view: [{"text": one.text, "weight": one.weight} for one in some] for view, some in found.items()}
    if not asked.return_evidence:
        for entry in (record, *record["words"]):
            del entry["evidence"]
    if not asked.return_words:
        del record["words"]
    return record


async def _keep(path: Path, verdict: Verdict, timeout: float) -> None:
    """Append it, and return when it is on disk; one without a time gets the present one."""
    record = verdict.model_dump(exclude=set() if verdict.spans else {"spans"})
    record["at"] = verdict.at or datetime.now(UTC).strftime(TIME)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.get_running_loop().run_in_executor(_WRITER, append_verdicts, path, [record], timeout)
    except TimeoutError:
        line = f"expected to write the verdict within {timeout:g} s, but others hold the file: try again later"
        raise Refusal(504, line, after=1) from None
    except OSError as error:
        _log.error("a verdict could not be written: %s", error.strerror)
        line = f"expected a file for verdicts that can be written, got: {error.strerror}: it must be mended at the service"
        raise Refusal(503, line, after=60) from None


def _shutting_down() -> Refusal:
    return Refusal(503, "the service is shutting down: ask another one", after=1, headers={"Connection": "close"})


def _keeps_no_verdicts() -> Refusal:
    return Refusal(404, "this service keeps no verdicts: it was started without a file for them")


def _outcome(job: Queued) -> Explanation | Failure:
    if job.outcome.cancelled():
        raise _shutting_down()
    outcome = job.outcome.result()
    if isinstance(outcome, Explanation):
        return outcome
    if isinstance(outcome, DifaError):
        return Failure(str(outcome), job.document.id)
    # The type only: a message may quote the text.
    _log.error("a document of %d words could not be scored: %s", len(job.document.words), type(outcome).__name__)
    return Failure("the document could not be scored: the service has logged why", job.document.id)
