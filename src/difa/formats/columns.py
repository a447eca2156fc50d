"""Columns of scored documents <-> blocks of a file, for results that are not final yet.

A run appends a block for each chunk. A file that was cut behind any block can be read, and gone on with. Flags that depend on all
documents, and tables whose columns are known at the end only, are made from such files in a second pass.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from difa.document import Document, Scored, Word
from difa.formats.write import to_json

_SIZE = 8  # bytes that say how long a block is
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


def pack_columns(scored: Scored) -> bytes:
    """One block."""
    head = {
        "documents": [[document.id, document.text, len(document.words), document.columns] for document in scored.documents],
        "views": scored.views,
        "traits": scored.traits,
        "suggestions": list(scored.suggestions.items()),
        "judged_by": scored.judged_by,
    }
    offsets = [(word.start, word.end) for document in scored.documents for word in document.words]
    arrays = {name: getattr(scored, name) for name in _ARRAYS}
    arrays["offsets"] = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    buffer = io.BytesIO()
    np.savez(buffer, head=np.frombuffer(to_json(head), np.uint8), **arrays)
    return buffer.tell().to_bytes(_SIZE, "little") + buffer.getvalue()


def read_columns(path: Path, skip: int = 0) -> Iterator[Scored]:
    """All blocks of a file, in order.

    Args:
        path: the file.
        skip: documents at the beginning that are left out.
    """
    with path.open("rb") as file:
        while size := file.read(_SIZE):
            scored = _unpack(file.read(int.from_bytes(size, "little")))
            if skip < len(scored):
                yield scored.take(range(skip, len(scored)))
            skip = max(0, skip - len(scored))


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
        judged_by=head["judged_by"],
        **columns,
    )
