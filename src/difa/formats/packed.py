"""Files that may be packed -> what is in them: `.gz` and `.zst` are undone on the way, and done on the way out.

Python brings gzip; pyarrow (extra `tables`) brings Zstandard.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from difa.errors import MissingExtraError

PACKED = (".gz", ".zst")


def suffix_of(path: str | Path) -> str:
    """What is in a file, by its ending: `.csv` for `a.csv` and `a.csv.gz`."""
    file = _file_of(path)
    return (file.with_suffix("") if is_packed(path) else file).suffix.lower()


def is_packed(path: str | Path) -> bool:
    """Whether a file's ending says that it is packed."""
    return _file_of(path).suffix.lower() in PACKED


def _file_of(path: str | Path) -> Path:
    """The path without the settings behind the `?` of an address."""
    return Path(path.partition("?")[0] if isinstance(path, str) and "://" in path else path)


@contextmanager
def unpacked(path: str | Path, raw: io.BufferedReader) -> Iterator[io.BufferedReader]:
    """What is in an open file of that name."""
    match _file_of(path).suffix.lower():
        case ".gz":
            yield cast(io.BufferedReader, gzip.GzipFile(fileobj=raw))
        case ".zst":
            with arrow("Zstandard (.zst)").CompressedInputStream(raw, "zstd") as stream:
                yield io.BufferedReader(stream)
        case _:
            yield raw


@contextmanager
def packed(path: str | Path, raw: BinaryIO) -> Iterator[BinaryIO]:
    """A file of that name to write into, packed as its ending asks."""
    match _file_of(path).suffix.lower():
        case ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:  # the same results, the same bytes
                yield cast(BinaryIO, stream)
        case ".zst":
            with arrow("Zstandard (.zst)").CompressedOutputStream(raw, "zstd") as stream:
                yield stream
        case _:
            yield raw


def arrow(purpose: str) -> Any:
    """The pyarrow package, or the error that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "tables", purpose) from None
    return pyarrow
