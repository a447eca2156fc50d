"""Columns of scored documents <-> blocks of a file, for results that are not final yet.

A run appends a block for each chunk. A file that was cut behind any block can be read, and gone on with. Flags that depend on all
documents, and tables whose columns are known at the end only, are made from such files in a second pass.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from difa.document import Document, Scored, Word
from difa.formats.write import to_json

_SIZE = 8  # bytes that say how long a part of a block is
_ARRAYS = (
    "evidence",
    "word_scores",
    "allowed",
    "document_evidence",
    "document_scores",
    "word_p",
    "document_p",
    "word_flags",
    "document_flags",
)


class Reads(Protocol):
    """A file of bytes."""

    def read(self, size: int = -1, /) -> bytes: ...


def pack_columns(scored: Scored) -> bytes:
    """One block: which columns of the user's it has, and all else."""
    head = {
        "documents": [[document.id, document.text, len(document.words), document.columns] for document in scored.documents],
        "views": scored.views,
        "traits": scored.traits,
        "suggestions": list(scored.suggestions.items()),
        "faults": list(scored.faults.items()),
        "judged_by": scored.judged_by,
        "rule": scored.rule,
        "rate": scored.rate,
    }
    offsets = [(word.start, word.end) for document in scored.documents for word in document.words]
    arrays = {name: getattr(scored, name) for name in _ARRAYS}
    arrays["offsets"] = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    buffer = io.BytesIO()
    np.savez(buffer, head=np.frombuffer(to_json(head), np.uint8), **arrays)
    return b"".join(_sized(part) for part in (to_json(_kinds(scored.documents)), buffer.getvalue()))


def column_kinds(path: Path) -> dict[str, set[str]]:
    """The user's columns in a file, in the order in which they appear, and the types of their values."""
    found: dict[str, set[str]] = {}
    with path.open("rb") as file:
        while kinds := _part(file):
            for name, types in json.loads(kinds).items():
                found.setdefault(name, set()).update(types)
            file.seek(int.from_bytes(file.read(_SIZE), "little"), io.SEEK_CUR)
    return found


def read_columns(path: Path, skip: int = 0) -> Iterator[Scored]:
    """All blocks of a file, in order.

    Args:
        path: the file.
        skip: documents at the beginning that are left out.
    """
    with path.open("rb") as file:
        for scored in unpack_columns(file):
            if skip < len(scored):
                yield scored.take(range(skip, len(scored)))
            skip = max(0, skip - len(scored))


def unpack_columns(file: Reads) -> Iterator[Scored]:
    """The same from an open file."""
    while _part(file):
        yield _unpack(_part(file))


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(_SIZE, "little") + content


def _part(file: Reads) -> bytes:
    return file.read(int.from_bytes(file.read(_SIZE), "little"))


def _kinds(documents: Sequence[Document]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for document in documents:
        for name, value in document.columns.items():
            is_large = isinstance(value, int) and abs(value) >> 63  # for any column of numbers
            found.setdefault(name, set()).add("str" if is_large else type(value).__name__)
    return {name: sorted(kinds) for name, kinds in found.items()}


def _unpack(block: bytes) -> Scored:
    with np.load(io.BytesIO(block)) as arrays:
        head, offsets = json.loads(arrays["head"].tobytes()), iter(arrays["offsets"].tolist())
        columns = {name: arrays[name] for name in _ARRAYS}
    documents = []
    for name, text, count, others in head["documents"]:
        words = tuple([Word(text[start:end], start, end) for _, (start, end) in zip(range(count), offsets, strict=False)])
        documents.append(Document(text, words, name, columns=others))
    return Scored(
        documents,
        views=tuple(head["views"]),
        traits=tuple(head["traits"]),
        suggestions=dict(head["suggestions"]),
        faults=dict(head["faults"]),
        judged_by=head["judged_by"],
        rule=head["rule"],
        rate=head["rate"],
        **columns,
    )
