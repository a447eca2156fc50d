"""Markdown, reStructuredText, Python or plain text -> its paragraphs of prose, each at its place in the file.

Code, targets of links, front matter and markup are no prose. They are replaced by as many spaces, so that a place in a paragraph
is a place in the file. Of Python, comments and docstrings are read, as reStructuredText.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from difa.errors import InputError
from difa.formats.lines import check_text
from difa.formats.sources import files_below
from difa.formats.streams import read_text

SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".py", ".pyi")
"""Files that are looked for in a folder; a file with another ending is plain text."""
_ADDRESS = r"(?:https?://|www\.)\S*[^\s.,;:!?)\]}'\"]"
_MARKDOWN = re.compile(_ADDRESS)
_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(?:.*\n)*?\1[ \t]*(?:\n|\Z)")
_REST = re.compile(
    rf"""
    {_ADDRESS}
  | ``(?:[^`]|`(?!`))+``                     # literal
  | :[\w.:+-]{{1,40}}:`[^`]*`                # role
  | [ \t\n]<[^<>`]*>`__?                     # target of a link
  | `[^`]*`(?!_)\w* | `__? | `               # code with what is glued to it, and the marks of a link
  | ^[ \t]*:[^:\n]{{1,80}}:(?=\s)            # name of a field
  | \|[^|\s][^|\n]{{0,60}}\| | \[[#*\w]+\]_  # substitution, footnote
  | (?<!\w)\*{{1,2}}(?=\w) | (?<=[\w.,;:!?])\*{{1,2}}(?!\w)
    """,
    re.VERBOSE | re.MULTILINE,
)
_NAMES = re.compile(rf"{_REST.pattern} | (?<![\w.])(?:[\w.]*\w_\w[\w.]*(?:\(\))?|[\w.]+\(\))", re.VERBOSE | re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+•]|\w{1,3}[.)])[ \t]+")
_EXPLICIT = re.compile(r"\.\.(?:\s|\Z)|__ ")
_PROSE_BODY = re.compile(  # up to where prose begins: behind the name, a version, a class
    r"\.\. (?:(?:note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|topic|epigraph|rubric)::"
    r"|(?:versionadded|versionchanged|deprecated|container)::[ \t]*\S*)[ \t]*"
)
_PRAGMA = re.compile(r"#(?:!|:|\s*(?:noqa|type:|pragma|pylint|mypy|ruff|fmt:|isort|yapf|nosec|-\*-|coding[:=]))")
_TARGET = "]("  # between the text and the target of a link
_BETWEEN = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, with spaces for what is no prose, and where it begins in the file."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _Line:
    """Where the text on a line begins and ends, without white space around it, and how far it is indented."""

    start: int
    end: int
    indent: int


@dataclass(frozen=True)
class Prose:
    """The paragraphs of a file, in order."""

    paragraphs: Sequence[Paragraph]
    line_starts: Sequence[int]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character of the file, both from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


def find_prose(names: Iterable[str]) -> list[Path]:
    """The files, each once; of a folder those that are not hidden and whose endings say that they hold prose."""
    paths: dict[Path, None] = {}
    for path in map(Path, names):
        if not path.is_dir():
            paths[path] = None
            continue
        found = files_below(path, lambda file: file.suffix.lower() in SUFFIXES)
        if closed := next((place for place, why in found.items() if why is not None), None):
            raise InputError(f"{closed}: cannot be read: {found[closed]}")
        shown = [file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts)]
        if not shown:
            raise InputError(f"{path}: expected files ending in {', '.join(SUFFIXES)} in this folder, found none")
        paths |= dict.fromkeys(shown)
    return list(paths)


def read_prose(path: str | Path) -> Prose:
    """The prose of a file, whose ending says how it is read."""
    text = io.StringIO(read_text(path), newline=None).getvalue()  # all ends of lines become \n
    try:
        check_text(text)
        return parse_prose(text, Path(path).suffix.lower())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_prose(text: str, suffix: str) -> Prose:
    """The prose of a text, read as a file with this ending."""
    starts, lines = [0, *(found.end() for found in re.finditer("\n", text))], _lines(text, 0, len(text))
    if suffix in (".md", ".markdown"):
        found = _markdown(text, starts)
    elif suffix == ".rst":
        found = (_paragraph(text, block, _REST) for block in _rest(text, lines))
    elif suffix in (".py", ".pyi"):
        found = (_paragraph(text, block, _NAMES) for part in _python(text, starts) for block in _rest(text, part))
    else:
        found = (_paragraph(text, block) for block in _blocks(text, lines))
    prose = [paragraph for paragraph in found if re.search(r"\w", paragraph.text)]
    return Prose(sorted(prose, key=attrgetter("start")), starts)


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    """The lines of a part of the text."""
    for content in text[start:end].split("\n"):
        indent = len(content) - len(content.lstrip())
        yield _Line(start + indent, start + indent + len(content.strip()), indent)
        start += len(content) + 1


def _paragraph(text: str, spans: Sequence[_Line], masked: re.Pattern[str] | None = None) -> Paragraph:
    """A paragraph from spans of the text; what stands between them, and what the pattern finds in them, is blanked."""
    parts, at = [], spans[0].start
    for span in spans:
        parts += [_blank(text[at : span.start]), text[span.start : span.end]]
        at = span.end
    prose = "".join(parts)
    return Paragraph(masked.sub(lambda found: _blank(found[0]), prose) if masked else prose, spans[0].start)


def _blank(text: str) -> str:
    return re.sub(r"\S", " ", text)


def _blocks(text: str, lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Runs of lines without a blank line, cut before each item of a list."""
    block: list[_Line] = []
    for line in lines:
        is_item = _ITEM.match(text, line.start, line.end)
        if block and (is_item or line.start == line.end):
            yield block
            block = []
        if line.start < line.end:
            block.append(_Line(is_item.end() if is_item else line.start, line.end, line.indent))
    if block:
        yield block


def _rest(text: str, lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Blocks of reStructuredText that are prose: no literal blocks, directives, rules or doctests."""
    skipped: int | None = None  # blocks that are indented further than this are left out
    for block in _blocks(text, lines):
        if skipped is not None and block[0].indent > skipped:
            continue
        first, indent = text[block[0].start : block[0].end], block[0].indent
        skipped = indent if text[block[-1].start : block[-1].end].endswith("::") else None
        if _EXPLICIT.match(first):
            head = _PROSE_BODY.match(first)
            skipped = None if head else indent
            opening = [replace(block[0], start=block[0].start + head.end())] if head else []
            block = [*opening, *(line for line in block[1:] if head and text[line.start] != ":")]
        block = [line for line in block if any(map(str.isalnum, text[line.start : line.end]))]  # others are rules
        if block and not first.startswith((">>>", "+-", "| ")):
            yield block


def _python(text: str, starts: Sequence[int]) -> Iterator[list[_Line]]:
    """Lines of each run of comments, and of each docstring."""
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type != tokenize.NL]
    except (tokenize.TokenError, SyntaxError) as error:
        raise InputError(f"expected Python, got something else: {error.args[0]}") from None
    comments = [token for token in tokens if token.type == tokenize.COMMENT and not _PRAGMA.match(token.string)]
    for _, run in groupby(enumerate(comments), key=lambda item: (item[1].start[0] - item[0], item[1].start[1])):
        places = [(_place(starts, token.end), len(token.string.lstrip("#"))) for _, token in run]
        yield [line for end, length in places for line in _lines(text, end - length, end)]
    before = tokenize.NEWLINE
    others = [token for token in tokens if token.type != tokenize.COMMENT]
    for token, behind in pairwise(others):
        opening = re.match(r"\w*(\"\"\"|'''|.)", token.string)
        if token.type == tokenize.STRING and before in _BETWEEN and behind.type == tokenize.NEWLINE and opening:
            start, end = _place(starts, token.start) + opening.end(), _place(starts, token.end) - len(opening[1])
            first, *inner = _lines(text, start, end)
            yield [replace(first, indent=token.start[1]), *inner]  # as the quotes are
        before = token.type


def _place(starts: Sequence[int], place: tuple[int, int]) -> int:
    """The offset of a row, from 1, and a column, from 0."""
    return starts[place[0] - 1] + place[1]


def _markdown(text: str, starts: Sequence[int]) -> Iterator[Paragraph]:
    """What the parser calls text, looked up in the source: it says on which lines a block stands, but not where on them."""
    front = _FRONT.match(text)
    body = _blank(front[0]) + text[front.end() :] if front else text
    at, ends = 0, [*starts, len(text)]
    for block in MarkdownIt("commonmark").enable("table").disable("text_join").parse(body):
        if block.type != "inline" or block.map is None:
            continue
        at, end = max(at, starts[block.map[0]]), ends[block.map[1]]
        spans = []
        for content, is_prose in _inline(block.children or ()):
            found = text.find(content, at, end)
            if found >= 0 and not (content.startswith(_TARGET) and re.search(r"\s", text[at:found])):
                at = found + len(content)
                spans += [_Line(found, at, 0)] if is_prose else []
        if spans:
            yield _paragraph(text, spans, _MARKDOWN)


def _inline(tokens: Iterable[Token]) -> Iterator[tuple[str, bool]]:
    """What stands in a block of Markdown, in order, and whether it is prose."""
    links: list[Token] = []
    before = ""
    for token in tokens:
        if token.type == "link_open":
            links.append(token)
        elif token.type == "link_close":
            link = links.pop()
            if link.markup != "autolink":
                yield f"{_TARGET}{link.attrs['href']}", False
        elif token.type == "image":
            yield from _inline(token.children or ())
            yield f"{_TARGET}{token.attrs['src']}", False
        elif token.type == "text":
            content = re.sub(r"\A\w+", "", token.content) if before == "code_inline" else token.content  # the s of many
            yield content, not (links and links[-1].markup == "autolink")
        elif token.type in ("text_special", "code_inline", "html_inline"):
            yield token.markup if token.type == "text_special" else token.content, False
        before = token.type
