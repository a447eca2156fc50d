"""Records of `difa bench feed` -> Markdown tables: averages over sets of means over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from difa.bench.methods import label_of
from difa.bench.render import methods, pick, short, unique
from difa.bench.store import Record

VARIANTS = {
    "share": {"without": "without a feed", "feed": "with this feed"},
    "later": {
        "without": "without a feed",
        "earlier": "with an earlier feed, the other half of the test text",
        "feed": "with the scored text itself as feed",
    },
    "verdicts": {
        "without": "without a feed",
        "feed": "with a feed, without verdicts",
        "documents": "with verdicts on documents",
        "words": "with marked words",
    },
}
"""What each part compares, and how tables and pictures call it."""
_LEGEND = (
    "Words and documents: AUROC / average precision. Flags are those at a false-alarm rate of 0.05. All figures are averages "
    "over sets, of means over seeds. Models that share a first column are judged on the same documents. Other rows have other "
    "documents, and sets without enough anomalous documents are missing from rows with a large share: compare neighbours only."
)

Read = Callable[[Record], float | None]


def feed_markdown(records: Sequence[Record]) -> str:
    """All tables, for each preset that was measured."""
    parts = ["# Feed", "", _LEGEND, ""]
    for name in methods(records):
        mine = [record for record in records if record["method"] == name]
        seeds, sets = sorted({record["seed"] for record in mine}), len(set_names(mine))
        extent = f"{sets} set{'s' * (sets != 1)}, seed{'s' * (len(seeds) != 1)} {', '.join(map(str, seeds))}"
        parts += [f"## {label_of(name)}, {extent}", ""]
        parts += ["**How many of the feed are anomalous**", "", *_table(mine, "share", "anomalous", "share", share_name), ""]
        parts += ["**An earlier feed for later text**", "", *_table(mine, "later"), ""]
        parts += ["**Verdicts on the highest-scoring documents**: figures of the documents that were not reviewed", ""]
        parts += [*_table(mine, "verdicts", "reviewed", "reviewed", str), "", *_remarks(mine)]
    return "\n".join(parts)


def _table(
    records: Sequence[Record], part: str, head: str = "", key: str = "", name_of: Callable[[Any], str] = lambda value: ""
) -> list[str]:
    """A group of rows for each value of a setting, or one group where nothing is varied."""
    mine = part_of(records, part)
    heads = [*([head] if head else []), "sets", "model", "words", "documents"]
    heads += ["anomalous documents flagged", "normal documents flagged", "their words flagged"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for value in sorted(unique(record["settings"].get(key) for record in mine)) if key else [None]:
        group = [record for record in mine if not key or record["settings"][key] == value]
        for variant, label in VARIANTS[part].items():
            cells = [name_of(value)] * bool(head) + [str(len(set_names(group))), label, *_cells(group, variant)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def _cells(records: Sequence[Record], variant: str) -> list[str]:
    levels = [[mean_of(records, figure(level, metric, variant)) for metric in ("auroc", "ap")] for level in ("word", "document")]
    flags = [mean_of(records, flagged(kind, variant)) for kind in ("anomalous", "normal", "normal_words")]
    return [" / ".join(map(_short, pair)) if None not in pair else "" for pair in levels] + list(map(_short, flags))


def _short(value: float | None) -> str:
    return "" if value is None else short(value)


def _remarks(records: Sequence[Record]) -> list[str]:
    """Fits in which a feed or verdicts had no part, and why."""
    idle = [r for r in part_of(records, "verdicts") if r["settings"]["reviewed"] and not r["used"]]
    counts = [count for record in records for variant, count in record["taught"].items() if variant != "without"]
    lines = []
    if idle:
        why = "no reviewed document was odd, so that verdicts could not be used: their figures are those without"
        lines.append(f"In {len(idle)} run{'s' * (len(idle) != 1)} {why}.")
    if not all(counts):
        lines.append(f"In {counts.count(0)} of {len(counts)} fits the feed had too few documents to learn from.")
    return [*lines, ""] if lines else []


def part_of(records: Sequence[Record], part: str) -> list[Record]:
    """The records of one of the three questions."""
    return [record for record in records if record["settings"]["part"] == part]


def set_names(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The sets that have records, each with its form."""
    return unique((record["set"], record["form"]) for record in records)


def share_name(share: float) -> str:
    """A share as text."""
    return f"{100 * share:g} %"


def mean_of(records: Sequence[Record], read: Read) -> float | None:
    """The mean over sets of the mean over seeds; None where no record has the figure."""
    by_set: dict[tuple[str, str], list[float]] = {}
    for record in records:
        value = read(record)
        if value is not None:
            by_set.setdefault((record["set"], record["form"]), []).append(value)
    return float(np.mean([np.mean(values) for values in by_set.values()])) if by_set else None


def figure(level: str, metric: str, variant: str) -> Read:
    """A reader of a figure of the words or documents."""
    pooling = "learned" if level == "document" else None
    return lambda record: (pick(record, level, pooling, variant) or {}).get(metric)


def flagged(kind: str, variant: str) -> Read:
    """A reader of the share of documents or words of a kind, `normal`, `normal_words` or `anomalous`, that is flagged."""

    def read(record: Record) -> float | None:
        counts = record["alarms"][variant]
        return counts[f"flagged_{kind}"] / counts[kind] if counts[kind] else None

    return read
