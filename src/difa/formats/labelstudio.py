"""Label Studio: exports -> documents with word labels and the verdict on the whole document; results -> tasks to annotate.

An export is one JSON list of tasks. A task holds the text under `data` and the marked spans under `annotations`, of which the
last that was not cancelled counts; the short export has both at the top. Words that overlap a span are labelled 1, unless its
label says normal (`0` or `normal`), as annotators label whole sentences without a fault. A document that is called anomalous as a
whole but has no marked word gets no labels: nobody knows which of its words are at fault.

In tasks that we write the flagged words are marked; those with only white space between them are one region. Offsets count
UTF-16 units, as browsers do.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import Any

from difa.document import Document, Result, WordScore
from difa.errors import InputError
from difa.formats.lines import kind_of, missing, text_document, with_columns
from difa.formats.sources import Source
from difa.formats.streams import check_line
from difa.words import mark_words

NORMAL = ("0", "normal")
VERDICT = "verdict"  # the control of our labelling configuration with which a whole document is judged
ANOMALOUS = "anomalous"
ID_KEY = "difa_id"  # where a task that we exported keeps the document's own id
LABEL = "anomaly"
CONFIGURATION = f"""<View>
  <Labels name="label" toName="text">
    <Label value="{LABEL}" background="#e03131"/>
  </Labels>
  <Text name="text" value="$text" granularity="word"/>
  <Choices name="{VERDICT}" toName="text" choice="single" showInline="true">
    <Choice value="normal"/>
    <Choice value="{ANOMALOUS}"/>
  </Choices>
</View>
"""

Describe = Callable[[WordScore], str]
_EXPECTED = "expected a Label Studio export, a JSON list of tasks"
_TEXT_KEYS = ("text", "sentence")
_SHOWN = 60  # characters of a text in a message


def task_lines(label: str, place: str) -> Iterator[str]:
    """The tasks of an export: a reader that runs apart."""
    with Source(label, place=place).open_bytes() as (file, _):
        content = file.read()
    try:
        export = json.loads(content.decode("utf-8-sig"), parse_constant=missing)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{label}: {_EXPECTED}, got something else ({error})") from None
    if not isinstance(export, list):
        raise InputError(f"{label}: {_EXPECTED}, got {kind_of(export)}")
    yield from map(json.dumps, export)


def parse_task(line: bytes, name: str) -> Document | None:
    """A document from a task; it has no labels without any annotation, or if it is called anomalous and no words are marked."""
    check_line(line)
    task = json.loads(line)
    if not isinstance(task, dict):
        raise InputError(f"expected a task, a JSON object, got {kind_of(task)}")
    data = task.get("data", task)
    fields = data if isinstance(data, dict) else {}
    text = next((held for held in map(fields.get, _TEXT_KEYS) if isinstance(held, str)), None)
    if text is None:
        got = ", ".join(map(repr, fields)) or "nothing"
        raise InputError(f'expected a string as "text" in the task\'s data, got {got}')
    given = next((held for held in (data.get(ID_KEY), task.get("id")) if held is not None), name)
    kept = {key: value for key, value in data.items() if key not in (ID_KEY, *_TEXT_KEYS)} if "data" in task else {}
    document = with_columns(text_document(text, str(given)), kept)
    marks = _marks(task)
    if marks is None:
        return document
    units = utf16_offsets(text)
    marked = [_place(mark, text, units) for mark in marks if "start" in mark and not _is_normal(mark)]
    odd = _verdict(marks)
    if not marked and odd:
        return replace(document, odd=True)
    labels = mark_words(document.words, marked)
    if marked and not any(labels) and odd is None:
        odd = True  # someone marked white space and meant something: the document is not one without a fault
    return replace(document, labels=labels, odd=odd)


def _marks(task: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Values of the marked spans and of the verdict on the document, or None where nobody annotated the task."""
    marks: list[Any] | None
    if "annotations" in task:
        done = [entry for entry in _objects(task, "annotations") if not entry.get("was_cancelled")]
        marks = [mark.get("value") for mark in _objects(done[-1], "result")] if done else None
    else:
        verdict, spans = task.get(VERDICT), task.get("label")
        judged = [{"choices": [verdict]}] if verdict in (ANOMALOUS, *NORMAL) else []  # others are a column of the user's
        marks = [*spans, *judged] if isinstance(spans, list) else judged or None
    return None if marks is None else [mark for mark in marks if isinstance(mark, dict)]


