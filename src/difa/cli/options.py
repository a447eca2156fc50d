"""Arguments that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source
    from difa.formats.tables import Columns

Inputs = Annotated[
    list[str],
    typer.Argument(
        help=".txt (one document a line), .jsonl (with `text` or `tokens`), .csv, .tsv, .parquet, also compressed (.gz, .zst), "
        "folders, patterns, or - for stdin."
    ),
]
ModelFolder = Annotated[Path, typer.Argument(help="A model folder, as `difa fit --out` writes it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bars and no summary on stderr.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip lines that cannot be read, and list them on stderr.")]
Fpr = Annotated[
    float | None, typer.Option(help="Flag at most this share of normal documents (and words). Default: the model's own rate.")
]
Fdr = Annotated[
    float | None,
    typer.Option(help="Instead of --fpr: at most this share of the flagged documents is normal (Benjamini–Hochberg)."),
]
TextColumn = Annotated[str | None, typer.Option(help="Column of a table with the text. Default: the one obvious candidate.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of a table with the ids. Default: `id`, if there is one.")]
InputFormat = Annotated[
    str | None,
    typer.Option(
        help="Format of stdin: text, jsonl, json, csv, tsv or parquet. Default: csv if a column is named, else text or jsonl."
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORDS_OR_FILE",
        help="A word or phrase to treat as normal in this run, or a file with one per line; can be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files of the same name that difa did not write.")]
Cache = Annotated[Path | None, typer.Option(help="Folder that stores word vectors between runs.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads. Default: all cores.")]


def allowed_words(given: list[str] | None) -> list[str]:
    """Words and phrases from what was given: each itself, or the lines of a file; - is standard input."""
    from difa.errors import InputError
    from difa.formats.stdin import unreadable

    words: list[str] = []
    for name in given or ():
        path = Path(name)
        if name != "-" and not os.path.isfile(name):  # unlike Path, it takes no offence at words too long for a name
            if path.suffix.lower() == ".txt" or os.path.isdir(name):
                raise InputError(f"{name}: expected a word, or a file of words, one a line, found no such file")
            words.append(name)
            continue
        try:
            content = (sys.stdin.buffer.read() if name == "-" else path.read_bytes()).decode("utf-8-sig")
        except OSError as error:
            raise unreadable(error) if name == "-" else InputError(f"{name}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: expected UTF-8 text, got something else at byte {error.start}") from None
        words += [line.strip() for line in content.splitlines() if line.strip()]
    return words


def say(message: str, quiet: bool = False) -> None:
    """A line for the person at the terminal, on stderr; what could steer the terminal is escaped."""
    if not quiet:
        print(escaped(message), file=sys.stderr)


def escaped(text: str) -> str:
    """Control characters, and all else that is not printed, escaped: names and ids come from strangers."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def find_inputs(inputs: list[str], columns: Columns, quiet: bool = False, skip_bad: bool = False) -> list[Source]:
    """The files behind the inputs; a text column that was guessed is named."""
    from difa.formats.sources import find_sources

    sources = find_sources(inputs, columns, skip_bad)
    for source in sources:
        if source.table is not None and source.table.is_guess:
            say(f"difa: {source.label}: text is read from the column {source.table.text!r} (--text-column names another)", quiet)
    return sources


def columns_of(text: str | None, id: str | None, stdin: str | None = None) -> Columns:
    """The columns that were named, and what standard input holds."""
    from difa.formats.tables import Columns

    return Columns(text, id, stdin)


def columns_for(inputs: Sequence[str], columns: Columns) -> Columns:
    """The columns that were named, for inputs that may be tables; JSON lines and exports have no use for them."""
    from difa.formats.packed import suffix_of

    has_none = all(suffix_of(Path(name)) in (".jsonl", ".json", ".txt") for name in inputs)
    return columns_of(None, None, columns.stdin) if has_none else columns


def stream_all(inputs: list[str], skip_bad: bool, columns: Columns, quiet: bool = False) -> Iterator[Document]:
    """All documents of the inputs, one by one; skipped lines are named even when quiet, since something was left out."""
    yield from stream_sources(find_inputs(inputs, columns, quiet, skip_bad), skip_bad)


def stream_sources(
    sources: Sequence[Source], skip_bad: bool, wanted: Callable[[Source, Document], bool] = lambda source, document: True
) -> Iterator[Document]:
    """The same from files that were looked up before; of their documents those that are wanted."""
    from difa.formats import bad_line, read_entries

    skipped = 0
    for entry in read_entries(sources):
        if entry.bad is not None:
            if not skip_bad:
                raise bad_line(entry.bad)
            say(f"difa: skipped {entry.bad}")
            skipped += 1
        elif entry.document is not None and wanted(sources[entry.position.file], entry.document):
            yield entry.document
    say_skipped(skipped)


def say_skipped(count: int) -> None:
    """How many bad lines were left out, if any were."""
    if count:
        say(f"difa: {count} bad {'line' if count == 1 else 'lines'} skipped")


def say_left_out(count: int, why: str, quiet: bool) -> None:
    """How many documents were left out for a reason, if any were."""
    if count:
        say(f"difa: {count} {'document' if count == 1 else 'documents'} left out: {why}", quiet)


def say_flagged(flagged: int, documents: int, top: int | None) -> str:
    """How many documents are flagged, and how many are given."""
    given = f", the {min(top, documents)} most unusual given" if top is not None else ""
    return f"{flagged} of {documents} documents flagged{given}"


def say_empty(count: int, quiet: bool) -> None:
    """How many documents have no text, if any do."""
    if count:
        what = "1 document has" if count == 1 else f"{count} documents have"
        say(f"difa: {what} no text: score 0, not flagged", quiet)


def read_all(inputs: list[str], skip_bad: bool, columns: Columns, quiet: bool = False) -> list[Document]:
    """All documents of the inputs at once."""
    return list(stream_all(inputs, skip_bad, columns, quiet))
