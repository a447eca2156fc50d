"""A file with one JSON list -> its items, one at a time, so that no more than one of them is held.

An item is parsed to find its end, and given as it stands. Whoever reads it parses it again: what a list of millions of small
objects takes in memory is many times its bytes.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Protocol

from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES, check_values

_BLOCK = 1 << 20
_NEAR = 32  # characters before the end of what was read so far, in which a number or word may be cut
_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


class Reads(Protocol):
    """A file of bytes."""

    def read(self, size: int = -1, /) -> bytes | None: ...


class NoListError(ValueError):
    """The file holds something else, as its first character shows."""


def list_items(file: Reads) -> Iterator[bytes]:
    """The items of a list, each as it stands there; raises `ValueError` or `RecursionError` where it is none."""
    text = _Text(file)
    if (first := text.next_mark()) != "[":
        raise NoListError("an object" if first == "{" else f"something else (it begins with {first!r})")
    text.at += 1
    if text.next_mark() == "]":
        text.at += 1
    else:
        mark = ","
        while mark == ",":
            yield text.take_item()
            mark = text.next_mark()
            if mark not in (",", "]"):
                raise ValueError("Expecting ',' or ']' after an item")
            text.at += 1
    if text.next_mark():
        raise ValueError("Extra data after the list")


class _Text:
    """What was read of a file and is not done with; `at` is the place in it."""

    def __init__(self, file: Reads) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-8-sig")()
        self._held, self._is_all, self.at = "", False, 0

    def next_mark(self) -> str:
        """The next character that is no space, or nothing at the end."""
        while True:
            self.at = _end_of_space(self._held, self.at)
            if self.at < len(self._held) or not self._read_on():
                return self._held[self.at : self.at + 1]

    def take_item(self) -> bytes:
        """The value that begins here."""
        self.next_mark()
        while True:
            held = self._held
            try:
                _, end = _decode(held, self.at)
                behind = _end_of_space(held, end)
                is_cut = behind > len(held) - _NEAR and held[behind : behind + 1] not in (",", "]")
            except json.JSONDecodeError as error:
                is_cut = error.pos > len(held) - _NEAR or error.msg.startswith("Unterminated string")
                if not is_cut or self._is_all:
                    raise
            if not is_cut or self._is_all:
                item, self.at = held[self.at : end], end
                return item.encode()
            self._read_on()

    def _read_on(self) -> bool:
        """Read as much again as is held; whether there was anything."""
        self._held, self.at = self._held[self.at :], 0
        if len(self._held) > MOST_BYTES:
            raise InputError(f"expected tasks of at most {MOST_BYTES >> 20} MB, got a larger one: leave it out")
        check_values(self._held)
        block = self._file.read(max(_BLOCK, len(self._held)))
        self._is_all = not block
        self._held += self._decoder.decode(block or b"", final=self._is_all)
        return not self._is_all


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
