"""Files -> documents, and results -> files.

`.txt` has one document a line, `.jsonl` one JSON object a line with `text` or `tokens`, `.json` is a Label Studio export; `-`
is standard input; a folder stands for all text and JSON lines in it. What cannot be read is named by file and line (or task).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from difa.document import Document
from difa.errors import InputError
from difa.formats.labelstudio import parse_task, tasks
from difa.formats.lines import parse_json_line, parse_text_line

Parser = Callable[[bytes, str, int], Document | None]

PARSERS: dict[str, Parser] = {".txt": parse_text_line, ".jsonl": parse_json_line}


def read_documents(inputs: Sequence[str], bad: list[str] | None = None) -> Iterator[Document]:
    """All documents of the inputs, in order.

    Args:
        inputs: files, folders or `-`.
        bad: if given, bad lines are added to it and skipped; otherwise the first one raises `InputError`.
    """
    for name in inputs:
        for source, lines, parse in _sources(name):
            for number, line in enumerate(lines, 1):
                try:
                    document = parse(line, source, number)
                except InputError as error:
                    message = f"{source}:{number}: {error}"
                    if bad is None:
                        raise InputError(f"{message} (--skip-bad goes on without such lines)") from None
                    bad.append(message)
                    continue
                if document is not None:
                    yield document


def _sources(name: str) -> Iterator[tuple[str, Iterable[bytes], Parser]]:
    if name == "-":
        lines = sys.stdin.buffer.readlines()
        yield "-", lines, _guess(lines)
        return
    path = Path(name)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in PARSERS and file.is_file())
        if not files:
            raise InputError(f"{name}: expected .txt or .jsonl files in this folder, found none")
    else:
        files = [path]
    for file in files:
        if file.suffix.lower() == ".json":
            yield str(file), _tasks(file), parse_task
            continue
        parser = PARSERS.get(file.suffix.lower())
        if parser is None:
            raise InputError(f"{file}: expected a file ending in {', '.join(PARSERS)} or .json, a folder, or - for stdin")
        try:
            with file.open("rb") as handle:
                yield str(file), handle, parser
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror}") from None


def _tasks(file: Path) -> list[bytes]:
    try:
        return list(tasks(file.read_bytes()))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _guess(lines: Sequence[bytes]) -> Parser:
    """Standard input is JSON lines if its first line is a JSON object with the right keys, and text otherwise."""
    first = next((line for line in lines if line.strip()), b"")
    try:
        return parse_json_line if first.lstrip().startswith(b"{") and parse_json_line(first, "-", 1) else parse_text_line
    except InputError:
        return parse_text_line
