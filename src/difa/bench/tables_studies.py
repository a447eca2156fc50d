"""Records of ablation, layers, efficiency, contamination and sparsity -> Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from difa.baselines import METHODS
from difa.bench import published
from difa.bench.methods import DIFA, label_of
from difa.bench.store import Record
from difa.bench.tables import (
    METRICS,
    PUBLISHED_SEED,
    Frame,
    figures_frame,
    grouped,
    markdown,
    methods_of,
    own_rule,
    pick,
    pivot,
    published_frame,
    seeds_of,
    sets_of,
    short,
    unique,
)

ENTRIES = "AUROC / average precision / false-alarm rate at 95 % recall."
SPOILT = {
    "noise": "a share of the training word vectors has Gaussian noise",
    "anomalies": "a share of the training documents are real anomalies",
}
_PARTS = {"": "fusion", "learned": "document score", "max": "max", "topk": "top-k mean", "mean": "mean"}
"""Poolings of `difa bench table`, in the names of the ablation; the first is of words."""


def ablation_markdown(records: Sequence[Record]) -> str:
    """Parts of one fit, then other settings, for each preset, judge and form."""
    import pandas

    parts = ["# Ablation", "", ENTRIES, ""]
    for (method, judge, form), mine in grouped(records, "method", "judge", "form").items():
        named = [r | {"figures": [f | {"label": _part_label(r, f)} for f in r["figures"]]} for r in mine]
        frame = figures_frame(named).dropna(subset=["label"])
        beside = (method, judge, form, seeds_of(mine)) == ("difa-paper", "labels", "original", f"seed {PUBLISHED_SEED}")
        for kind in unique(frame["kind"]):
            parts += [f"## {_title(method, judge, form, kind, seeds_of(mine))}", ""]
            for level in ("word", "document"):
                shown = frame[(frame.kind == kind) & (frame.level == level)]
                shown = pandas.concat([shown, published_ablation(level)]) if beside else shown
                parts += [f"**{level.capitalize()}s**", "", *by_set(shown, sets_of(mine)), ""]
    return "\n".join(parts)


def _title(method: str, judge: str, form: str, kind: str, seeds: str) -> str:
    judged = "judged by labels" if judge == "labels" else f"judged by {f'{kind} ' if kind else 'all '}pseudo anomalies"
    return f"{label_of(method)}, {form} form, {seeds}: {judged}"


def _part_label(record: Record, figure: Record) -> str | None:
    """What a row of the ablation is called; None for parts of a changed preset, which has only its final scores."""
    variant, part = record["settings"]["variant"], figure["part"]
    final = part in ("fusion", "document score")
    if not record["settings"]["stages"]:
        return f"**{part}**" if final else str(part)
    return (f"{part} {variant}" if variant.startswith("without") else f"{part}, {variant}") if final else None


def published_ablation(level: str) -> Frame:
    """The paper's own ablation."""
    return published_frame({part: pairs for (at, part), pairs in published.ABLATION.items() if at == level})


def by_set(frame: Frame, sets: Sequence[str]) -> list[str]:
    """A table with a row per label, a column per set and the average; a note, where rows have one, at the end."""
    frame = frame.assign(note=frame["note"].fillna("")) if "note" in frame else frame.assign(note="")
    table = pivot(frame, ["label", "note"], "set", sets, average=True)
    notes = table.pop("note")
    heads = {"label": "part"} | {name: name.capitalize() for name in sets}
    return markdown(table.rename(columns=heads).assign(**({"settings": notes} if any(notes) else {})))


def parts_markdown(records: Sequence[Record]) -> str:
    """The paper's ablation from the records of `difa bench table`: single views, fusion, and pooling rules, over seeds."""
    import pandas

    lines = ["# Parts", "", ENTRIES, ""]
    ours = [record for record in records if record["method"] in DIFA and not record["settings"]]
    named = [record | {"split": _split_of(record)} for name in methods_of(ours) for record in ours if record["method"] == name]
    for (method, form, split), group in grouped(named, "method", "form", "split").items():
        frame = figures_frame(group)
        frame["label"] = [_part_name(*names) for names in zip(frame.part, frame.pooling, strict=True)]
        beside = (method, form) == ("difa-paper", "original") and split != "others"
        models = f", {seeds_of(group, 'model_seed')}" if split.startswith("models") else ""
        lines += [f"## {label_of(method)}, {form} form, {seeds_of(group)}{models}", ""]
        for level in ("word", "document"):
            shown = frame[frame.level == level]
            shown = shown.sort_values("label", key=lambda names: names.str.startswith("**"), kind="stable")
            shown = pandas.concat([shown, published_ablation(level)]) if beside else shown
            lines += [f"**{level.capitalize()}s**", "", *by_set(shown, sets_of(group)), ""]
    return "\n".join(lines)


def _split_of(record: Record) -> str:
    """The published split, the others together, or several models on one split."""
    if record.get("model_seed") is not None:
        return f"models {record['seed']}"
    return "published" if record["seed"] == PUBLISHED_SEED else "others"


