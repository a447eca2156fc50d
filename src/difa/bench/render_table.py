"""Records of `difa bench table` -> the comparison, and what a careful reader asks next.

Beside the tables themselves: intervals, how DiFA's flags kept their rate, what took how long, and which peers could not run.
"""

from __future__ import annotations

from collections.abc import Sequence

from difa.bench import published
from difa.bench.methods import label_of
from difa.bench.peers import LABELS
from difa.bench.render import (
    GRID_NOTE,
    PUBLISHED_SEED,
    VALIDATION_NOTE,
    by_set,
    document_rows,
    markdown,
    methods,
    published_rows,
    rules,
    sets_of,
    short,
    title_of,
    unique,
    word_rows,
)
from difa.bench.store import Record


def table_markdown(records: Sequence[Record], *, details: bool = True) -> str:
    """The whole table, in sections: by form, published split first, then means over seeds.

    Args:
        records: of `difa bench table`.
        details: whether intervals, flags and reasons follow.
    """
    parts = ["# Comparison", "", LEGEND, ""]
    for form in unique(record["form"] for record in records):
        of_form = [record for record in records if record["form"] == form and record.get("model_seed") is None]
        varied = [record for record in records if record["form"] == form and record.get("model_seed") is not None]
        single = [record for record in of_form if record["seed"] == PUBLISHED_SEED]
        several = [record for record in of_form if record["seed"] != PUBLISHED_SEED]
        if single:
            known = all(name in published.SETS for name in sets_of(single))
            parts += section(single, form, f"seed {PUBLISHED_SEED}" + (", the published split" if known else ""))
            parts += intervals(single, form) if details else []
        if several:
            seeds = sorted({record["seed"] for record in several})
            parts += section(several, form, "seeds " + ", ".join(map(str, seeds)) + (": mean ± sd" if len(seeds) > 1 else ""))
        for seed in unique(record["seed"] for record in varied):
            mine = [record for record in varied if record["seed"] == seed]
            seeds = sorted({record["model_seed"] for record in mine})
            parts += section(mine, form, f"seed {seed}, model seeds {', '.join(map(str, seeds))}: mean ± sd")
    if details:
        parts += [*alarms(records), *reasons(records)]
    return "\n".join(parts) + "\n"


LEGEND = (
    "AUROC / average precision / false-alarm rate at 95 % recall. Higher, higher, lower is better. Documents: the highest word "
    "score for baselines, which is the default of PyTextAD, by TokenCore's author (the paper does not say how it pooled them), "
    "with the mean as a row of its own; DiFA's own aggregation for DiFA. Baselines have their library's default settings unless "
    f"a row says “{VALIDATION_NOTE}” (pseudo anomalies in held-out normal text; the paper selects on validation data, too) or "
    f"“{GRID_NOTE}”. Rows of DiFA that have seen the unlabelled test text had it as a feed; all others first saw it when "
    "they scored it. Rows in *italics* are published figures (bert-base-uncased, original form), not measured here."
)


def section(records: Sequence[Record], form: str, title: str) -> list[str]:
    """Word and document tables of one form."""
    sets = sets_of(records)
    lines = [f"## {form.capitalize()} form, {title}", ""]
    for level in ("word", "document"):
        rows = word_rows(records) if level == "word" else document_rows(records)
        if form == "original" and any(record["seed"] == PUBLISHED_SEED for record in records):
            rows += published_rows(level)
        lines += [f"**{level.capitalize()}s**", "", *markdown(rows, sets), ""]
    return lines


def intervals(records: Sequence[Record], form: str) -> list[str]:
    """AUROC and average precision with their 95 % bootstrap intervals over documents."""
    sets = sets_of(records)
    lines = [f"**95 % intervals, {form} form** (bootstrap over test documents; AUROC, then average precision)", ""]
    lines += ["| method | level | " + " | ".join(name.capitalize() for name in sets) + " |", "|---" * (len(sets) + 2) + "|"]
    found = False
    for name in methods(records):
        for level, rule in (("word", None), ("document", rules(name, records)[0] if rules(name, records) else None)):
            figures = by_set([r for r in records if r["method"] == name and not r["settings"]], level, rule)
            if any(each[0].get("auroc_interval") for each in figures.values()):
                found = True
                entries = [_interval(figures[each][0]) if figures.get(each) else "" for each in sets]
                lines.append(f"| {title_of(name)} | {level} | " + " | ".join(entries) + " |")
    return [*lines, ""] if found else []


def _interval(figure: Record) -> str:
    spans = [figure.get("auroc_interval"), figure.get("ap_interval")]
    return ", ".join(f"{short(span[0])}–{short(span[1])}" for span in spans if span)


def alarms(records: Sequence[Record]) -> list[str]:
    """How DiFA's flags kept the rate that was asked for, of documents and of words."""
    lines = []
    for record in records:
        counts = record.get("alarms")
        if counts and record.get("model_seed") is None:
            share, caught = counts["flagged_normal"] / counts["normal"], counts["flagged_anomalous"] / counts["anomalous"]
            low, high = binomial_interval(counts["normal"], counts["rate"])
            words = short(counts["flagged_normal_words"] / counts["normal_words"]) if counts.get("normal_words") else ""
            lines.append(
                f"| {label_of(record['method'])} | {record['set']} | {record['form']} | {record['seed']} | {short(share)} "
                f"| {short(low)}–{short(high)} | {words} | {short(caught)} |"
            )
    if not lines:
        return []
    flagged = "normal documents flagged at 0.05 | expected (95 %) | their words flagged at 0.05 | anomalous documents flagged"
    return ["## Flags", "", f"| method | set | form | seed | {flagged} |", "|---" * 8 + "|", *lines, ""]


def binomial_interval(count: int, rate: float) -> tuple[float, float]:
    """Where 95 % of the shares lie that chance alone gives a set of this size."""
    from scipy.stats import binom

    return float(binom.ppf(0.025, count, rate) / count), float(binom.ppf(0.975, count, rate) / count)


def times(records: Sequence[Record]) -> list[str]:
    """Seconds that fitting and scoring took, by method and set, on the published split with default settings."""
    mine = [
        r
        for r in records
        if r["seed"] == PUBLISHED_SEED and not r["settings"] and "fit_seconds" in r and r.get("model_seed") is None
    ]
    present = unique((record["set"], record["form"]) for record in mine)
    columns = [(name, form) for form in unique(form for _, form in present) for name in sets_of(mine) if (name, form) in present]
    if not columns:
        return []
    seconds = {(r["method"], r["set"], r["form"]): r["fit_seconds"] + r["score_seconds"] for r in mine}
    lines = ["| method | " + " | ".join(f"{name} {form}" for name, form in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for method in methods(mine):
        entries = [f"{seconds[method, *column]:.1f}" if (method, *column) in seconds else "" for column in columns]
        lines.append(f"| {title_of(method)} | " + " | ".join(entries) + " |")
    sums = [sum(value for key, value in seconds.items() if key[1:] == column) for column in columns]
    lines.append("| **all** | " + " | ".join(f"**{value:.0f}**" for value in sums) + " |")
    return [*lines, ""]


def reasons(records: Sequence[Record]) -> list[str]:
    """Peers that could not run, and why."""
    found = {LABELS[record["method"]]: record["reason"] for record in records if record.get("reason")}
    return ["## Not run", "", *(f"- {label}: {reason}." for label, reason in found.items()), ""] if found else []
