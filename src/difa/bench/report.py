"""A results folder -> the tables and pictures of a Markdown page.

The page holds pairs of marks, `<!-- bench:table:clean -->` and `<!-- /bench -->`; what stands between them is replaced, the
words around them stay. A mark such as `<!-- bench:last/table:clean -->` takes its records from the folder `last` of the results.
Each table is followed by when it was measured and by which commands. Pictures are copied beside the page.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from difa.bench import published
from difa.bench.claims import claims_markdown
from difa.bench.examples import examples_markdown
from difa.bench.methods import DIFA, preset_of
from difa.bench.run import COMMANDS, OTHERS, load_records, write_text
from difa.bench.speed import speed_markdown
from difa.bench.store import Record
from difa.bench.tables import (
    PUBLISHED_SEED,
    Frame,
    alarms,
    figures_frame,
    intervals,
    markdown,
    methods_of,
    of_split,
    own_rule,
    reasons,
    seeds_of,
    sets_of,
    short,
    table_markdown,
    times,
    title_of,
    unique,
)
from difa.bench.tables_feed import feed_markdown, promises_markdown
from difa.bench.tables_studies import (
    ablation_markdown,
    contamination_markdown,
    efficiency_markdown,
    layers_markdown,
    parts_markdown,
    sparsity_markdown,
)
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
_MARK = re.compile(r"(<!-- bench:(?:([\w-]+)/)?([a-z]+)(?::([a-z]+))? -->\n).*?(<!-- /bench -->)", re.DOTALL)

Records = Sequence[Record]
_WRITERS: dict[str, Callable[[Records], str]] = {
    "table": lambda records: table_markdown(records, details=False),
    "ablation": ablation_markdown,
    "efficiency": efficiency_markdown,
    "contamination": contamination_markdown,
    "sparsity": sparsity_markdown,
    "feed": feed_markdown,
    "layers": layers_markdown,
    "speed": speed_markdown,
    "promises": promises_markdown,
    "examples": examples_markdown,
}
_FROM_TABLE: dict[str, Callable[[Records, str], list[str]]] = {
    "intervals": lambda records, form: intervals([r for r in records if r["seed"] == PUBLISHED_SEED], form),
    "alarms": lambda records, form: alarms(records),
    "reasons": lambda records, form: reasons(records),
    "times": lambda records, form: times(records),
    "parts": lambda records, form: parts_markdown(records).splitlines()[1:],
    "presets": lambda records, form: presets(records),
    "methods": lambda records, form: averages([r for r in records if r["seed"] != PUBLISHED_SEED]),
    "peers": lambda records, form: averages([r for r in records if r["seed"] == PUBLISHED_SEED]),
    "published": lambda records, form: beside_published(records),
}
"""What a page may show at places of its own, all from the records of `difa bench table`."""


def write_report(results: Path, page: Path) -> list[str]:
    """Fill a page from a results folder; returns what was filled in.

    Args:
        results: folder of `difa bench`.
        page: Markdown file with marks.
    """
    commands = (*COMMANDS, *OTHERS)
    if not any(path.stem in commands for path in (*results.glob("*.json"), *results.glob("*/*.json"))):
        raise InputError(f"{results}: expected results of difa bench, found none: run one of its commands into this folder first")
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{page}: cannot be read: {error.strerror}") from None
    folders = {results / (match[2] or "") for match in _MARK.finditer(text)}
    records = {folder: {command: load_records(folder, command) for command in commands} for folder in folders}
    filled: list[str] = []

    def fill(match: re.Match[str]) -> str:
        head, below, command, form, tail = match.groups()
        folder = results / (below or "")
        parts = [_picture(folder, results, command, form, page), section_of(command, form, records[folder])]
        body = "\n\n".join(part.strip() for part in parts if part)
        if not body:
            return match.group()
        filled.append(match.group(1).split()[1].removeprefix("bench:"))
        return f"{head}\n{body}\n\n{tail}"

    write_text(page, _MARK.sub(fill, text))
    return filled


def section_of(command: str, form: str | None, records: dict[str, list[Record]]) -> str | None:
    """What belongs between a pair of marks, or None where the command was not run."""
    if command == "claims":
        return "\n".join(claims_markdown(records).splitlines()[1:]) if records["table"] else None
    mine = [record for record in records["table" if command in _FROM_TABLE else command] if form in (None, record["form"])]
    if not mine:
        return None
    if command in _FROM_TABLE:
        lines = _FROM_TABLE[command](mine, form or "all")
        body = "\n".join(line for line in lines if not line.startswith("## ") or command == "parts")
        mine = [r for r in mine if r["method"] in DIFA] if command in ("alarms", "parts", "presets", "published") else mine
    else:
        body = "\n".join(_WRITERS[command](mine).splitlines()[1:])
    body = re.sub(r"^## ", "### ", body, flags=re.MULTILINE).strip()  # the page has its own headings
    return f"{body}\n\n{_measured(mine)}" if body else None


def _measured(records: Records) -> str:
    """When the records were made, by which commands, and how long that took."""
    known = [record for record in records if record.get("measured")]
    if not known:
        return ""
    days = sorted({record["measured"] for record in known})
    minutes = sum(record["took"] for record in known) / 60
    commands = unique(f"`{record['asked_by']}`" for record in known if record["asked_by"])
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"*Measured {when} in {minutes:.0f} minutes of computing{': ' if commands else ''}{', '.join(commands)}.*"


def _picture(folder: Path, results: Path, command: str, form: str | None, page: Path) -> str | None:
    """The line that shows a command's picture, if it was drawn, and copies of it beside the page."""
    name = "-".join(filter(None, (command, form)))
    if name not in PICTURES or not (folder / f"{name}.png").is_file():
        return None
    shown = "-".join((results.name, *folder.relative_to(results).parts, name))
    images = page.parent / "images"
    images.mkdir(exist_ok=True)
    for suffix in (".png", ".svg"):
        shutil.copyfile(folder / f"{name}{suffix}", images / f"{shown}{suffix}")
    return f"![{PICTURES[name]}](images/{shown}.png)"