def _verdict(marks: list[dict[str, Any]]) -> bool | None:
    """Whether the document is called anomalous (True) or normal (False) as a whole; None where it is called neither."""
    lists = [mark["choices"] for mark in marks if isinstance(mark.get("choices"), list)]
    chosen = {str(choice).strip().lower() for choices in lists for choice in choices}
    if ANOMALOUS in chosen:
        return True
    return False if chosen & set(NORMAL) else None


def _objects(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects listed under a name; none where there is nothing."""
    found = holder.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        got = "others in it" if isinstance(found, list) else kind_of(found)
        raise InputError(f'expected a list of objects as "{name}" of a task, got {got}: export again from Label Studio')
    return found


def _is_normal(span: dict[str, Any]) -> bool:
    labels = span.get("labels") or []
    if not isinstance(labels, list):
        raise InputError(f'expected a list as "labels" of a span, got {kind_of(labels)}: export again from Label Studio')
    return bool(labels) and all(str(label).strip().lower() in NORMAL for label in labels)


def utf16_offsets(text: str) -> Sequence[int]:
    """Where each character begins if UTF-16 units are counted, and where the text ends."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((2 if character > "\uffff" else 1 for character in text), initial=0))


def _place(span: dict[str, Any], text: str, units: Sequence[int]) -> tuple[int, int]:
    """Offsets of a span in characters; some exports count UTF-16 units, which the span's own text tells."""
    start, end, held = span.get("start"), span.get("end"), span.get("text")
    if type(start) is not int or type(end) is not int:
        raise InputError(f'expected whole numbers as "start" and "end" of a span, got {start!r:.60} and {end!r:.60}')
    if 0 <= start < end <= len(text) and (held is None or text[start:end] == held):
        return start, end
    first, last = bisect_left(units, start), bisect_left(units, end)
    if start >= 0 and first < last and text[first:last] == held:
        return first, last
    raise InputError(
        f"expected {str(held)[:_SHOWN]!r} at {start} to {end} of the text, got {text[max(start, 0) : max(end, 0)][:_SHOWN]!r}: "
        "export again from Label Studio"
    )


def write_tasks(results: Iterable[Result], version: str, describe: Describe) -> Iterator[str]:
    """The parts of a JSON list of tasks, with the model version that Label Studio shows; `describe` writes a note on a word."""
    yield "["
    for number, result in enumerate(results):
        yield (",\n" if number else "\n") + json.dumps(task_of(result, version, describe), ensure_ascii=False)
    yield "\n]\n"


def task_of(result: Result, version: str, describe: Describe) -> dict[str, Any]:
    """One task: the text, its id and its other columns, and what the model marks."""
    regions: list[list[WordScore]] = []
    for word in filter(attrgetter("is_anomaly"), result.words):
        if regions and not result.text[regions[-1][-1].end : word.start].strip():
            regions[-1].append(word)
        else:
            regions.append([word])
    units = utf16_offsets(result.text)
    marks = [_region(result.text, units, words, number, describe) for number, words in enumerate(regions)]
    verdict = {"choices": [ANOMALOUS if result.is_anomaly else "normal"]}
    choice = {"id": VERDICT, "from_name": VERDICT, "to_name": "text", "type": "choices", "value": verdict}
    prediction = {"model_version": version, "score": 1.0 - result.p_value, "result": [*marks, choice]}
    return {"data": {**result.columns, "text": result.text, ID_KEY: result.id}, "predictions": [prediction]}


def _region(text: str, units: Sequence[int], words: Sequence[WordScore], number: int, describe: Describe) -> dict[str, Any]:
    start, end = words[0].start, words[-1].end
    return {
        "id": f"difa-{number}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": {"start": units[start], "end": units[end], "text": text[start:end], "labels": [LABEL]},
        "score": 1.0 - min(word.p_value for word in words),
        "meta": {"text": [" ".join(map(describe, words))]},
    }
