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
from difa.bench.cells import Record
from difa.bench.methods import ALL_METHODS, DIFA, label_of
from difa.bench.peers import LABELS

PUBLISHED_SEED = 42
GRID_NOTE = "best by test AUROC, as the TokenCore authors"
_METRICS = ("auroc", "ap", "fpr95")


@dataclass(frozen=True)
class Row:
    """A line of a table: figures by set, each a list over seeds."""

    label: str
    figures: Mapping[str, Sequence[Record]]
    note: str = ""


def table_markdown(records: Sequence[Record], *, details: bool = True) -> str:
    """The whole table, in sections: by form, published split first, then means over seeds.

    Args:
        records: of `difa bench table`.
        details: whether intervals, flags and reasons follow.
    """
    parts = ["# Comparison", "", LEGEND, ""]
    for form in _unique(record["form"] for record in records):
        of_form = [record for record in records if record["form"] == form]
        single = [record for record in of_form if record["seed"] == PUBLISHED_SEED]
        several = [record for record in of_form if record["seed"] != PUBLISHED_SEED]
        if single:
            parts += section(single, form, f"seed {PUBLISHED_SEED}, the published split")
            parts += intervals(single, form) if details else []
        if several:
            seeds = sorted({record["seed"] for record in several})
            parts += section(several, form, "seeds " + ", ".join(map(str, seeds)) + (": mean ± sd" if len(seeds) > 1 else ""))
    if details:
        parts += [*alarms(records), *reasons(records)]
    return "\n".join(parts) + "\n"


LEGEND = (
    "AUROC / average precision / false-alarm rate at 95 % recall. Higher, higher, lower is better. Documents: the highest word "
    "score for baselines, as in the paper, with the mean as a row of its own; DiFA's own aggregation for DiFA. Baselines have "
    f"their library's default settings unless a row says “{GRID_NOTE}”. Rows in *italics* are published figures "
    "(bert-base-uncased, original form), not measured here."
)


def section(records: Sequence[Record], form: str, title: str) -> list[str]:
    """Word and document tables of one form."""
    sets = _unique(record["set"] for record in records)
    lines = [f"## {form.capitalize()} form, {title}", ""]
    for level in ("word", "document"):
        rows = word_rows(records) if level == "word" else document_rows(records)
        if form == "original" and any(record["seed"] == PUBLISHED_SEED for record in records):
            rows += published_rows(level)
        lines += [f"**{level.capitalize()}s**", "", *markdown(rows, sets), ""]
    return lines


def word_rows(records: Sequence[Record]) -> list[Row]:
    """One row per method, and one more where a grid was searched."""
    return [row for name in _methods(records) for row in _rows_of(name, records, "word", None)]


def document_rows(records: Sequence[Record]) -> list[Row]:
    """One row per method and pooling rule."""
    rows = []
    for name in _methods(records):
        for rule in _rules(name, records):
            rows += _rows_of(name, records, "document", rule)
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
    label = LABELS.get(name) or label_of(name)
    if rule == "mean" or (rule == "max" and name in DIFA):
        label += f", {rule} of words"
    rows = []
    plain = [record for record in mine if not record["settings"]]
    if plain:
        note = _note(name)
        rows.append(Row(label, _by_set(plain, level, rule), note))
    searched = [record for record in mine if record["settings"]]
    if searched:
        rows.append(
            Row(
                label,
                _by_set(_best(searched, level, rule), level, rule),
                "; ".join(filter(None, [GRID_NOTE, METHODS[name].note])),
            )
        )
    return [row for row in rows if any(row.figures.values())]


def _best(records: Sequence[Record], level: str, rule: str | None) -> list[Record]:
    """For each set and seed, the setting with the highest test AUROC: a choice that looks at the answers."""
    best: dict[tuple[str, int], Record] = {}
    for record in records:
        key = (record["set"], record["seed"])
        figure = pick(record, level, rule)
        if figure and (key not in best or figure["auroc"] > (pick(best[key], level, rule) or figure)["auroc"]):
            best[key] = record
    return list(best.values())


def pick(record: Record, level: str, rule: str | None, part: str = "") -> Record | None:
    """One figure of a record."""
    for figure in record["figures"]:
        if (figure["level"], figure["pooling"], figure["part"]) == (level, rule, part):
            found: Record = figure
            return found
    return None


def _by_set(records: Sequence[Record], level: str, rule: str | None) -> dict[str, list[Record]]:
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


def _average(by_set: Sequence[Sequence[Record]]) -> str:
    shown = [metric for metric in _METRICS if all(figures[0].get(metric) is not None for figures in by_set)]
    means = {metric: float(np.mean([np.mean([figure[metric] for figure in figures]) for figures in by_set])) for metric in shown}
    return entry([means])


