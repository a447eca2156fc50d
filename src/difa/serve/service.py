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
from starlette.responses import Response

from difa.corpus.allow import AllowList
from difa.decide import Rule, flag
from difa.document import Explanation, Reason, Result
from difa.errors import DifaError, InputError
from difa.formats.lines import kind_of, parse_record
from difa.formats.sandbox import TooLargeError
from difa.formats.tables import Columns
from difa.formats.write import to_json
from difa.report.sentences import document_sentence, telling, unusual_words, word_sentence
from difa.serve.body import Allowance, JsonRequest, Refusal, off_loop, read_table, while_connected
from difa.serve.files import append_verdict
from difa.serve.models import Counters, Queued, ServedModel, cost_of
from difa.serve.schemas import SCORE_EXAMPLES, TIME, VERDICT_EXAMPLES, Failed, ScoreRequest, Verdict, is_unicode
from difa.serve.settings import Settings

_log = logging.getLogger("difa.serve")
_FILES = 4  # uploads received at a time, each into a file of its own
_VERDICTS = 64  # that may wait to be written
_WRITER = ThreadPoolExecutor(1, "difa-verdicts")  # one at a time: they would only wait for each other
_COUNTED, _CUT = "(a long or odd one counts as several)", "cut it into parts"


class Service:
    """What the routes share: models, settings, counters, limits, and whether the service is shutting down."""

    def __init__(self, models: Mapping[str, ServedModel], settings: Settings) -> None:
        self.models, self.settings, self.counters = dict(models), settings, Counters()
        self.is_draining = False
        self.small_bodies, self.large_bodies = Allowance(settings.reading), Allowance(settings.reading)
        self._files, self._verdicts, self._reading_file = Allowance(_FILES), Allowance(_VERDICTS), asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        return not self.is_draining and all(model.is_ready for model in self.models.values())

    def refusal(self, path: str = "/v1/score") -> Refusal | None:
        """Why a request is turned away before it is read: shutdown, full queues, or no file for verdicts; None if it is not."""
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
        entries = await off_loop(request.held, entries_of, asked, self.settings)
        request.give_back()
        jobs = [entry for entry in entries if isinstance(entry, Queued)]
        with model.submitted(jobs):
            done = asyncio.gather(*(job.outcome for job in jobs), return_exceptions=True)
            seconds = self.settings.timeout
            late = f"expected to be done within {seconds:g} s, but the work is not: send less at a time, or try again later"
            await while_connected(request, done, seconds, late)
            if any(job.outcome.cancelled() for job in jobs):
                raise _shutting_down()
            words = sum(len(job.document.words) for job in jobs if isinstance(job.outcome.result(), Explanation))
            self.counters.words.labels(model.name).inc(words)
            rule = model.model.rule(asked.fpr, asked.fdr, warn=False)
            content = await off_loop(words * 10, answer_of, asked, model.name, rule, entries)
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
    ) -> dict[str, str]:
        """Appends a verdict to the file that was named when the service was started."""
        if (path := self.settings.verdicts) is None:
            raise _keeps_no_verdicts()
        await off_loop(request.held, read_job, verdict.text, self.settings)  # refuses a text that could not have been scored
        with self._verdicts.one():
            await _keep(path, verdict, self.settings.timeout)
        return {"status": "kept"}

    async def describe(self) -> dict[str, Any]:
        """What is served, within which limits, and whether verdicts are kept."""
        known = [model.info for model in self.models.values()]
        return {"models": known, "limits": self.settings, "takes_verdicts": self.settings.verdicts is not None}


