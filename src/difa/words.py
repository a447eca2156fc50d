"""Text -> words, with exact offsets; word lists are taken as they are.

A word is what a reader would point at: letters, digits and marks with the joints inside them (don't, e-mail, 3.50,
LK-48213, a$$hole), a web or mail address, a run of one punctuation mark (!!!), an emoji, or one character of a script
written without spaces. Every character that is not white space belongs to exactly one word.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from difa.document import Document, Word, Words, find_in_order
from difa.errors import InputError

# Scripts written without spaces: one character a word, as the encoders' own tokenizers do.
_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_PICTURE = r"\u2190-\u21ff\u2300-\u23ff\u2460-\u2bff\U0001f000-\U0001faff"
# Everything that is not a letter, digit or mark: given by exclusion, since combining marks are not in \w.
_OTHER = (
    r"\s!-/:-@\[-`{-~\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u2000-\u200b\u200e-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f\u3000-\u303f\ufe10-\ufe1f\ufe30-\ufe6f"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufff9-\ufffd\ud800-\uf8ff\U0001f000-\U0001faff"
)
_CHARACTER = rf"[^{_OTHER}{_IDEOGRAPH}]"

_WORD = re.compile(
    rf"""(
    [A-Za-z]++(?=\s)                                                # plain words first: nearly all are
  | (?:https?://|www\.)[^\s<>"]*[^\s<>"'.,;:!?)\]}}]               # web address, without the full stop behind it
  | [\w.+-]{{1,64}}+@[\w-]+(?:\.[\w-]+)+                              # mail address; bounded, so that "a.a.a.…" stays linear
  | [{_IDEOGRAPH}]
  | [\U0001f1e6-\U0001f1ff]{{2}}                                   # flag
  | [{_PICTURE}][\ufe0f\U0001f3fb-\U0001f3ff]*(?:\u200d[{_PICTURE}][\ufe0f\U0001f3fb-\U0001f3ff]*)*   # emoji sequence
  | {_CHARACTER}+(?:(?:['’_-]|[@$*\#&+=~^%|]+|(?<=\d)[.,:](?=\d)){_CHARACTER}+)*
  | (?P<mark>\S)(?P=mark)*                                         # punctuation: runs of one mark stay together
    )""",
    re.VERBOSE,
)


def split_words(text: str) -> Words:
    """Split a text into words; `text[start:end] == word.text` holds for each."""
    return Words(tuple([word for word, _ in _WORD.findall(text)]), text)


def from_text(text: str, id: str | None = None) -> Document:
    """A document from raw text."""
    check_unicode(text)
    return Document(text=text, words=split_words(text), id=id)


def from_tokens(
    tokens: Sequence[str], text: str | None = None, id: str | None = None, labels: Sequence[int] | None = None
) -> Document:
    """A document from a word list, one word per item, in order.

    Offsets refer to `text` where the items stand in it one after the other, otherwise to the items joined by spaces.
    """
    if labels is not None and len(labels) != len(tokens):
        raise InputError(f"expected one label per word, got {len(labels)} labels for {len(tokens)} words")
    starts = None if text is None else find_in_order(tokens, text)
    if starts is None or text is None:
        starts = list(accumulate([len(token) + 1 for token in tokens], initial=0))[: len(tokens)]
        text = " ".join(tokens)
    check_unicode(text)
    return Document(text, Words(tuple(tokens), starts), id, None if labels is None else tuple(labels))


def mark_words(words: Sequence[Word], spans: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """1 for every word that overlaps one of the spans, 0 for the others; words stand in the order of the text."""
    labels, rest = [], deque(sorted(span for span in spans if span[0] < span[1]))
    reach = 0  # where the spans that began before the word's end reach to
    for word in words:
        while rest and rest[0][0] < word.end:
            reach = max(reach, rest.popleft()[1])
        labels.append(int(word.start < reach))
    return tuple(labels)


def as_document(item: object, position: int = 0) -> Document:
    """A document from what a user may pass: a string, a list of words, or a Document."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return from_text(item)
    if isinstance(item, Sequence) and all(issubclass(kind, str) for kind in set(map(type, item))):
        return from_tokens(item)
    if is_missing(item):
        raise InputError(
            f"expected a text as document {position}, got a missing value: fill or drop such values, or score the table by "
            "score_frame, which counts them"
        )
    hint = ': score rows by score_frame(rows, text="…")' if isinstance(item, Mapping) else ""
    raise InputError(f"expected a string or a list of words as document {position}, got {type(item).__name__}{hint}")


def is_missing(item: object) -> bool:
    """Whether this is None or what pandas has for it: NaN, NaT, NA."""
    return item is None or (isinstance(item, float) and math.isnan(item)) or type(item).__name__ in ("NAType", "NaTType")


def as_documents(items: Iterable[object]) -> Iterator[Document]:
    """Documents from what a user may pass as many of them; a single text or a table is refused at once."""
    if isinstance(items, (str, bytes)):
        raise InputError("expected a list of documents, got a single string: put it into a list")
    if isinstance(items, Mapping) or hasattr(items, "columns") or hasattr(items, "column_names"):
        raise InputError(
            f"expected a list of documents, got a {type(items).__name__}: give its text column, or score it by "
            'score_frame(frame, text="…")'
        )
    if not isinstance(items, Iterable):
        raise InputError(f"expected a list of documents, got {type(items).__name__}: give strings, lists of words or Documents")
    return (as_document(item, position) for position, item in enumerate(items))


def check_unicode(text: str) -> None:
    """Raise `InputError` for half a surrogate pair, which no file can hold and no encoder can read."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"expected Unicode text, got half a surrogate pair at character {error.start}: repair the text"
        ) from None
