"""Options that several commands share, each declared once, and what is done with them: documents are read, words allowed.

A command takes a group of options as one parameter, such as `given: ReadOptions`. `command` makes options of the group's fields,
and keeps the examples for `--help`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from typer import Argument, Option

from difa.cli.console import say, say_skipped, stream
from difa.errors import InputError

if TYPE_CHECKING:
    from difa.document import Document, Result, Scored
    from difa.estimator import DiFA
    from difa.formats.sources import Source
    from difa.formats.tables import Columns

Inputs = Annotated[
    list[str],
    Argument(
        help=".txt (one document a line), .jsonl (with `text` or `tokens`), .csv, .tsv, .parquet, also compressed (.gz, .zst), "
        "folders, patterns, or - for stdin."
    ),
]
Scores = Annotated[list[str], Argument(help="What `difa score` wrote: .jsonl, .parquet, compressed or not, or folders.")]
ModelFolder = Annotated[Path, Argument(help="A model folder, as `difa fit --out` writes it.")]
Json = Annotated[bool, Option("--json", help="Print everything as JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress bars and no summary on stderr.")]
Fpr = Annotated[
    float | None, Option(help="Flag at most this share of normal documents (and words). Default: the model's own rate.")
]
Fdr = Annotated[
    float | None, Option(help="Instead of --fpr: at most this share of the flagged documents is normal (Benjamini–Hochberg).")
]
Allow = Annotated[
    list[str] | None,
    Option(
        metavar="WORDS_OR_FILE",
        help="A word or phrase to treat as normal in this run, or a file with one per line; can be repeated.",
    ),
]
Force = Annotated[bool, Option("--force", help="Replace files of the same name that difa did not write.")]
Cache = Annotated[Path | None, Option(help="Folder that stores word vectors between runs.")]
Threads = Annotated[int | None, Option(help="Number of threads. Default: all cores.")]


@dataclass(frozen=True)
class ReadOptions:
    """Options of commands that read documents and work with a model."""

    text_column: Annotated[str | None, Option(help="Column of a table with the text. Default: the one obvious candidate.")] = None
    input_format: Annotated[
        str | None,
        Option(
            help="Format of stdin: text, jsonl, json, csv, tsv or parquet. Default: csv if a column is named, else text or jsonl."
        ),
    ] = None
    cache: Cache = None
    threads: Threads = None
    skip_bad: Annotated[bool, Option("--skip-bad", help="Skip lines that cannot be read, and list them on stderr.")] = False
    quiet: Quiet = False
    id_column: str | None = None  # an option of `ReadIdsOptions`

    @property
    def columns(self) -> Columns:
        """The columns that were named, and what standard input holds."""
        from difa.formats.tables import Columns

        return Columns(self.text_column, self.id_column, self.input_format)

    def sources(self, inputs: Sequence[str], main: bool = True) -> list[Source]:
        """The files behind the inputs; a text column that was guessed is named.

        Named columns are meant for the main inputs: of others they count only where there are tables among them.
        """
        from difa.formats.sources import find_sources
        from difa.formats.streams import suffix_of

        has_tables = main or any(suffix_of(Path(name)) not in (".jsonl", ".json", ".txt") for name in inputs)
        columns = self.columns if has_tables else replace(self.columns, text=None, id=None)
        sources = find_sources(inputs, columns, self.skip_bad)
        for source in sources:
            if source.table is not None and source.table.is_guess:
                column = repr(source.table.text)
                say(f"difa: {source.label}: text is read from the column {column} (--text-column names another)", self.quiet)
        return sources

    def read(
        self, sources: Iterable[Source], wanted: Callable[[Source, Document], bool] = lambda source, document: True
    ) -> Iterator[Document]:
        """The documents that are wanted, one by one; skipped lines are named even when quiet, since something was left out."""
        from difa.formats import bad_line, read_entries

        files, skipped = list(sources), 0
        for entry in read_entries(files):
            if entry.bad is not None:
                if not self.skip_bad:
                    raise bad_line(entry.bad)
                say(f"difa: skipped {entry.bad}")
                skipped += 1
            elif entry.document is not None and wanted(files[entry.position.file], entry.document):
                yield entry.document
        say_skipped(skipped)

    def load(self, model: Path) -> DiFA:
        from difa.estimator import DiFA

        return DiFA.load(model, cache=self.cache, threads=self.threads)

    def score(
        self, model: DiFA, documents: Sequence[Document], fpr: float | None = None, fdr: float | None = None
    ) -> list[Result]:
        """Results in order, flagged all together; chunk by chunk, under a bar."""
        from difa.decide import flag_columns
        from difa.runtime.parallel import chunk_documents

        rule = model.rule(fpr, fdr)
        parts: list[Scored] = []
        chunks = chunk_documents(documents)
        with stream(self.quiet) as watch:
            watch.begin(len(documents))
            for _, ranked in model.score_chunks(chunks):
                parts.append(ranked)
                watch.advance(len(ranked), len(ranked))
        return [result for part in flag_columns(parts, rule) for result in part.results()]


@dataclass(frozen=True)
class ReadIdsOptions(ReadOptions):
    """The same for commands to which ids matter."""

    id_column: Annotated[str | None, Option(help="Column of a table with the ids. Default: `id`, if there is one.")] = None


def command(*examples: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make options of the fields of a command's groups, behind its own options, and keep examples for `--help`.

    `defaults` are those of fields of the groups, where the command has others than they.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
        own = [given for name, given in inspect.signature(function).parameters.items() if name not in groups]
        shown = [given.replace(annotation=hints[given.name]) for given in own]
        for group in groups.values():
            for name, kind in options_of(group).items():
                default = defaults.get(name, getattr(group, name))
                shown.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        for option in (option for given in shown for option in getattr(given.annotation, "__metadata__", ())):
            option.readable = False  # not asked by typer: the library says in one line what cannot be read

        @wraps(function)
        def call(**given: Any) -> None:
            made = {name: group(**{option: given.pop(option) for option in options_of(group)}) for name, group in groups.items()}
            function(**given, **made)

        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        call.__annotations__ = {given.name: given.annotation for given in shown}
        call.epilog = "\n\n".join(("Examples:", *examples))  # type: ignore[attr-defined]
        return call

    return decorate


def options_of(group: type) -> dict[str, Any]:
    """The fields of a group that are annotated as options, with their types: its own first, then those that it inherits."""
    kinds = get_type_hints(group, include_extras=True)
    names = [name for kind in group.__mro__ for name in vars(kind).get("__annotations__", ())]
    return {name: kinds[name] for name in names if hasattr(kinds[name], "__metadata__")}


def allowed_words(given: Sequence[str] | None) -> list[str]:
    """Words and phrases from what was given: each itself, or the lines of a file; - is standard input."""
    from difa.formats.streams import read_text

    words: list[str] = []
    for name in given or ():
        if name == "-" or os.path.isfile(name):  # unlike Path, it takes no offence at words too long for a name
            words += [line.strip() for line in read_text(name).splitlines() if line.strip()]
        elif Path(name).suffix.lower() == ".txt" or os.path.isdir(name):
            raise InputError(f"{name}: expected a word, or a file of words, one a line, found no such file")
        else:
            words.append(name)
    return words
