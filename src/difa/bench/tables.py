"""Records -> Markdown tables, by pandas.

A frame has a row per figure. `pivot` turns it into a table whose entries are AUROC / average precision / false-alarm rate at
95 % recall, over seeds. Measured rows say how their settings were chosen; published rows are in italics and say so. What follows
is the comparison of `difa bench table` and what a careful reader asks next: intervals, flags, times, peers that could not run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from difa.baselines import METHODS
from difa.bench import published
from difa.bench.methods import ALL_METHODS, DIFA, label_of
from difa.bench.peers import LABELS
from difa.bench.store import Record

PUBLISHED_SEED = 42
VALIDATION_NOTE = "best on validation data"
GRID_NOTE = "best by test AUROC, as the TokenCore authors"
METRICS = ["auroc", "ap", "fpr95"]
_CHOICES = ["library default", VALIDATION_NOTE, GRID_NOTE]
"""How the settings of a row were chosen."""
_COLUMNS = ["set", "form", "seed", "model_seed", "method", "settings", "level", "part", "pooling", *METRICS]
"""What a frame without figures has, too."""
_RULES = ["", "learned", "own", "max", "mean"]
"""Pooling rules, in the order of the tables."""
LEGEND = (
    "AUROC / average precision / false-alarm rate at 95 % recall. Higher, higher, lower is better. Documents: the highest word "
    "score for baselines, which is the default of PyTextAD, by TokenCore's author (the paper does not say how it pooled them), "
    "with the mean as a row of its own; DiFA's own aggregation for DiFA. Baselines have their library's default settings unless "
    f"a row says “{VALIDATION_NOTE}” (pseudo anomalies in held-out normal text; the paper selects on validation data, too) or "
    f"“{GRID_NOTE}”. Rows of DiFA that have seen the unlabelled test text had it as a feed; all others first saw it when "
    "they scored it. Rows in *italics* are published figures (bert-base-uncased, original form), not measured here."
)

Frame = Any
"""A data frame of pandas, which is an extra."""


def figures_frame(records: Sequence[Record]) -> Frame:
    """A row per figure: what it is of, its values, and the AUROC that its settings have on validation data."""
    import pandas

    rows = [_row(record, figure) for record in records for figure in record["figures"]]
    return pandas.DataFrame(rows or None, columns=None if rows else _COLUMNS).astype({"model_seed": "Int64"})


def _row(record: Record, figure: Record) -> Record:
    row = {key: record.get(key) for key in ("command", "set", "form", "seed", "model_seed", "method")}
    row["settings"] = json.dumps(record["settings"]) if record["settings"] else ""
    for key, value in figure.items():
        if key.endswith("_interval"):
            name = key.removesuffix("_interval")
            row[f"{name}_low"], row[f"{name}_high"] = value or (None, None)
        else:
            row[key] = value
    row["pooling"] = figure.get("pooling") or ""
    judged = (v["auroc"] for v in record.get("validation", ()) if (v["level"], v["pooling"]) == (row["level"], figure["pooling"]))
    costs = {key: value for key, value in record.items() if key.endswith(("_seconds", "_mib"))}
    return row | {"validation": next(judged, None)} | costs


def entry(figures: Frame) -> str:
    """Figures of one or several seeds as text."""
    shown = figures.dropna(axis=1, how="all")
    deviation = shown.std() if len(shown) > 1 else None
    return " / ".join(
        short(mean) + ("" if deviation is None else f" ± {short(deviation[metric])}") for metric, mean in shown.mean().items()
    )


def pivot(
    frame: Frame,
    rows: Sequence[str],
    column: str,
    columns: Sequence[Any] = (),
    *,
    average: bool = False,
    values: Sequence[str] = METRICS,
    text: Callable[[Frame], str] = entry,
) -> Frame:
    """A table of texts.

    Args:
        frame: a row per figure.
        rows: columns of the frame whose values name the rows, in order of appearance.
        column: column of the frame whose values name the columns.
        columns: these values in order; all there are for none.
        average: whether to add the average over the columns, in rows that have all of them.
        values: what an entry is made of.
        text: makes it.
    """
    columns = columns or unique(frame[column])
    keys, values = [*rows, column], list(values)
    table = frame.groupby(keys, sort=False)[values].apply(text).unstack(column, sort=False).reindex(columns=columns).fillna("")
    if average and len(columns) > 1:
        means = frame.groupby(keys, sort=False)[values].mean().groupby(level=list(rows), sort=False)
        table["Average"] = means.apply(lambda group: entry(group.mean().to_frame().T) if len(group) == len(columns) else "")
    return table.reset_index()


def markdown(rows: Iterable[Mapping[Any, Any]] | Frame) -> list[str]:
    """Rows, each with a text for every head, as the lines of a Markdown table."""
    listed = list(rows.to_dict("records")) if hasattr(rows, "to_dict") else list(rows)
    if not listed:
        return []
    lines = ["| " + " | ".join(map(str, listed[0])) + " |", "|---" * len(listed[0]) + "|"]
    return [*lines, *("| " + " | ".join(map(str, row.values())) + " |" for row in listed)]


def short(value: float) -> str:
    """Three decimals, without the leading zero."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def unique(values: Iterable[Any]) -> list[Any]:
    """The values without repetition, in order."""
    return list(dict.fromkeys(values))


