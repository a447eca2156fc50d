"""Records -> Markdown tables.

Rows are methods, columns are sets; each entry is AUROC / average precision / false-alarm rate at 95 % recall. Measured rows
say how their settings were chosen; published rows are in italics and say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa.baselines import METHODS
from difa.bench import published
from difa.bench.methods import ALL_METHODS, DIFA, label_of
from difa.bench.peers import LABELS
from difa.bench.store import Record

PUBLISHED_SEED = 42
VALIDATION_NOTE = "best on validation data"
GRID_NOTE = "best by test AUROC, as the TokenCore authors"
_CHOICES = {"validation": VALIDATION_NOTE, "figures": GRID_NOTE}
"""By which figures of a record its settings may be chosen, and how a row says so."""
_METRICS = ("auroc", "ap", "fpr95")


@dataclass(frozen=True)
class Row:
    """A line of a table: figures by set, each a list over seeds."""

    label: str
    figures: Mapping[str, Sequence[Record]]
    note: str = ""


def word_rows(records: Sequence[Record]) -> list[Row]:
    """One row per method, and one more where a grid was searched."""
    return [row for name in methods(records) for row in _rows_of(name, records, "word", None)]


def document_rows(records: Sequence[Record]) -> list[Row]:
    """One row per method and pooling rule; a rule that changes nothing, as for the length of the document, has none."""
    rows: list[Row] = []
    for name in methods(records):
        mine = [row for rule in rules(name, records) for row in _rows_of(name, records, "document", rule)]
        entries = [(row.note, [entry(figures) for figures in row.figures.values()]) for row in mine]
        rows += [row for at, row in enumerate(mine) if entries[at] not in entries[:at]]
    return rows


def published_rows(level: str) -> list[Row]:
    """The paper's table."""
    source = published.WORDS if level == "word" else published.DOCUMENTS
    return [
        Row(f"*{label_of(name).replace(' (paper)', '')}*", _published(pairs), published.SOURCE) for name, pairs in source.items()
    ]


def _published(pairs: Sequence[tuple[float, float]]) -> dict[str, list[Record]]:
    return {name: [{"auroc": auroc, "ap": ap, "fpr95": None}] for name, (auroc, ap) in zip(published.SETS, pairs, strict=True)}


def _rows_of(name: str, records: Sequence[Record], level: str, rule: str | None) -> list[Row]:
    mine = [record for record in records if record["method"] == name and record["figures"]]
    label = title_of(name)
    if rule == "mean" or (rule == "max" and name in DIFA):
        label += f", {rule} of words"
    plain = [record for record in mine if not record["settings"]]
    rows = [Row(label, by_set(plain, level, rule), _note(name))]
    for choice, note in _CHOICES.items():
        chosen = _best([record for record in mine if record["settings"]], level, rule, choice)
        if chosen:
            rows.append(Row(label, by_set(chosen, level, rule), "; ".join(filter(None, [note, METHODS[name].note]))))
    return [row for row in rows if any(row.figures.values())]


def _best(records: Sequence[Record], level: str, rule: str | None, choice: str) -> list[Record]:
    """For each set and seed, the setting with the highest AUROC by `choice`; by `figures`, the test's, it looks at answers."""
    best: dict[tuple[str, int], tuple[float, Record]] = {}
    for record in records:
        key = (record["set"], record["seed"])
        figure = pick(record | {"figures": record.get(choice, [])}, level, rule)
        if figure and (key not in best or figure["auroc"] > best[key][0]):
            best[key] = (figure["auroc"], record)
    return [record for _, record in best.values()]


def pick(record: Record, level: str, rule: str | None, part: str = "") -> Record | None:
    """One figure of a record."""
    for figure in record["figures"]:
        if (figure["level"], figure["pooling"], figure["part"]) == (level, rule, part):
            found: Record = figure
            return found
    return None


def by_set(records: Sequence[Record], level: str, rule: str | None) -> dict[str, list[Record]]:
    """One figure of each record, by set."""
    found: dict[str, list[Record]] = {}
    for record in records:
        figure = pick(record, level, rule)
        if figure is not None:
            found.setdefault(record["set"], []).append(figure)
    return found


def markdown(rows: Sequence[Row], sets: Sequence[str]) -> list[str]:
    """Rows as a Markdown table, with the average over the sets where every set is there."""
    heads = [*(name.capitalize() for name in sets), *(["Average"] if len(sets) > 1 else [])]
    lines = ["| method | " + " | ".join(heads) + " | settings |", "|---" * (len(heads) + 2) + "|"]
    for row in rows:
        entries = [entry(row.figures.get(name, ())) for name in sets]
        if len(sets) > 1:
            whole = all(row.figures.get(name) for name in sets)
            entries.append(_average([row.figures[name] for name in sets]) if whole else "")
        lines.append(f"| {row.label} | " + " | ".join(entries) + f" | {row.note} |")
    return lines


def entry(figures: Sequence[Record]) -> str:
    """Figures of one or several seeds as text."""
    if not figures:
        return ""
    shown = [metric for metric in _METRICS if figures[0].get(metric) is not None]
    if len(figures) == 1:
        return " / ".join(short(figures[0][metric]) for metric in shown)
    values = [[figure[metric] for figure in figures] for metric in shown]
    return " / ".join(f"{short(float(np.mean(each)))} ± {short(float(np.std(each, ddof=1)))}" for each in values)


def _average(figures_by_set: Sequence[Sequence[Record]]) -> str:
    shown = [metric for metric in _METRICS if all(figures[0].get(metric) is not None for figures in figures_by_set)]
    means = {
        metric: float(np.mean([np.mean([figure[metric] for figure in figures]) for figures in figures_by_set]))
        for metric in shown
    }
    return entry([means])


def short(value: float) -> str:
    """Three decimals, without the leading zero."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def title_of(name: str) -> str:
    """What tables and pictures call a method or a peer."""
    return LABELS.get(name) or label_of(name)


def methods(records: Sequence[Record]) -> list[str]:
    """The methods that have records, in the order of the tables."""
    present = {record["method"] for record in records}
    return [name for name in (*ALL_METHODS, *LABELS) if name in present]


def _note(name: str) -> str:
    """How the settings were chosen, where there was something to choose, and what else must be known."""
    if name not in METHODS:
        return ""
    return "; ".join(filter(None, ["library default" if METHODS[name].grid else "", METHODS[name].note]))


def rules(name: str, records: Sequence[Record]) -> list[str]:
    """The pooling rules that a method has figures for, its own first."""
    rules = [
        figure["pooling"]
        for record in records
        if record["method"] == name
        for figure in record["figures"]
        if figure["level"] == "document"
    ]
    return unique(rules)


def sets_of(records: Sequence[Record]) -> list[str]:
    """The sets that have records, those of the benchmark first and in its order."""
    present = unique(record["set"] for record in records)
    return [*(name for name in published.SETS if name in present), *(name for name in present if name not in published.SETS)]


def unique(values: Iterable[Any]) -> list[Any]:
    """The values without repetition, in order."""
    return list(dict.fromkeys(values))