def _final(records: Records) -> Frame:
    """Final word and document scores of models that have the seed of their split and their usual settings."""
    frame = figures_frame([record for record in of_split(records) if not record["settings"]])
    own = (frame.level == "word") | (frame.pooling == frame.method.map(own_rule))
    return frame[(frame.part == "") & own]


def _means(frame: Frame, keys: Sequence[str]) -> dict[tuple[str, ...], str]:
    """AUROC / average precision, means over seeds, by key."""
    means = frame.groupby(list(keys), sort=False)[["auroc", "ap"]].mean()
    return {key: f"{short(row.auroc)} / {short(row.ap)}" for key, row in zip(means.index, means.itertuples(), strict=True)}


def presets(records: Records) -> list[str]:
    """DiFA's presets by set, beside the published split where there are other ones: means over seeds, with the average."""
    others = [record for record in records if record["seed"] != PUBLISHED_SEED and record["method"] in DIFA]
    frame = _final(others or [record for record in records if record["method"] in DIFA])
    frame = frame[frame.method != "difa-paper"]
    if not len(frame):
        return []
    by_set, sets = _means(frame, ["set", "method", "level"]), sets_of(others or records)
    averages = frame.groupby(["method", "level", "set"])[["auroc", "ap"]].mean().reset_index()
    overall = _means(averages, ["method", "level"])
    names = [name for name in methods_of(records) if name in unique(frame.method)]
    heads = {
        (name, level): f"{preset_of(name)}{', feed' * name.endswith('-feed')}: {level}s" for name in names for level in _LEVELS
    }
    rows = [{"set": name.capitalize()} | {head: by_set.get((name, *key), "") for key, head in heads.items()} for name in sets]
    rows.append({"set": "**average**"} | {head: f"**{overall[key]}**" for key, head in heads.items()})
    return [f"AUROC / average precision, {seeds_of(others or records)}.", "", *markdown(rows), ""]


_LEVELS = ("word", "document")


def averages(records: Records) -> list[str]:
    """Methods by the average over the public sets; only methods that have every set and every seed of the table."""
    frame = _final([record for record in records if record["set"] in published.SETS and record["figures"]])
    if not len(frame):
        return []
    runs = frame.groupby("method").apply(lambda mine: set(zip(mine["set"], mine["seed"], strict=True)), include_groups=False)
    whole = max(runs, key=len)
    frame = frame[frame.method.map(lambda name: runs[name] == whole)]
    by_set = frame.groupby(["method", "level", "set"], sort=False)[["auroc", "ap"]].mean().reset_index()
    overall = _means(by_set, ["method", "level"])
    rows = [
        {"method": title_of(name)} | {f"{level}s": overall.get((name, level), "") for level in _LEVELS}
        for name in methods_of(records)
        if name in unique(frame.method)
    ]
    sets = ", ".join(name.capitalize() for name in sets_of(records) if name in published.SETS)
    return [f"AUROC / average precision, average of {sets}, {seeds_of(records)} for every method.", "", *markdown(rows), ""]


def beside_published(records: Records) -> list[str]:
    """The preset `paper` and the default beside the published figures, on the published split."""
    mine = [r for r in records if r["seed"] == PUBLISHED_SEED and r["form"] == "original" and r["set"] in published.SETS]
    frame = _final(mine) if mine else None
    if frame is None or not {"difa-paper", "difa-full"} <= set(frame.method):
        return []
    by_set = _means(frame, ["set", "method", "level"])
    by_level = {"word": published.WORDS["difa-paper"], "document": published.DOCUMENTS["difa-paper"]}
    rows = []
    for at, name in enumerate(published.SETS):
        row = {"set": name.capitalize()}
        for level in _LEVELS:
            row[f"{level}s, preset `paper`"] = by_set.get((name, "difa-paper", level), "")
            row[f"{level}s, default"] = by_set.get((name, "difa-full", level), "")
            row[f"{level}s, *published*"] = f"*{' / '.join(map(short, by_level[level][at]))}*"
        rows.append(row)
    return [*markdown(rows), ""]
