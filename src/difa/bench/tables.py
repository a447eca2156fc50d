"""Records -> frames of pandas -> Markdown tables: what the tables of all studies share, and published figures to stand beside.

A frame has a row per figure. `pivot` turns it into a table whose entries are AUROC / average precision / false-alarm rate at
95 % recall, over seeds.

Published figures are from Tables I and II of the DiFA paper: bert-base-uncased, last layer, original form of the sets. Each pair
is AUROC and average precision. They are never computed here and always marked. The paper says that models were selected by
validation performance; it does not describe its validation data. (To choose a baseline's settings by test AUROC is the way of
TokenCore's authors, not of this paper.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from difa.bench.data import SETS
from difa.bench.methods import ALL_METHODS, PEERS, label_of
from difa.bench.metrics import Record, Records

PUBLISHED_SEED = 42
LEVELS = ("word", "document")
METRICS = ["auroc", "ap", "fpr95"]
ENTRIES = "AUROC / average precision / false-alarm rate at 95 % recall."
_COLUMNS = ["set", "form", "seed", "model_seed", "method", "settings", "level", "part", "pooling", *METRICS]
"""What a frame without figures has, too."""

Pair = tuple[float, float]
PUBLISHED: dict[str, dict[str, tuple[Pair, Pair, Pair]]] = {
    "word": {
        "lof": ((0.5315, 0.0098), (0.8005, 0.0569), (0.5641, 0.0339)),
        "iforest": ((0.8157, 0.0341), (0.7052, 0.0768), (0.5024, 0.0303)),
        "ecod": ((0.8186, 0.0289), (0.7035, 0.0872), (0.4457, 0.0268)),
        "deepsvdd": ((0.7366, 0.0250), (0.6554, 0.0491), (0.4798, 0.0312)),
        "ae": ((0.3851, 0.0074), (0.6665, 0.0210), (0.6190, 0.0386)),
        "lunar": ((0.6734, 0.0139), (0.8254, 0.0516), (0.6053, 0.0376)),
        "tokencore": ((0.6792, 0.0141), (0.8271, 0.0530), (0.6371, 0.0407)),
        "difa-paper": ((0.9923, 0.4580), (0.8909, 0.4682), (0.8738, 0.1155)),
    },
    "document": {
        "lof": ((0.5948, 0.2276), (0.9082, 0.4107), (0.5236, 0.1933)),
        "iforest": ((0.4598, 0.1551), (0.8951, 0.3987), (0.5994, 0.2342)),
        "ecod": ((0.4603, 0.1552), (0.8887, 0.3791), (0.5739, 0.2178)),
        "deepsvdd": ((0.4814, 0.1633), (0.8572, 0.3371), (0.5548, 0.2294)),
        "ae": ((0.4576, 0.1566), (0.9075, 0.5247), (0.6403, 0.2547)),
        "lunar": ((0.5814, 0.2051), (0.9587, 0.7473), (0.6578, 0.2628)),
        "tokencore": ((0.5859, 0.2072), (0.9594, 0.7495), (0.6553, 0.2624)),
        "difa-paper": ((0.9067, 0.5236), (0.9782, 0.8886), (0.7311, 0.3788)),
    },
}
"""By level and method, in the order of `SETS`. Documents: the learned aggregation for DiFA; the paper does not say how the words
of baselines were pooled."""
PUBLISHED_PARTS: dict[str, dict[str, tuple[Pair, Pair, Pair]]] = {
    "word": {
        "semantic view alone": ((0.9860, 0.2601), (0.9082, 0.2484), (0.5745, 0.0337)),
        "form view alone": ((0.9498, 0.1298), (0.7894, 0.3882), (0.9437, 0.2506)),
        "fusion": PUBLISHED["word"]["difa-paper"],
    },
    "document": {
        "mean": ((0.7972, 0.3632), (0.9332, 0.4316), (0.7583, 0.3348)),
        "max": ((0.8946, 0.4841), (0.9706, 0.8796), (0.7064, 0.2976)),
        "top-k mean": ((0.8705, 0.4557), (0.9726, 0.8157), (0.7689, 0.3539)),
        "document score": PUBLISHED["document"]["difa-paper"],
    },
}
"""The paper's ablation, by level and part."""

Frame = Any
"""A data frame of pandas, which is an extra."""


def figures_frame(records: Records, *settings: str) -> Frame:
    """A row per figure: what it is of, its values, and the AUROC that its settings have on validation data.

    Named settings get a column of their own.
    """
    import pandas

    rows = [_row(record, figure, settings) for record in records for figure in record["figures"]]
    return pandas.DataFrame(rows or None, columns=None if rows else _COLUMNS).astype({"model_seed": "Int64"})


def _row(record: Record, figure: Record, settings: Sequence[str]) -> Record:
    row = {key: record.get(key) for key in ("command", "set", "form", "seed", "model_seed", "method")}
    row["settings"] = json.dumps(record["settings"]) if record["settings"] else ""
    for key, value in figure.items():
        name = key.removesuffix("_interval")
        row |= {key: value} if name == key else dict(zip((f"{name}_low", f"{name}_high"), value or (None, None), strict=True))
    row["pooling"] = figure.get("pooling") or ""
    judged = (v["auroc"] for v in record.get("validation", ()) if (v["level"], v["pooling"]) == (row["level"], figure["pooling"]))
    costs = {key: value for key, value in record.items() if key.endswith(("_seconds", "_mib"))}
    return row | {"validation": next(judged, None)} | costs | {key: record["settings"].get(key) for key in settings}


