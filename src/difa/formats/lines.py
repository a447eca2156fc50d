"""One line of a file -> one document; blank lines hold none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from difa.document import Document
from difa.errors import InputError
from difa.formats.bounds import check_document, check_line, check_text
from difa.words import from_text, from_tokens, mark_words

OWN_KEYS = frozenset(
    ("id", "text", "tokens", "labels", "spans", "columns", "score", "p_value", "is_anomaly", "summary", "evidence", "words")
)
"""Keys of documents and of results: no columns of the user's."""


def parse_text_line(line: bytes, source: str, number: int) -> Document | None:
    """A document from a line of text."""
    text = _decode(line)
    if not text.strip():
        return None
    check_text(text)
    return check_document(from_text(text, id=f"{source}:{number}"))


def parse_json_line(line: bytes, source: str, number: int) -> Document | None:
    """A document from a JSON object with `text` or `tokens`, and perhaps `id` and `labels` or `spans`."""
    text = _decode(line)
    if not text.strip():
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected a JSON object, got something else ({error})") from None
    if not isinstance(record, dict):
        raise InputError(f"expected a JSON object, got {kind_of(record)}")
    document = parse_record(record, f"{source}:{number}")
    known = record.get("columns")  # what was scored before has them there
    kept = {**(known if isinstance(known, dict) else {}), **{key: record[key] for key in record if key not in OWN_KEYS}}
    return with_columns(document, kept)


def with_columns(document: Document, columns: dict[str, Any]) -> Document:
    """The document with its other columns, once they and its id have proved to be text and numbers that can be written."""
    try:
        json.dumps([document.id, columns], ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise InputError("expected Unicode text, got half a surrogate pair in the id or another column: repair it") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected other columns that JSON can hold, got something else ({error})") from None
    return replace(document, columns=columns) if columns else document


def parse_record(record: dict[str, Any], fallback_id: str | None = None) -> Document:
    """A document from such an object; `fallback_id` stands in where it has no id of its own."""
    given = record.get("id")
    if given is not None and (isinstance(given, bool) or not isinstance(given, (str, int))):
        raise InputError(f'expected a string or a whole number as "id", got {kind_of(given)}')
    document_id = fallback_id if given is None else str(given)
    text, tokens, labels, spans = (record.get(key) for key in ("text", "tokens", "labels", "spans"))
    if text is None and tokens is None:
        raise InputError(f'expected "text" or "tokens", got only {", ".join(map(repr, record)) or "an empty object"}')
    if text is not None and not isinstance(text, str):
        raise InputError(f'expected a string as "text", got {kind_of(text)}')
    if text is not None:
        check_text(text)
    if tokens is not None:
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise InputError('expected a list of strings as "tokens"')
        if labels is not None and (
            not isinstance(labels, list) or any(type(label) is not int or label not in (0, 1) for label in labels)
        ):
            raise InputError('expected a list of 0 and 1 as "labels"')
        return check_document(from_tokens(tokens, text=text, id=document_id, labels=labels))
    if labels is not None:
        raise InputError('expected "tokens" beside "labels", one per label; for raw text mark "spans" of [start, end]')
    document = check_document(from_text(str(text), id=document_id))
    return document if spans is None else _marked(document, spans)


def _marked(document: Document, spans: Any) -> Document:
    def is_span(span: Any) -> bool:
        whole = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        return whole and 0 <= span[0] < span[1] <= len(document.text)

    if not isinstance(spans, list) or not all(map(is_span, spans)):
        raise InputError(f'expected a list of [start, end] within 0 to {len(document.text)} as "spans"')
    return replace(document, labels=mark_words(document.words, map(tuple, spans)))


def _decode(line: bytes) -> str:
    check_line(line)
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text, got byte 0x{line[error.start]:02x} at position {error.start}") from None


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {
        type(None): "null",
        bool: "a truth value",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