def grouped(records: Sequence[Record], *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Records by some of their entries or settings, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = tuple(record[name] if name in record else record["settings"].get(name) for name in keys)
        groups.setdefault(key, []).append(record)
    return groups


def pick(record: Record, level: str, rule: str | None, part: str = "") -> Record | None:
    """One figure of a record."""
    wanted = (level, rule, part)
    return next((each for each in record["figures"] if (each["level"], each["pooling"], each["part"]) == wanted), None)


def title_of(name: str) -> str:
    """What tables and pictures call a method or a peer."""
    return LABELS.get(name) or label_of(name)


def methods_of(records: Sequence[Record]) -> list[str]:
    """The methods that have records, in the order of the tables."""
    present = {record["method"] for record in records}
    return [name for name in (*ALL_METHODS, *LABELS) if name in present]


def sets_of(records: Sequence[Record]) -> list[str]:
    """The sets that have records, those of the benchmark first and in its order."""
    present = unique(record["set"] for record in records)
    return [*(name for name in published.SETS if name in present), *(name for name in present if name not in published.SETS)]


def seeds_of(records: Sequence[Record], key: str = "seed") -> str:
    """The seeds that have records, as text: `seed 42`, or `seeds 0, 1, 2`."""
    seeds = sorted({record[key] for record in records})
    return f"{key.replace('_', ' ')}{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def own_rule(name: str) -> str:
    """The rule by which a method scores documents."""
    return "learned" if name in DIFA else "own" if name in ("pytextad-cvdd", "pytextad-date") else "max"


def of_split(records: Sequence[Record]) -> list[Record]:
    """Records whose model has the seed of its split."""
    return [record for record in records if record.get("model_seed") is None]


def published_frame(figures: Mapping[str, Sequence[tuple[float, float]]]) -> Frame:
    """Published pairs by label as rows of a table, in italics."""
    import pandas

    rows = [
        {"label": f"*{label}*", "note": published.SOURCE, "set": name, "auroc": auroc, "ap": ap, "method": "published"}
        for label, pairs in figures.items()
        for name, (auroc, ap) in zip(published.SETS, pairs, strict=True)
    ]
    return pandas.DataFrame(rows)


def compare(records: Sequence[Record], level: str, *, beside_published: bool = False) -> Frame:
    """A row per method, pooling rule and choice of settings; a rule that changes nothing, as for document length, has none."""
    import pandas

    frame = figures_frame(records)
    frame = frame[(frame.level == level) & (frame.part == "") & (frame.pooling != "topk")]
    searched = frame[frame.settings != ""]
    parts = [frame[frame.settings == ""].assign(choice=_CHOICES[0])]
    for by, note in zip(("validation", "auroc"), _CHOICES[1:], strict=True):  # the latter looks at the answers, and says so
        known = searched.dropna(subset=[by])
        best = known.groupby(["method", "pooling", "set", "seed"], sort=False)[by].idxmax() if len(known) else []
        parts.append(known.loc[best].assign(choice=note))
    shown = pandas.concat([part for part in parts if len(part)])
    shown["label"] = [_label(*pair) for pair in zip(shown.method, shown.pooling, strict=True)]
    shown["note"] = [_note(*pair) for pair in zip(shown.method, shown.choice, strict=True)]
    keys = [shown.method.map(methods_of(records).index), shown.pooling.map(_RULES.index), shown.choice.map(_CHOICES.index)]
    shown = shown.assign(m=keys[0], p=keys[1], c=keys[2]).sort_values(["m", "p", "c"], kind="stable")
    if beside_published:
        source = published.WORDS if level == "word" else published.DOCUMENTS
        named = {label_of(name).replace(" (paper)", ""): pairs for name, pairs in source.items()}
        shown = pandas.concat([shown, published_frame(named)])
    sets = sets_of(records)
    table = pivot(shown, ["method", "label", "note"], "set", sets, average=True)
    return table.drop_duplicates([name for name in table if name != "label"])


def _label(name: str, rule: str) -> str:
    changed = rule == "mean" or (rule == "max" and name in DIFA)
    return title_of(name) + (f", {rule} of words" if changed else "")


def _note(name: str, choice: str) -> str:
    """How the settings were chosen, where there was something to choose, and what else must be known."""
    if name not in METHODS:
        return ""
    return "; ".join(filter(None, [choice if METHODS[name].grid else "", METHODS[name].note]))


def table_markdown(records: Sequence[Record], *, details: bool = True) -> str:
    """The whole table, in sections: by form, published split first, then means over seeds, then models on one split.

    Args:
        records: of `difa bench table`.
        details: whether intervals, flags and reasons follow.
    """
    parts = ["# Comparison", "", LEGEND, ""]
    for (form,), mine in grouped(records, "form").items():
        single = [record for record in of_split(mine) if record["seed"] == PUBLISHED_SEED]
        several = [record for record in of_split(mine) if record["seed"] != PUBLISHED_SEED]
        varied = [record for record in mine if record.get("model_seed") is not None]
        if single:
            known = all(name in published.SETS for name in sets_of(single))
            parts += _section(single, form, f"seed {PUBLISHED_SEED}" + (", the published split" if known else ""))
            parts += intervals(single, form) if details else []
        for group in _kinds_of_sets(several):
            spread = ": mean ± sd" if len({record["seed"] for record in group}) > 1 else ""
            parts += _section(group, form, seeds_of(group) + spread)
        for (seed,), models in grouped(varied, "seed").items():
            parts += _section(models, form, f"seed {seed}, {seeds_of(models, 'model_seed')}: mean ± sd")
    if details:
        parts += [*alarms(records), *reasons(records)]
    return "\n".join(parts) + "\n"


def _kinds_of_sets(records: Sequence[Record]) -> list[list[Record]]:
    """Records of the public sets, and of the others: more methods run on the former, and averages should be of equal sets."""
    public = [record for record in records if record["set"] in published.SETS]
    return [part for part in (public, [record for record in records if record["set"] not in published.SETS]) if part]


def _section(records: Sequence[Record], form: str, title: str) -> list[str]:
    """Word and document tables of one form."""
    lines = [f"## {form.capitalize()} form, {title}", ""]
    measured = [record for record in records if record["figures"]]
    beside = form == "original" and any(record["seed"] == PUBLISHED_SEED for record in records)
    for level in ("word", "document") if measured else ():
        table = compare(measured, level, beside_published=beside).drop(columns="method")
        notes = table.pop("note")
        heads = {"label": "method"} | {name: name.capitalize() for name in sets_of(measured)}
        lines += [f"**{level.capitalize()}s**", "", *markdown(table.rename(columns=heads).assign(settings=notes)), ""]
    return lines


def intervals(records: Sequence[Record], form: str) -> list[str]:
    """AUROC and average precision with their 95 % bootstrap intervals over documents."""
    frame = figures_frame([record for record in of_split(records) if not record["settings"]])
    ends = ["auroc_low", "auroc_high", "ap_low", "ap_high"]
    if not len(frame) or not set(ends) <= set(frame):
        return []
    own = frame.pooling == frame.method.map(own_rule)
    frame = frame[(frame.part == "") & ((frame.level == "word") | own)].dropna(subset=ends)
    if not len(frame):
        return []
    table = pivot(frame, ["method", "level"], "set", sets_of(records), values=ends, text=_ends)
    table = table.sort_values("method", key=lambda names: names.map(methods_of(records).index), kind="stable")
    table["method"] = table["method"].map(title_of)
    lines = [f"**95 % intervals, {form} form** (bootstrap over test documents; AUROC, then average precision)", ""]
    return [*lines, *markdown(table.rename(columns={name: name.capitalize() for name in sets_of(records)})), ""]


def _ends(figures: Frame) -> str:
    low, high, ap_low, ap_high = map(short, figures.iloc[0])
    return f"{low}–{high}, {ap_low}–{ap_high}"


def alarms(records: Sequence[Record]) -> list[str]:
    """How DiFA's flags kept the rate that was asked for, of documents and of words."""
    rows = [_flags(record, record["alarms"]) for record in of_split(records) if record.get("alarms")]
    return ["## Flags", "", *markdown(rows), ""] if rows else []


def _flags(record: Record, counts: Record) -> Record:
    low, high = binomial_interval(counts["normal"], counts["rate"])
    words = short(counts["flagged_normal_words"] / counts["normal_words"]) if counts.get("normal_words") else ""
    return {
        "method": label_of(record["method"]),
        **{key: record[key] for key in ("set", "form", "seed")},
        "normal documents flagged at 0.05": short(counts["flagged_normal"] / counts["normal"]),
        "expected (95 %)": f"{short(low)}–{short(high)}",
        "their words flagged at 0.05": words,
        "anomalous documents flagged": short(counts["flagged_anomalous"] / counts["anomalous"]),
    }


def binomial_interval(count: int, rate: float) -> tuple[float, float]:
    """Where 95 % of the shares lie that chance alone gives a set of this size."""
    from scipy.stats import binom

    return float(binom.ppf(0.025, count, rate) / count), float(binom.ppf(0.975, count, rate) / count)


def times(records: Sequence[Record]) -> list[str]:
    """Seconds that fitting and scoring took, by method and set, on the published split with default settings."""
    mine = [r for r in of_split(records) if r["seed"] == PUBLISHED_SEED and not r["settings"] and "fit_seconds" in r]
    if not mine:
        return []
    seconds = {(r["method"], f"{r['set']} {r['form']}"): r["fit_seconds"] + r["score_seconds"] for r in mine}
    forms = unique(record["form"] for record in mine)
    heads = [head for form in forms for name in sets_of(mine) if (head := f"{name} {form}") in {key[1] for key in seconds}]
    rows = [
        {"method": title_of(name)} | {h: f"{seconds[name, h]:.1f}" if (name, h) in seconds else "" for h in heads}
        for name in methods_of(mine)
    ]
    sums = {head: f"**{sum(value for key, value in seconds.items() if key[1] == head):.0f}**" for head in heads}
    return [*markdown([*rows, {"method": "**all**"} | sums]), ""]


def reasons(records: Sequence[Record]) -> list[str]:
    """Peers that could not run, and why."""
    found = {LABELS[record["method"]]: record["reason"] for record in records if record.get("reason")}
    return ["## Not run", "", *(f"- {label}: {reason}." for label, reason in found.items()), ""] if found else []
