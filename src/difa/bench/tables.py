"""Records -> frames of pandas -> Markdown tables: what the tables of all studies share, and published figures to stand beside.

A frame has a row per figure. `pivot` turns it into a table whose entries are AUROC / average precision / false-alarm rate at
95 % recall, over seeds. Published figures (`published.csv`) are from Tables I and II of the DiFA paper: bert-base-uncased, last
layer, original form of the sets. They are never computed here and always marked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from difa.bench.data import SETS
from difa.bench.methods import ALL_METHODS, PEERS, label_of, own_rule
from difa.bench.metrics import Record, Records

PUBLISHED_SEED = 42
LEVELS = ("word", "document")
METRICS = ["auroc", "ap", "fpr95"]
ENTRIES = "AUROC / average precision / false-alarm rate at 95 % recall."
_COLUMNS = ["set", "form", "seed", "model_seed", "method", "settings", "level", "part", "pooling", *METRICS]
"""What a frame without figures has, too."""

Frame = Any  # a data frame of pandas, which is an extra


def figures_frame(records: Records, *settings: str) -> Frame:
    """A row per figure, or per document of examples: what it is of, its values, and the AUROC that its settings have on
    validation data. Named settings get a column of their own.
    """
    import pandas

    rows = []
    for record in records:
        of = {key: record.get(key) for key in ("command", "set", "form", "seed", "model_seed", "method")}
        of["settings"] = json.dumps(record["settings"]) if record["settings"] else ""
        judged = {(each["level"], each["pooling"]): each["auroc"] for each in record.get("validation", ())}
        more = {key: value for key, value in record.items() if key.endswith(("_seconds", "_mib", "_words"))}
        more |= {key: record["settings"].get(key) for key in settings}
        for figure in record.get("documents") or record.get("figures", ()):
            row = dict(of)
            for key, value in figure.items():
                name = key.removesuffix("_interval")
                ends = zip((f"{name}_low", f"{name}_high"), value or (None, None), strict=True) if name != key else ()
                row |= dict(ends) or {key: value}
            validation = judged.get((figure.get("level"), figure.get("pooling")))
            rows.append(row | {"pooling": figure.get("pooling") or "", "validation": validation} | more)
    return pandas.DataFrame(rows or None, columns=None if rows else _COLUMNS).astype({"model_seed": "Int64"})


def final_figures(frame: Frame) -> Frame:
    """Figures of final word and document scores, of models that have the seed of their split and their usual settings."""
    own = (frame.level == "word") | (frame.pooling == frame.method.map(own_rule))
    return frame[frame.model_seed.isna() & (frame.settings == "") & (frame.part == "") & own]


def costs_of(frame: Frame) -> Frame:
    """A row per method: what it costs on a set and the AUROC of words and documents that it gives for it, means over seeds."""
    costs = frame.groupby("method", sort=False)[
        ["encode_seconds", "fit_seconds", "score_seconds", "peak_mib", "test_words"]
    ].mean()
    return costs.join(final_figures(frame).pivot_table("auroc", "method", "level"))


def published(table: str, level: str) -> Frame:
    """Figures of the paper as rows of a frame, in italics: those of all `methods`, or of the `parts` of its ablation.

    Documents: the learned aggregation for DiFA; the paper does not say how the words of baselines were pooled.
    """
    import pandas

    known = pandas.read_csv(Path(__file__).with_name("published.csv"))
    known = known[(known.table == table) & (known.level == level)]
    return known.assign(label="*" + known.label + "*", note="published, bert-base-uncased", method="published")


def entry(figures: Frame) -> str:
    """Figures of one or several seeds as text."""
    shown = figures.dropna(axis=1, how="all")
    means = [short(mean) for mean in shown.mean()]
    deviations = [f" ± {short(deviation)}" for deviation in shown.std()] if len(shown) > 1 else [""] * len(means)
    return " / ".join(map("".join, zip(means, deviations, strict=True)))


def pivot(
    frame: Frame,
    rows: Mapping[str, str],
    column: str,
    heads: Mapping[Any, str],
    *,
    average: bool = False,
    values: Sequence[str] = METRICS,
    text: Callable[[Frame], str] = entry,
) -> Frame:
    """A table of texts, each made of the values of some figures, with or without an average of rows that have all columns.

    The values of some columns of the frame name the rows, in order of appearance, those of one the columns, in the order given.
    All of these have heads.
    """
    keys, values = [*rows, column], list(values)
    table = (
        frame.groupby(keys, sort=False)[values].apply(text).unstack(column, sort=False).reindex(columns=list(heads)).fillna("")
    )
    if average and len(heads) > 1:
        means = frame.groupby(keys, sort=False)[values].mean().groupby(level=list(rows), sort=False)
        table["Average"] = means.apply(lambda group: entry(group.mean().to_frame().T) if len(group) == len(heads) else "")
    return table.reset_index().rename(columns={**rows, **heads})


def ordered(frame: Frame, **orders: Sequence[Any]) -> Frame:
    """The rows in the order that the values of columns have in lists; the first column matters most."""
    return frame.sort_values(list(orders), key=lambda values: values.map(orders[values.name].index), kind="stable")


def by_set(frame: Frame, records: Records, head: str = "part") -> str:
    """A table with a row per label, a column per set and the average; at the end notes, where rows have some."""
    frame = frame.assign(note=frame["note"].fillna("") if "note" in frame else "")
    table = pivot(frame, {"label": head, "note": "settings"}, "set", set_heads(records), average=True)
    settings = table.pop("settings")
    return markdown(table.assign(settings=settings) if any(settings) else table)


def by_level(frame: Frame, records: Records, beside: bool) -> list[str]:
    """A table by set for words and one for documents, with the paper's ablation beside them or not."""
    import pandas

    blocks = []
    for level in LEVELS:
        shown = frame[frame.level == level]
        shown = pandas.concat([shown, published("parts", level)]) if beside else shown
        blocks += [f"**{level.capitalize()}s**", by_set(shown, records)]
    return blocks


