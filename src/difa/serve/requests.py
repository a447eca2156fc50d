"""A checked request -> documents, and their results -> the JSON that goes back.

Flags are set here, per request: at its false-alarm rate, or by Benjamini–Hochberg over its own documents. The fields are
those of `Result.to_dict`, with `words` and `evidence` left out on request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from difa.allow import AllowList
from difa.decide import Rule, flag
from difa.document import Document, Explanation, Reason, Result
from difa.errors import InputError
from difa.formats.lines import kind_of, parse_record
from difa.report.highlight import unusual_words
from difa.report.sentences import document_sentence, word_sentence
from difa.serve.cost import cost_of
from difa.serve.errors import Refusal
from difa.serve.models import Query
from difa.serve.schemas import ScoreRequest
from difa.serve.settings import Settings
from difa.words import from_text, from_tokens

_UNUSUAL = -math.log(0.2)  # evidence below this needs no reason
_REASONS = 3
_LEAST_SHARE = 0.1
COUNTED = "(a long or odd one counts as several)"


@dataclass(frozen=True)
class Failure:
    """A document that cannot be scored, and why."""

    line: str
    id: str | None = None
    status: int = 422
    """Of the answer, where it was the only document."""


def queries_of(request: ScoreRequest, settings: Settings) -> list[Query | Failure]:
    """The request's documents in order, with a `Failure` in the place of each that cannot be scored."""
    alone = request.text if request.text is not None else request.tokens
    queries: list[Query | Failure] = []
    cost, allow = 0, _allowed_by(request)
    for item in [alone] if alone is not None else request.texts or ():
        query = _query(item, settings, request.return_reasons, allow)
        cost += query.cost if isinstance(query, Query) else 0
        if cost > settings.queue_words:  # found out on the way: all of them together may be more than fits into memory
            raise Refusal(
                413, f"expected at most {settings.queue_words} words {COUNTED} in a request, got more: send several lists"
            )
        queries.append(query)
    return queries


def check_text(text: str, settings: Settings) -> None:
    """Refuse a text that could not be scored: verdicts are about texts that were."""
    if isinstance(failure := _query(text, settings, False, AllowList()), Failure):
        raise Refusal(failure.status, failure.line)


def _allowed_by(request: ScoreRequest) -> AllowList:
    """The words that the request calls normal."""
    try:
        return AllowList.of(request.allow)
    except InputError as error:
        raise Refusal(422, str(error)) from None


def respond(request: ScoreRequest, model: str, rule: Rule, outcomes: Sequence[Result | Explanation | Failure]) -> bytes:
    """The body of the answer."""
    results = [outcome.result if isinstance(outcome, Explanation) else outcome for outcome in outcomes]
    flagged = iter(flag([result for result in results if isinstance(result, Result)], rule))
    records: list[dict[str, Any]] = []
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            records.append({"id": outcome.id, "error": outcome.line})
            continue
        reasons = outcome.reasons if isinstance(outcome, Explanation) else None
        records.append(_record(next(flagged), request, reasons))
    body = {"model": model, "rule": rule.name, "rate": rule.rate, "results": records}
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _query(item: Any, settings: Settings, reasons: bool, allow: AllowList) -> Query | Failure:
    given = item.get("id") if isinstance(item, dict) else None
    document_id = str(given) if isinstance(given, (str, int)) and _is_unicode(str(given)) else None
    try:
        if (size := _size(item)) > settings.max_characters:
            return _too_large("characters", settings.max_characters, size, document_id)
        document = _parse(item)
        if (cost := cost_of(document)) > settings.max_words:
            return _too_large(f"words {COUNTED}", settings.max_words, cost, document_id)
        return Query(replace(document, id=document_id), cost, reasons, allow)
    except InputError as error:
        return Failure(str(error), document_id)


def _too_large(what: str, limit: int, got: int, document_id: str | None) -> Failure:
    return Failure(f"expected at most {limit} {what} in a document, got {got}: cut it into parts", document_id, 413)


def _parse(item: Any) -> Document:
    if isinstance(item, str):
        return from_text(item)
    if isinstance(item, list) and all(isinstance(token, str) for token in item):
        return from_tokens(item)
    if isinstance(item, dict):
        unknown = set(item) - {"id", "text", "tokens"}
        if unknown:
            raise InputError("expected only the keys id, text and tokens in a document, got another one: remove it")
        return parse_record(item)
    wanted = "a string, a list of words or an object with text or tokens"
    raise InputError(f"expected {wanted}, got {'a list of other things' if isinstance(item, list) else kind_of(item)}")


def _size(item: Any) -> int:
    """Characters of a document before it is parsed; a word costs one more, for the space before it."""
    if isinstance(item, str):
        return len(item)
    if isinstance(item, list):
        return sum(1 + len(token) for token in item if isinstance(token, str))
    if isinstance(item, dict):
        return max(_size(item.get("text")), _size(item.get("tokens")))
    return 0


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _record(result: Result, request: ScoreRequest, reasons: Sequence[Mapping[str, Sequence[Reason]]] | None) -> dict[str, Any]:
    record = result.to_dict()
    if reasons is not None:
        record["sentence"] = document_sentence(result, reasons)
    if not request.return_evidence:
        del record["evidence"]
    if not request.return_words:
        del record["words"]
        return record
    unusual = frozenset(unusual_words(result))
    for t, (word, scored) in enumerate(zip(record["words"], result.words, strict=True)):
        if reasons is not None and t in unusual:
            word["sentence"] = word_sentence(scored, reasons[t])
        if reasons is not None:
            word["reasons"] = {name: _strongest(reasons[t].get(name, ()), value) for name, value in scored.evidence.items()}
        if not request.return_evidence:
            del word["evidence"]
    return record


def _strongest(reasons: Sequence[Reason], evidence: float) -> list[dict[str, Any]]:
    if evidence < _UNUSUAL:
        return []
    return [{"text": reason.text, "weight": reason.weight} for reason in reasons[:_REASONS] if reason.weight >= _LEAST_SHARE]
