"""What must hold for every text, every file and every result, whoever made it. A breach is an AssertionError."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from difa import DiFA, Result
from difa.document import columns_of
from difa.errors import DifaError
from difa.formats import read_documents
from difa.formats.results import read_results
from difa.formats.tables import Shape
from difa.formats.write import from_json_line, write_results
from difa.report.html import report_html, result_html
from difa.report.summary import summarise
from difa.words import from_text, split_words
from tests.lines import to_json_line

ALLOWED_TAGS = {"mark", "div", "p", "span", "b", "i", "small", "strong", "style", "table", "tr", "td", "th", "tbody", "thead"}
MOST_MESSAGE = 2_000


def check_words(text: str) -> None:
    """Words stand in order, do not overlap, slice back to themselves, and cover all that is not white space."""
    end = 0
    for word in split_words(text):
        assert word.start >= end, "words overlap"
        assert word.end > word.start, "a word is empty"
        assert not text[end : word.start].strip(), "a character belongs to no word"
        assert text[word.start : word.end] == word.text, "a word is not where its offsets say"
        end = word.end
    assert not text[end:].strip(), "a character belongs to no word"


def check_unicode(text: str) -> None:
    """A text becomes a document, or is refused in one clear line."""
    try:
        document = from_text(text)
    except DifaError as error:
        _check_message(error)
        return
    assert document.text == text


def check_result(result: Result, text: str, views: Sequence[str]) -> None:
    """One finite score for each word and for the document; p-values are probabilities; offsets slice back."""
    assert result.text == text
    assert [(word.text, word.start, word.end) for word in result.words] == [
        (word.text, word.start, word.end) for word in split_words(text)
    ], "not one score for each word"
    assert math.isfinite(result.score)
    assert 0 < result.p_value <= 1
    for word in result.words:
        assert math.isfinite(word.score)
        assert 0 < word.p_value <= 1
        assert list(word.evidence) == list(views)
        assert all(math.isfinite(value) and value >= 0 for value in word.evidence.values())


def check_scores(model: DiFA, texts: Sequence[str]) -> list[Result]:
    """Scores of a batch hold; those of the first text are the same when it is scored by itself."""
    results = model.score(texts)
    assert len(results) == len(texts)
    views = model.detector_.config.views.names
    for result, text in zip(results, texts, strict=True):
        check_result(result, text, views)
    alone = model.score(texts[:1])[0]
    assert _close(alone, results[0]), "a text has another score alone than in a batch"
    return results


def check_outputs(results: Sequence[Result], folder: Path) -> None:
    """Every form of output takes every result and gives it back; nothing in a text becomes markup, a row or a formula."""
    for result in results:
        line = to_json_line(result)
        assert "\n" not in line[:-1], "a result of several lines"
        assert from_json_line(line.encode()) == result
        _check_markup(result_html(result))
    page = report_html(summarise(results), "fuzz")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for kind in ("csv", "parquet"):
        final = folder / f"results.{kind}"
        write_results(final, kind, Shape(("id", "text")), columns_of(results))
        _check_csv(final, results) if kind == "csv" else _check_parquet(final, results)


def check_file(path: Path) -> int:
    """A file becomes documents, or is refused in one clear line; with bad lines skipped no other error is left."""
    try:
        documents = list(read_documents([str(path)]))
    except DifaError as error:
        _check_message(error)
        bad: list[str] = []
        try:
            documents = list(read_documents([str(path)], bad))
        except DifaError as other:
            _check_message(other)
            return 0
        assert bad, "a file is refused whole and read without complaint"
    for document in documents:
        for word in document.words:
            assert document.text[word.start : word.end] == word.text
        document.text.encode()
        assert document.labels is None or len(document.labels) == len(document.words)
    return len(documents)


def check_folder(folder: Path, model: DiFA, rng: random.Random) -> None:
    """A model folder with something changed is refused by name, or scores as the whole one does."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    match rng.randrange(3):
        case 0:
            content[at] ^= 1 << rng.randrange(8)
        case 1:
            del content[at:]
        case 2:
            content[at:at] = rng.randbytes(3)
    path.write_bytes(content)
    text = "Where is my parcel, please? It was banana to my door."
    try:
        results = DiFA.load(folder).score([text])
    except DifaError as error:
        _check_message(error)
        return
    assert results == model.score([text]), f"{path.name} was changed, and nobody noticed"


def _check_csv(path: Path, results: Sequence[Result]) -> None:
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert len(rows) == len(results) + 1, "not one row for each result"
    at = rows[0].index("text")
    for row, result in zip(rows[1:], results, strict=True):
        assert row[at].removeprefix("'") == result.text.removeprefix("'"), "a text is not what it was"
        assert not any(cell.startswith(("=", "@", "\t", "\r")) for cell in row), "a cell that a spreadsheet would run"


def _check_parquet(path: Path, results: Sequence[Result]) -> None:
    again = list(read_results([path]))
    assert [(item.text, item.score, len(item.words)) for item in again] == [
        (item.text, item.score, len(item.words)) for item in results
    ]


def _close(one: Result, other: Result) -> bool:
    pairs = zip([one, *one.words], [other, *other.words], strict=True)
    return all(math.isclose(a.score, b.score, rel_tol=1e-6, abs_tol=1e-6) for a, b in pairs)


def _check_message(error: DifaError) -> None:
    message = str(error)
    assert message.strip(), "an error without a word"
    assert len(message) < MOST_MESSAGE, "an error as long as its input"
    assert "Traceback" not in message
    assert "crashed (exit code" not in message, "a traceback in the process that reads"


class _Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def _check_markup(html: str) -> None:
    parser = _Markup()
    parser.feed(html)
    assert set(parser.tags) <= ALLOWED_TAGS, f"a text became markup: {set(parser.tags) - ALLOWED_TAGS}"
    assert set(parser.attributes) <= {"class", "title", "style"}, f"a text became an attribute: {parser.attributes}"
