"""The first bytes of a file, or a line -> the encoding that it seems to have."""

from __future__ import annotations

import codecs

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LEAST = 4  # bytes that tell something
_SHARE = 0.8  # of every other byte that is zero in UTF-16


def encoding_of(head: bytes) -> str:
    """The encoding of a table by its first bytes."""
    return "utf-16" if head.startswith(UTF16_MARKS) else "utf-8-sig"


def is_unmarked_utf16(content: bytes) -> bool:
    """Whether every other byte is zero, as in UTF-16 of Latin letters, where no mark says so."""
    if b"\x00" not in content or len(content) < _LEAST or content.startswith(UTF16_MARKS):
        return False
    zeros = [content[::2].count(0), content[1::2].count(0)]
    return min(zeros) == 0 and max(zeros) >= _SHARE * (len(content) // 2)
