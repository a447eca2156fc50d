"""Label Studio exports -> documents with word labels.

An export is one JSON list of tasks. A task holds the text under `data` and the marked spans under `annotations`, of which the
last that was not cancelled counts (the short export has both at the top). Words that overlap a span are labelled 1, unless
its label says normal: `0` or `normal`, which annotators use for whole sentences without a fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from difa.document import Document
from difa.errors import InputError
from difa.words import from_text

NORMAL = ("0", "normal")
ID_KEY = "difa_id"
"""Where a task that we exported keeps the document's own id."""
_TEXT_KEYS = ("text", "sentence")


def tasks(content: bytes) -> Iterator[bytes]:
    """The tasks of an export, each as a line of JSON."""
    try:
        export = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected a Label Studio export, a JSON list of tasks, got something else ({error})") from None
    if not isinstance(export, list):
        raise InputError(f"expected a Label Studio export, a JSON list of tasks, got {type(export).__name__}")
    for task in export:
        yield json.dumps(task).encode()


def parse_task(line: bytes, source: str, number: int) -> Document | None:
    """A document from a task; without any annotation it has no labels."""
    task = json.loads(line)
    if not isinstance(task, dict):
        raise InputError(f"expected a task, a JSON object, got {type(task).__name__}")
    data = task.get("data", task)
    text = _text(data)
    ours = data.get(ID_KEY)
    given = task.get("id") if ours is None else ours
    kept = {key: value for key, value in data.items() if key not in (ID_KEY, *_TEXT_KEYS)} if "data" in task else {}
    document = replace(from_text(text, id=f"{source}:{number}" if given is None else str(given)), columns=kept)
    spans = _spans(task)
    if spans is None:
        return document
    marked = [_place(span, text) for span in spans if not _is_normal(span)]
    labels = tuple(int(any(word.start < end and start < word.end for start, end in marked)) for word in document.words)
    return replace(document, labels=labels)


def _text(data: Any) -> str:
    fields = data if isinstance(data, dict) else {}
    strings = {key: value for key, value in fields.items() if isinstance(value, str)}
    for key in _TEXT_KEYS:
        if key in strings:
            return strings[key]
    raise InputError(f'expected a string as "text" in the task\'s data, got {", ".join(map(repr, fields)) or "nothing"}')


def _spans(task: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Values of the marked spans, or None where nobody annotated the task."""
    if "annotations" in task:
        done = [entry for entry in task["annotations"] or [] if isinstance(entry, dict) and not entry.get("was_cancelled")]
        return [entry["value"] for entry in done[-1].get("result", []) if "start" in entry.get("value", {})] if done else None
    label = task.get("label")
    return [span for span in label if isinstance(span, dict) and "start" in span] if isinstance(label, list) else None


def _is_normal(span: dict[str, Any]) -> bool:
    labels = span.get("labels") or []
    return bool(labels) and all(str(label).strip().lower() in NORMAL for label in labels)


def _place(span: dict[str, Any], text: str) -> tuple[int, int]:
    """Offsets of a span in code points; browsers may have counted UTF-16 units, which the span's own text tells."""
    start, end, held = span.get("start"), span.get("end"), span.get("text")
    if type(start) is not int or type(end) is not int:
        raise InputError(f'expected whole numbers as "start" and "end" of a span, got {start!r} and {end!r}')
    if 0 <= start < end <= len(text) and (held is None or text[start:end] == held):
        return start, end
    units = text.encode("utf-16-le")
    before, inside = units[: 2 * start].decode("utf-16-le", "ignore"), units[2 * start : 2 * end].decode("utf-16-le", "ignore")
    if inside and inside == held:
        return len(before), len(before) + len(inside)
    raise InputError(
        f"expected {held!r} at {start} to {end} of the text, got {text[start:end]!r}: export again from Label Studio"
    )