def published_frame(figures: Mapping[str, Sequence[Pair]]) -> Frame:
    """Published pairs by label as rows of a frame, in italics."""
    import pandas

    rows = [(f"*{label}*", *row) for label, pairs in figures.items() for row in zip(SETS, pairs, strict=True)]
    frame = pandas.DataFrame([(label, name, *pair) for label, name, pair in rows], columns=["label", "set", "auroc", "ap"])
    return frame.assign(note="published, bert-base-uncased", method="published")


def entry(figures: Frame) -> str:
    """Figures of one or several seeds as text."""
    shown = figures.dropna(axis=1, how="all")
    means = [short(mean) for mean in shown.mean()]
    deviations = [f" ± {short(deviation)}" for deviation in shown.std()] if len(shown) > 1 else [""] * len(means)
    return " / ".join(map("".join, zip(means, deviations, strict=True)))


def pivot(
    frame: Frame,
    rows: Sequence[str],
    column: str,
    columns: Sequence[Any],
    *,
    average: bool = False,
    values: Sequence[str] = METRICS,
    text: Callable[[Frame], str] = entry,
) -> Frame:
    """A table of texts, each made of the values of some figures, with or without an average of rows that have all columns.

    The values of some columns of the frame name the rows, in order of appearance, those of one the columns, as they are given.
    """
    keys, values = [*rows, column], list(values)
    table = frame.groupby(keys, sort=False)[values].apply(text).unstack(column, sort=False).reindex(columns=columns).fillna("")
    if average and len(columns) > 1:
        means = frame.groupby(keys, sort=False)[values].mean().groupby(level=list(rows), sort=False)
        table["Average"] = means.apply(lambda group: entry(group.mean().to_frame().T) if len(group) == len(columns) else "")
    return table.reset_index()


def ordered(frame: Frame, **orders: Sequence[Any]) -> Frame:
    """The rows in the order that the values of columns have in lists; the first column matters most."""
    return frame.sort_values(list(orders), key=lambda values: values.map(orders[values.name].index), kind="stable")


def by_set(frame: Frame, sets: Sequence[str], head: str = "part") -> list[str]:
    """A table with a row per label, a column per set and the average; at the end notes, where rows have some."""
    frame = frame.assign(note=frame["note"].fillna("") if "note" in frame else "")
    table = pivot(frame, ["label", "note"], "set", sets, average=True)
    settings = table.pop("note")
    heads = {"label": head} | {name: name.capitalize() for name in sets}
    return markdown(table.rename(columns=heads).assign(**({"settings": settings} if any(settings) else {})))


def by_level(frame: Frame, sets: Sequence[str], beside: bool) -> list[str]:
    """A table by set for words and one for documents, with the paper's ablation beside them or not."""
    import pandas

    lines = []
    for level in LEVELS:
        shown = frame[frame.level == level]
        shown = pandas.concat([shown, published_frame(PUBLISHED_PARTS[level])]) if beside else shown
        lines += [f"**{level.capitalize()}s**", "", *by_set(shown, sets), ""]
    return lines


def by_column(records: Records, column: str, head_of: Callable[[Any], str]) -> list[str]:
    """A table of methods by the values of a setting, or by the parts of the figures, which are then numbers."""
    frame = figures_frame(records).astype({"part": int}) if column == "part" else figures_frame(records, column)
    values = sorted(unique(frame[column]))
    table = pivot(frame, ["method"], column, values).rename(columns={value: head_of(value) for value in values})
    return markdown(table.assign(method=table["method"].map(label_of)))


def markdown(rows: Iterable[Mapping[Any, Any]] | Frame) -> list[str]:
    """Rows, each with a text for every head, as the lines of a Markdown table; none for no rows."""
    listed = list(rows.to_dict("records")) if hasattr(rows, "to_dict") else list(rows)
    cells = [list(listed[0]), *(row.values() for row in listed)] if listed else []
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in cells]
    return [*lines[:1], *(["|---" * len(listed[0]) + "|"] if listed else []), *lines[1:]]


def short(value: float | None) -> str:
    """Three decimals, without the leading zero; nothing for None."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def plural(count: int, noun: str) -> str:
    """A number with its noun: `1 set`, `2 sets`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def unique(values: Iterable[Any]) -> list[Any]:
    """The values without repetition, in order."""
    return list(dict.fromkeys(values))


def grouped(records: Records, *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Records by some of their entries or settings, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple((record["settings"] | record).get(name) for name in keys), []).append(record)
    return groups


def pick(record: Record, level: str, rule: str | None, part: str = "") -> Record | None:
    """One figure of a record."""
    wanted = (level, rule, part)
    return next((each for each in record["figures"] if (each["level"], each["pooling"], each["part"]) == wanted), None)


def methods_of(records: Records) -> list[str]:
    """The methods that have records, in the order of the tables."""
    present = {record["method"] for record in records}
    return [name for name in (*ALL_METHODS, *PEERS) if name in present]


def sets_of(records: Records) -> list[str]:
    """The sets that have records, those of the benchmark first and in its order."""
    present = unique(record["set"] for record in records)
    return sorted(present, key=lambda name: SETS.index(name) if name in SETS else len(SETS))


def seeds_of(records: Records, key: str = "seed") -> str:
    """The seeds that have records, as text: `seed 42`, or `seeds 0, 1, 2`."""
    seeds = sorted({record[key] for record in records})
    return f"{key.replace('_', ' ')}{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def by_split(records: Records) -> tuple[list[Record], list[Record]]:
    """Records of the published split, and of other splits."""
    published = [record for record in records if record["seed"] == PUBLISHED_SEED]
    return published, [record for record in records if record["seed"] != PUBLISHED_SEED]


def of_split(records: Records) -> list[Record]:
    """Records whose model has the seed of its split."""
    return [record for record in records if record.get("model_seed") is None]
