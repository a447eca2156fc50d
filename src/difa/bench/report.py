"""A results folder -> the tables and pictures of a Markdown page.

The page holds pairs of marks, `<!-- bench:table:clean -->` and `<!-- /bench -->`; what stands between them is replaced, the
words around them stay. Pictures are copied beside the page.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from difa.bench.render import PUBLISHED_SEED
from difa.bench.render_feed import feed_markdown
from difa.bench.render_promises import promises_markdown
from difa.bench.render_speed import speed_markdown
from difa.bench.render_studies import ablation_markdown, contamination_markdown, efficiency_markdown, sparsity_markdown
from difa.bench.render_table import alarms, intervals, reasons, table_markdown, times
from difa.bench.run import COMMANDS, load_records, write_text
from difa.bench.store import Record
from difa.errors import InputError

PICTURES = {
    "table-original": "All methods, sets in their original form",
    "table-clean": "All methods, sets in their clean form",
    "efficiency": "Accuracy against time and memory",
    "contamination": "Document AUROC as the training data is spoilt",
    "sparsity": "Document AUROC by the number of anomalous words",
    "feed": "What a feed and verdicts teach, averages over sets",
    "examples": "Scored documents with coloured words",
}
"""Pictures that commands draw, and what they show."""
_MARK = re.compile(r"(<!-- bench:([a-z]+)(?::([a-z]+))? -->\n).*?(<!-- /bench -->)", re.DOTALL)

Writer = Callable[[Sequence[Record]], str]
_WRITERS: dict[str, Writer] = {
    "ablation": ablation_markdown,
    "efficiency": efficiency_markdown,
    "contamination": contamination_markdown,
    "sparsity": sparsity_markdown,
    "feed": feed_markdown,
    "speed": speed_markdown,
    "promises": promises_markdown,
}
_DETAILS: dict[str, Callable[[Sequence[Record], str], list[str]]] = {
    "intervals": lambda records, form: intervals([record for record in records if record["seed"] == PUBLISHED_SEED], form),
    "alarms": lambda records, form: alarms(records),
    "reasons": lambda records, form: reasons(records),
    "times": lambda records, form: times(records),
}
"""Parts of the table's own report that a page may show at places of its own."""


def write_report(results: Path, page: Path) -> list[str]:
    """Fill a page from a results folder; returns what was filled in.

    Args:
        results: folder of `difa bench`.
        page: Markdown file with marks.
    """
    records = {command: load_records(results, command) for command in (*COMMANDS, "speed", "promises")}
    if not any(records.values()):
        raise InputError(f"{results}: expected results of difa bench, found none: run one of its commands into this folder first")
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{page}: cannot be read: {error.strerror}") from None
    filled: list[str] = []

    def fill(match: re.Match[str]) -> str:
        head, command, form, tail = match.groups()
        parts = [_picture(results, command, form), section_of(command, form, records)]
        body = "\n\n".join(part for part in parts if part)
        if not body:
            return match.group()
        filled.append(":".join(filter(None, (command, form))))
        return f"{head}\n{body.strip()}\n\n{tail}"

    write_text(page, _MARK.sub(fill, text))
    _copy_pictures(results, page.parent / "images")
    return filled


def section_of(command: str, form: str | None, records: dict[str, list[Record]]) -> str | None:
    """What belongs between a pair of marks, or None where the command was not run."""
    if command in _DETAILS:
        lines = _DETAILS[command](_of_form(records["table"], form), form or "all")
        return "\n".join(line for line in lines if not line.startswith("## ")) or None
    mine = _of_form(records.get(command, []), form)
    if not mine:
        return None
    if command == "table":
        return _without_title(table_markdown(mine, details=False))
    return _without_title(_WRITERS[command](mine))


def _of_form(records: Sequence[Record], form: str | None) -> list[Record]:
    return [record for record in records if form is None or record["form"] == form]


def _without_title(text: str) -> str:
    """The page has its own headings: drop the first and push the others one down."""
    lines = text.splitlines()[1:]
    return "\n".join(f"#{line}" if line.startswith("## ") else line for line in lines)


def _picture(results: Path, command: str, form: str | None) -> str | None:
    """The line that shows a command's picture, if it was drawn."""
    name = "-".join(filter(None, (command, form)))
    drawn = name in PICTURES and (results / f"{name}.png").is_file()
    return f"![{PICTURES[name]}](images/bench-{name}.png)" if drawn else None


def _copy_pictures(results: Path, images: Path) -> None:
    images.mkdir(exist_ok=True)
    for name in PICTURES:
        for suffix in (".png", ".svg"):
            if (results / f"{name}{suffix}").is_file():
                shutil.copyfile(results / f"{name}{suffix}", images / f"bench-{name}{suffix}")
