"""One line of a file, or one row of a table -> one document, within the bounds for documents.

A document is a text or a list of words, `tokens`. It may be labelled: by `labels`, one for each of the tokens, or by `spans` of
the text. Beside a text, a key of these names that holds something else is an ordinary column of the user's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from difa.document import Document, Result
from difa.errors import InputError
from difa.formats.streams import check_line, wide_encoding
from difa.storage.model_folder import unique_keys
from difa.words import from_text, from_tokens, mark_words

MOST_CHARACTERS = 2_000_000
MOST_WORDS = 200_000
"""Bounds of a document, which is scored as a whole: that takes some 5 MB of memory for every thousand words."""
MARKS = ("tokens", "labels", "spans")  # keys that may split a text into words or label them
_RESULT_KEYS = frozenset(("summary", *(entry.name for entry in fields(Result))))
"""Keys of our results; all others are columns of the user's."""
_NAMED = 5  # keys in a message


def parse_text_line(line: bytes, name: str) -> Document | None:
    """A document from a line of text, with this name as its id."""
    text = _decode(line)
    return text_document(text, name) if text.strip() else None


def parse_json_line(line: bytes, name: str) -> Document | None:
    """A document from a JSON object with `text` or `tokens`, and perhaps `id` and `labels` or `spans`."""
    text = _decode(line)
    if not text.strip():
        return None
    try:
        record = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected a JSON object, got something else ({error})") from None
    if not isinstance(record, dict):
        raise InputError(f"expected a JSON object, got {kind_of(record)}")
    if is_result(record):
        known = record.get("columns")
        kept = (known if isinstance(known, dict) else {}) | {key: record[key] for key in record if key not in _RESULT_KEYS}
        return row_document(record["text"], record.get("id"), kept, kept, name)
    used = _document_keys(record)
    held = ("id", "text") if "labels" in used or "tokens" not in used else ("id", "text", "tokens")  # by the document itself
    return with_columns(parse_record(used, name), {key: record[key] for key in record if key not in held})


def row_document(text: Any, id: Any, marks: Mapping[str, Any], columns: dict[str, Any], name: str) -> Document:
    """A document from a text and the columns beside it, of which `marks` may label it; `name` stands in for a missing id.

    `tokens` without labels take the place of a text that is empty. Beside another text they are an ordinary column.
    """
    used = _document_keys({"text": text, "id": id} | {key: marks[key] for key in MARKS if key in marks})
    if "tokens" not in used:
        used.pop("labels", None)
    elif text and "labels" not in used:
        del used["tokens"]
    return with_columns(parse_record(used, name), columns)


def _decode(line: bytes) -> str:
    check_line(line)
    if wide := wide_encoding(line):
        raise InputError(f"expected UTF-8 text, got {wide}: save the file as UTF-8, or run iconv -f {wide} -t UTF-8")
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text, got byte 0x{line[error.start]:02x} at position {error.start}") from None


def missing(constant: str) -> None:
    """None for NaN and Infinity, which JSON does not know: a missing value, as in tables."""


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=missing)  # made once, not for each line
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def is_result(record: dict[str, Any]) -> bool:
    """Whether a record is one of our results, rather than one of the user's with keys of the same names."""
    words = record.get("words")
    return (
        isinstance(words, list)
        and record.keys() >= {"text", "score", "p_value", "is_anomaly"}
        and all(isinstance(word, dict) and "p_value" in word for word in words)
    )


def _document_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that makes its document; the rest are columns of the user's."""
    used = {key: record[key] for key in ("id", "text", *MARKS) if record.get(key) is not None}
    if "text" in record and not used.keys() & {"text", "tokens"}:
        used["text"] = ""
    if "text" not in used:
        return used if "tokens" in used else dict(record)
    fits = {"tokens": are_strings, "labels": _are_flags, "spans": _are_lists}
    used = {key: value for key, value in used.items() if key not in fits or fits[key](value)}
    if used.get("labels") == [] and "tokens" not in used:
        del used["labels"]
    if "spans" in used and "labels" not in used:
        used.pop("tokens", None)  # spans are of the text
    return used


def are_strings(value: Any) -> bool:
    """Whether a value is a list of strings."""
    return isinstance(value, list) and set(map(type, value)) <= {str}


def _are_flags(value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is int and entry in (0, 1) for entry in value)


def _are_lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, list) for entry in value)


def with_columns(document: Document, columns: dict[str, Any]) -> Document:
    """The document with its other columns; refuses columns or an id that cannot be written."""
    try:
        _ENCODER.encode([document.id, columns]).encode()
    except UnicodeEncodeError:
        raise InputError("expected Unicode text, got half a surrogate pair in the id or another column: repair it") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected other columns that JSON can hold, got something else ({error})") from None
    return replace(document, columns=columns) if columns else document


def parse_record(record: Mapping[str, Any], name: str | None = None) -> Document:
    """A document from an object with `text` or `tokens`; `name` stands in for a missing id."""
    given, text, tokens, labels, spans = (record.get(key) for key in ("id", "text", *MARKS))
    if given is not None and (isinstance(given, bool) or not isinstance(given, (str, int))):
        raise InputError(f'expected a string or a whole number as "id", got {kind_of(given)}')
    name = name if given is None else str(given)
    if text is None and tokens is None:
        raise InputError(_without_text(record))
    if text is not None and not isinstance(text, str):
        raise InputError(f'expected a string as "text", got {kind_of(text)}')
    if tokens is not None:
        check_text(text or "")
        if not are_strings(tokens):
            raise InputError('expected a list of strings as "tokens"')
        if labels is not None and not _are_flags(labels):
            raise InputError('expected a list of 0 and 1 as "labels"')
        return _checked(from_tokens(tokens, text=text, id=name, labels=labels))
    if labels is not None:
        raise InputError('expected "tokens" beside "labels", one per label; for raw text mark "spans" of [start, end]')
    document = text_document(text or "", name)
    return document if spans is None else _marked(document, spans)


def _without_text(record: Mapping[str, Any]) -> str:
    """The error for a record with neither text nor tokens."""
    got = ", ".join(map(repr, record)) or "an empty object"
    held = [repr(key) for key, value in record.items() if isinstance(value, str) and key != "id"]
    named = ", ".join(held[:_NAMED]) + (", …" if len(held) > _NAMED else "")
    remedy = f'rename the key with the text to "text" (strings are in {named})' if held else 'give the document as "text"'
    return f'expected "text" or "tokens", got only {got}: {remedy}'


def _marked(document: Document, spans: Any) -> Document:
    def is_span(span: Any) -> bool:
        whole = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        return whole and 0 <= span[0] < span[1] <= len(document.text)

    if not isinstance(spans, list) or not all(map(is_span, spans)):
        raise InputError(f'expected a list of [start, end] within 0 to {len(document.text)} as "spans"')
    return replace(document, labels=mark_words(document.words, map(tuple, spans)))


def text_document(text: str, id: str | None) -> Document:
    """A document from a text; one that is too long is refused before it is split into words."""
    check_text(text)
    return _checked(from_text(text, id=id))


def check_text(text: str) -> None:
    """Refuse a text of too many characters."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"expected at most {MOST_CHARACTERS:,} characters in a document, got {len(text):,}: split it")


def _checked(document: Document) -> Document:
    check_text(document.text)  # joined of tokens, it may be longer than they are
    if len(document.words) > MOST_WORDS:
        raise InputError(f"expected at most {MOST_WORDS:,} words in a document, got {len(document.words):,}: split it")
    return document


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {bool: "a truth value", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
