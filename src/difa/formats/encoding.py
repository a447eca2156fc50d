"""The first bytes of a file, or a line -> the encoding, and the ends of lines, that it seems to have."""

from __future__ import annotations

import codecs

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_LEAST = 4  # bytes that tell something
_SHARE = 0.8  # of every other byte that is zero in UTF-16
_SHARE_32 = 0.6  # of all bytes that are zero in UTF-32
_HEAD = 1 << 13


def encoding_of(head: bytes) -> str:
    """The encoding of a table by its first bytes."""
    return "utf-16" if head.startswith(UTF16_MARKS) else "utf-8-sig"


def wide_encoding(content: bytes) -> str | None:
    """`UTF-16` or `UTF-32`, if bytes begin with its mark or have the zeros that Latin letters have in it."""
    if content.startswith(_UTF32_MARKS):
        return "UTF-32"
    if content.startswith(UTF16_MARKS):
        return "UTF-16"
    if b"\x00" not in content or len(content) < _LEAST:
        return None
    if content.count(0) >= _SHARE_32 * len(content):
        return "UTF-32"
    zeros = [content[::2].count(0), content[1::2].count(0)]
    return "UTF-16" if min(zeros) == 0 and max(zeros) >= _SHARE * (len(content) // 2) else None


def has_returns(head: bytes) -> bool:
    """Whether carriage returns alone end the lines of a file that begins so."""
    return b"\r" in head[: _HEAD - 1] and b"\n" not in head[:_HEAD]