def by_column(records: Records, column: str, head_of: Callable[[Any], str]) -> str:
    """A table of methods by the values of a setting, or by the parts of the figures, which are then numbers."""
    frame = figures_frame(records).astype({"part": int}) if column == "part" else figures_frame(records, column)
    heads = {value: head_of(value) for value in sorted(unique(frame[column].tolist()))}
    return markdown(pivot(frame.assign(method=frame.method.map(label_of)), {"method": "method"}, column, heads))


def markdown(rows: Iterable[Mapping[Any, Any]] | Frame) -> str:
    """Rows, each with a text for every head, as a Markdown table; empty for no rows."""
    listed = list(rows.to_dict("records")) if hasattr(rows, "to_dict") else list(rows)
    if not listed:
        return ""
    head, *lines = ("| " + " | ".join(map(str, row)) + " |" for row in (listed[0], *(row.values() for row in listed)))
    return "\n".join([head, "|---" * len(listed[0]) + "|", *lines])


def page(*blocks: str) -> str:
    """Paragraphs and tables with a line between them."""
    return "\n\n".join(filter(None, blocks))


def short(value: float | None) -> str:
    """Three decimals, without the leading zero; nothing for None or not a number."""
    return "" if value is None or value != value else f"{value:.3f}".removeprefix("0")


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


def methods_of(records: Records) -> list[str]:
    """The methods that have records, in the order of the tables."""
    present = {record["method"] for record in records}
    return [name for name in (*ALL_METHODS, *PEERS) if name in present]


def sets_of(records: Records) -> list[str]:
    """The sets that have records, those of the benchmark first and in its order."""
    present = unique(record["set"] for record in records)
    return sorted(present, key=lambda name: SETS.index(name) if name in SETS else len(SETS))


def set_heads(records: Records) -> dict[str, str]:
    """The same, and how tables call them."""
    return {name: name.capitalize() for name in sets_of(records)}


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