def entries_of(asked: ScoreRequest, settings: Settings) -> list[Queued | Failed]:
    """The documents of a request in order; one of a list that cannot be scored is an entry of its own, with its error."""
    is_list = asked.texts is not None
    items = asked.texts if asked.texts is not None else [asked.tokens if asked.text is None else asked.text]
    if len(items) > settings.max_texts:
        raise Refusal(413, f"texts: expected at most {settings.max_texts} documents, got {len(items)}: send several lists")
    allow, entries, cost = AllowList.of(asked.allow), list[Queued | Failed](), 0
    for item in items:
        try:
            job = read_job(item, settings)
        except InputError as error:
            if not is_list:
                raise
            entries.append(Failed(id=_id_of(item), error=str(error)))
            continue
        job.reasons, job.allow = asked.return_reasons, allow
        entries.append(job)
        cost += job.cost
        if cost > settings.queue_words:  # found out on the way: all of them together may be more than fits into memory
            line = f"expected at most {settings.queue_words} words {_COUNTED} in a request, got more: send several lists"
            raise Refusal(413, line)
    return entries


def read_job(item: Any, settings: Settings) -> Queued:
    """One document of a request, within the limits."""
    record = item if isinstance(item, dict) else {"text" if isinstance(item, str) else "tokens": item}
    if not isinstance(item, (str, list, dict)):
        raise InputError(f"expected a string, a list of words or an object with text or tokens, got {kind_of(item)}")
    if not record.keys() <= {"id", "text", "tokens"}:
        raise InputError("expected only the keys id, text and tokens in a document, got another one: remove it")
    if (size := _size(record)) > settings.max_characters:
        raise TooLargeError(f"expected at most {settings.max_characters} characters in a document, got {size}: {_CUT}")
    document = replace(parse_record(record), id=_id_of(record))
    if (cost := cost_of(document)) > settings.max_words:
        raise TooLargeError(f"expected at most {settings.max_words} words {_COUNTED} in a document, got {cost}: {_CUT}")
    return Queued(document, cost)


def _id_of(item: Any) -> str | None:
    """The id that a document gives itself, if a file can hold it."""
    given = item.get("id") if isinstance(item, dict) else None
    return str(given) if isinstance(given, (str, int)) and is_unicode(str(given)) else None


def _size(record: Mapping[str, Any]) -> int:
    """Characters of a document before it is parsed; a word costs one more, for the space before it."""
    text, tokens = record.get("text"), record.get("tokens")
    of_words = sum(1 + len(token) for token in tokens if isinstance(token, str)) if isinstance(tokens, list) else 0
    return max(len(text) if isinstance(text, str) else 0, of_words)


def answer_of(asked: ScoreRequest, model: str, rule: Rule, entries: Sequence[Queued | Failed]) -> bytes:
    """The body of the answer, once all entries have an outcome."""
    outcomes = [_outcome(entry) if isinstance(entry, Queued) else entry for entry in entries]
    flagged = iter(flag([outcome.result for outcome in outcomes if isinstance(outcome, Explanation)], rule))
    records = [
        _record(next(flagged), outcome.reasons, asked) if isinstance(outcome, Explanation) else outcome.model_dump()
        for outcome in outcomes
    ]
    return to_json({"model": model, "rule": rule.name, "rate": rule.rate, "results": records})


def _outcome(job: Queued) -> Explanation | Failed:
    outcome = job.outcome.result()
    if isinstance(outcome, Explanation):
        return outcome
    if isinstance(outcome, DifaError):
        return Failed(id=job.document.id, error=str(outcome))
    # The type only: a message may quote the text.
    _log.error("a document of %d words could not be scored: %s", len(job.document.words), type(outcome).__name__)
    return Failed(id=job.document.id, error="the document could not be scored: the service has logged why")


def _record(result: Result, reasons: Sequence[Mapping[str, Sequence[Reason]]], asked: ScoreRequest) -> dict[str, Any]:
    named_once = ("rule", "rate")  # beside the results
    record = {name: value for name, value in result.to_dict().items() if name not in named_once}
    if asked.return_reasons:
        record["sentence"] = document_sentence(result, reasons)
        for t in unusual_words(result):
            record["words"][t]["sentence"] = word_sentence(result.words[t], reasons[t])
        for word, of_word in zip(record["words"], reasons, strict=True):
            found = {view: telling(of_word.get(view, ()), value) for view, value in word["evidence"].items()}
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
            await asyncio.get_running_loop().run_in_executor(_WRITER, append_verdict, path, record, timeout)
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