def _part_name(part: str, pooling: str) -> str:
    name = f"{part} view alone" if part else _PARTS.get(pooling, pooling)
    return f"**{name}**" if name in ("fusion", "document score") else name


def layers_markdown(records: Sequence[Record]) -> str:
    """Word figures on validation data by layer, and the layer with the highest average AUROC."""
    frame = figures_frame([r | {"figures": [f | {"label": r["settings"]["layer"]} for f in r["figures"]]} for r in records])
    frame = frame[(frame.level == "word") & (frame.part == "")]
    lines = ["# Layers", "", f"Words of pseudo anomalies in held-out normal documents. {ENTRIES}", ""]
    lines += by_set(frame.sort_values("label", kind="stable"), sets_of(records))
    return "\n".join([*lines, "", f"Chosen: layer {best_layer(records)}.", ""]).replace("| part |", "| layer |")


def best_layer(records: Sequence[Record]) -> int:
    """The layer with the highest word AUROC on validation data, averaged over sets; the lower one of equals."""
    frame = figures_frame([r | {"figures": [f | {"layer": r["settings"]["layer"]} for f in r["figures"]]} for r in records])
    frame = frame[(frame.level == "word") & (frame.part == "")]
    means = frame.groupby(["layer", "set"])["auroc"].mean().groupby("layer").mean()
    return int(means.idxmax())


def efficiency_markdown(records: Sequence[Record]) -> str:
    """Times, memory and accuracy, a table per set."""
    about = (
        "Each method in a process of its own. Times include encoding where the method needs vectors, and leave out loading; "
        "memory is the peak of the process, libraries included."
    )
    parts = ["# Efficiency", "", about, ""]
    for (name, form), mine in grouped(records, "set", "form").items():
        words = f"{mine[0]['training_words']} words to fit on, {mine[0]['test_words']} to score, {mine[0]['cores']} cores"
        rows = [_cost_row(method, cost_of(own)) for (method,), own in grouped(mine, "method").items()]
        parts += [f"## {name.capitalize()}, {form} form: {words}", "", *markdown(rows), ""]
    return "\n".join(parts)


def _cost_row(method: str, cost: Mapping[str, float]) -> dict[str, str]:
    needs_vectors = bool(cost["encode_seconds"]) and (method not in METHODS or METHODS[method].needs_vectors)
    return {
        "method": label_of(method),
        "word AUROC": short(cost["word"]),
        "document AUROC": short(cost["document"]),
        "fit, s": f"{cost['fit_seconds']:.1f}",
        "fit, in encodings of its words": f"{cost['fit_seconds'] / cost['encode_seconds']:.1f}" if needs_vectors else "",
        "score, s": f"{cost['score_seconds']:.2f}",
        "words scored per s": f"{cost['test_words'] / max(cost['score_seconds'], 1e-9):,.0f}",
        "peak memory, MiB": f"{cost['peak_mib']:.0f}",
    }


def cost_of(records: Sequence[Record]) -> dict[str, float]:
    """Means over seeds of what a method costs on a set, and of what it gives for it."""
    keys = ("encode_seconds", "fit_seconds", "score_seconds", "peak_mib", "test_words")
    costs = {key: sum(record[key] for record in records) / len(records) for key in keys}
    for level, rule in (("word", None), ("document", own_rule(records[0]["method"]))):
        costs[level] = sum((pick(record, level, rule) or {})["auroc"] for record in records) / len(records)
    return costs


def contamination_markdown(records: Sequence[Record]) -> str:
    """Document figures by share, a table per set and way."""
    parts = ["# Contamination", "", f"Document {ENTRIES}", ""]
    for (name, form, kind), mine in grouped(records, "set", "form", "kind").items():
        marked = [r | {"figures": [f | {"column": r["settings"]["share"]} for f in r["figures"]]} for r in mine]
        parts += [f"## {name.capitalize()}, {form} form: {SPOILT[kind]}", ""]
        parts += [*_by_column(marked, lambda share: f"{share:.0%}"), ""]
    return "\n".join(parts)


def sparsity_markdown(records: Sequence[Record]) -> str:
    """Document figures by the number of anomalous words, a table per set."""
    parts = ["# Sparsity", "", f"Document {ENTRIES}", ""]
    for (name, form), mine in grouped(records, "set", "form").items():
        marked = [r | {"figures": [f | {"column": int(f["part"])} for f in r["figures"]]} for r in mine]
        parts += [f"## {name.capitalize()}, {form} form: so many anomalous words per anomalous document", ""]
        parts += [*_by_column(marked, lambda count: f"{count} word{'s' * (count > 1)}"), ""]
    return "\n".join(parts)


def _by_column(records: Sequence[Record], head_of: Callable[[Any], str]) -> list[str]:
    """A table of methods by the values of `column`."""
    frame = figures_frame(records)
    table = pivot(frame, ["method"], "column", sorted(unique(frame.column)), values=METRICS)
    table["method"] = table["method"].map(label_of)
    return markdown(table.rename(columns={name: head_of(name) for name in table if name != "method"}))