def short(value: float) -> str:
    """Three decimals, without the leading zero."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def intervals(records: Sequence[Record], form: str) -> list[str]:
    """AUROC and average precision with their 95 % bootstrap intervals over documents."""
    sets = _unique(record["set"] for record in records)
    lines = [f"**95 % intervals, {form} form** (bootstrap over test documents; AUROC, then average precision)", ""]
    lines += ["| method | level | " + " | ".join(name.capitalize() for name in sets) + " |", "|---" * (len(sets) + 2) + "|"]
    found = False
    for name in _methods(records):
        for level, rule in (("word", None), ("document", _rules(name, records)[0] if _rules(name, records) else None)):
            figures = _by_set([r for r in records if r["method"] == name and not r["settings"]], level, rule)
            if any(each[0].get("auroc_interval") for each in figures.values()):
                found = True
                entries = [_interval(figures[each][0]) if figures.get(each) else "" for each in sets]
                lines.append(f"| {LABELS.get(name) or label_of(name)} | {level} | " + " | ".join(entries) + " |")
    return [*lines, ""] if found else []


def _interval(figure: Record) -> str:
    spans = [figure.get("auroc_interval"), figure.get("ap_interval")]
    return ", ".join(f"{short(span[0])}–{short(span[1])}" for span in spans if span)


def alarms(records: Sequence[Record]) -> list[str]:
    """How DiFA's flags kept the rate that was asked for."""
    lines = []
    for record in records:
        counts = record.get("alarms")
        if counts:
            share, caught = counts["flagged_normal"] / counts["normal"], counts["flagged_anomalous"] / counts["anomalous"]
            low, high = binomial_interval(counts["normal"], counts["rate"])
            lines.append(
                f"| {label_of(record['method'])} | {record['set']} | {record['form']} | {record['seed']} | {short(share)} "
                f"| {short(low)}–{short(high)} | {short(caught)} |"
            )
    if not lines:
        return []
    head = "| method | set | form | seed | normal documents flagged at 0.05 | expected (95 %) | anomalous documents flagged |"
    return ["## Flags", "", head, "|---" * 7 + "|", *lines, ""]


def binomial_interval(count: int, rate: float) -> tuple[float, float]:
    """Where 95 % of the shares lie that chance alone gives a set of this size."""
    from scipy.stats import binom

    return float(binom.ppf(0.025, count, rate) / count), float(binom.ppf(0.975, count, rate) / count)


def times(records: Sequence[Record]) -> list[str]:
    """Seconds that fitting and scoring took, by method and set, on the published split with default settings."""
    mine = [r for r in records if r["seed"] == PUBLISHED_SEED and not r["settings"] and "fit_seconds" in r]
    columns = _unique((record["set"], record["form"]) for record in mine)
    if not columns:
        return []
    seconds = {(r["method"], r["set"], r["form"]): r["fit_seconds"] + r["score_seconds"] for r in mine}
    lines = ["| method | " + " | ".join(f"{name} {form}" for name, form in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for method in _methods(mine):
        entries = [f"{seconds[method, *column]:.1f}" if (method, *column) in seconds else "" for column in columns]
        lines.append(f"| {LABELS.get(method) or label_of(method)} | " + " | ".join(entries) + " |")
    sums = [sum(value for key, value in seconds.items() if key[1:] == column) for column in columns]
    lines.append("| **all** | " + " | ".join(f"**{value:.0f}**" for value in sums) + " |")
    return [*lines, ""]


def reasons(records: Sequence[Record]) -> list[str]:
    """Peers that could not run, and why."""
    found = {LABELS[record["method"]]: record["reason"] for record in records if record.get("reason")}
    return ["## Not run", "", *(f"- {label}: {reason}." for label, reason in found.items()), ""] if found else []


def _methods(records: Sequence[Record]) -> list[str]:
    present = {record["method"] for record in records}
    return [name for name in (*ALL_METHODS, *LABELS) if name in present]


def _note(name: str) -> str:
    """How the settings were chosen, where there was something to choose, and what else must be known."""
    if name not in METHODS:
        return ""
    return "; ".join(filter(None, ["library default" if METHODS[name].grid else "", METHODS[name].note]))


def _rules(name: str, records: Sequence[Record]) -> list[str]:
    rules = [
        figure["pooling"]
        for record in records
        if record["method"] == name
        for figure in record["figures"]
        if figure["level"] == "document"
    ]
    return _unique(rules)


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
