"""Reviewed documents -> verdicts: whether each is odd, and which of its words are.

A document is judged by its marked words, by what was said of it as a whole, or by its column `verdict`. Verdicts that contradict
themselves, say nothing or mark nothing are refused before anything is learned: a wrong one would teach the model the opposite of
what the reviewer meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from difa.document import Document
from difa.errors import InputError

# A column of whole numbers in which some cells are empty holds 1.0 and 0.0.
_ODD = frozenset(("odd", "anomalous", "1", "1.0", "true", "yes"))
_NORMAL = frozenset(("normal", "0", "0.0", "false", "no", "ok"))
_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class Verdict:
    """A reviewed document: whether it is odd, and which of its words are, where someone marked them."""

    document: Document
    odd: bool
    marked: NDArray[np.bool_] | None
    """(T,), true for odd words; None where only the document was judged."""


def read_verdicts(documents: Iterable[Document]) -> list[Verdict]:
    """The verdicts on documents, one per text, in the order in which the texts first occur.

    A text that was judged several times counts once, by its last verdict. Documents without words are skipped.

    Raises:
        InputError: a document is not judged, or not clearly; a text is both odd and normal, and no column `at` says which
            verdict is the later one; or no document is odd.
    """
    verdicts: dict[str, Verdict] = {}
    names: dict[str, str] = {}
    for number, document in enumerate(documents, 1):
        if not document.words:
            continue
        text, name = document.text, document.id or f"document {number}"
        verdict = _judge(document, name)
        earlier = verdicts.get(text, verdict)
        # Where both have a time, the later one is a change of mind.
        if earlier.odd != verdict.odd and any(_column(each.document, "at") is None for each in (earlier, verdict)):
            odd, normal = (name, names[text]) if verdict.odd else (names[text], name)
            raise InputError(f"expected one verdict per text, got odd in {odd} and normal in {normal}: keep one of them")
        verdicts[text], names[text] = verdict, name
    if not verdicts:
        raise InputError("expected reviewed documents, got none: give documents with a verdict or with marked words")
    if not any(verdict.odd for verdict in verdicts.values()):
        raise InputError(
            f"expected at least one odd verdict, got {len(verdicts)} that are all normal: "
            "add these documents to the normal ones instead"
        )
    return list(verdicts.values())


def _judge(document: Document, name: str) -> Verdict:
    """The verdict on one document; messages call it `name`."""
    odd = _said(document, name) if document.odd is None else document.odd
    _check_spans(document, name)
    marked = None if document.labels is None else np.array(document.labels, dtype=bool)
    if marked is None and odd is None:
        raise InputError(
            f'{name}: expected a verdict or marked words, got neither: give it a "verdict" (odd or normal), or leave it out'
        )
    if marked is None or (odd and not marked.any()):  # if it is odd, nobody said where
        return Verdict(document, bool(odd), None)
    if marked.any() and odd is False:
        raise InputError(
            f"{name}: expected no marked words beside the verdict normal, got {marked.sum()}: "
            "remove the marks, or call the document odd"
        )
    return Verdict(document, bool(marked.any()), marked)


def _said(document: Document, name: str) -> bool | None:
    """Whether the column `verdict` calls the document odd; None where there is nothing in it."""
    value = _column(document, "verdict")
    if value is None:
        return None
    word = str(value).strip().casefold()
    if word not in _ODD | _NORMAL:
        shown = repr(value)[:_SHOWN]
        raise InputError(f'{name}: expected "odd" or "normal" as verdict, got {shown}: correct it, or leave the document out')
    return word in _ODD


def _column(document: Document, name: str) -> Any:
    """What a column holds, whatever the case of its name; None where it is missing or blank."""
    held = (value for key, value in document.columns.items() if key.strip().casefold() == name)
    return next((value for value in held if value is not None and str(value).strip()), None)


def _check_spans(document: Document, name: str) -> None:
    """Refuse spans that mark no word: those of white space, and those that are no spans of a text."""
    if document.labels is not None and any(document.labels):
        return
    spans = _spans(document)
    if document.labels is None and document.odd is None and spans:
        raise InputError(
            f'{name}: expected a list of [start, end] as "spans", got {json.dumps(spans)[:_SHOWN]}, which marks no word: '
            "correct it, or leave it out to judge only the document"
        )
    # Label Studio's reader calls a document odd and gives it labels only where a span was drawn.
    is_blank = bool(spans) and all(_is_blank(document.text, span) for span in spans)
    if document.labels is not None and (document.odd or is_blank):
        raise InputError(
            f"{name}: expected spans that cover words, got only white space, which marks no word: "
            "correct the spans, or leave them out to judge only the document"
        )


def _spans(document: Document) -> list[Any]:
    """The spans in the document's column, which in a table may be JSON; none where it holds no list."""
    spans = document.columns.get("spans")
    if isinstance(spans, str) and spans.lstrip().startswith("["):
        try:
            spans = json.loads(spans)
        except (ValueError, RecursionError):
            return [spans]
    return spans if isinstance(spans, list) else []


def _is_blank(text: str, span: Any) -> bool:
    is_span = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
    return is_span and not text[span[0] : span[1]].strip()
