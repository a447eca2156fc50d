"""Records of ablation, efficiency, contamination and sparsity -> Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from difa.baselines import METHODS
from difa.bench import published
from difa.bench.methods import label_of
from difa.bench.render import PUBLISHED_SEED, Row, entry, markdown, pick, sets_of, short, unique
from difa.bench.store import Record


def ablation_markdown(records: Sequence[Record]) -> str:
    """Parts of one fit, then other settings, for each preset, judge and form."""
    parts = ["# Ablation", "", "AUROC / average precision / false-alarm rate at 95 % recall.", ""]
    for key in unique((record["method"], record["settings"]["judge"], record["form"]) for record in records):
        mine = [record for record in records if (record["method"], record["settings"]["judge"], record["form"]) == key]
        kinds = unique(figure["kind"] for record in mine for figure in record["figures"])
        seeds = sorted({record["seed"] for record in mine})
        for kind in kinds:
            parts += [f"## {_title(key[0], key[1], key[2], kind, seeds)}", ""]
            for level in ("word", "document"):
                rows = _ablation_rows(mine, level, kind)
                if key[0] == "difa-paper" and key[1:] == ("labels", "original") and seeds == [PUBLISHED_SEED]:
                    rows += _published_rows(level)
                sets = sets_of(mine)
                parts += [f"**{level.capitalize()}s**", "", *markdown(rows, sets), ""]
    return "\n".join(parts)


def _title(method: str, judge: str, form: str, kind: str, seeds: Sequence[int]) -> str:
    judged = "judged by labels" if judge == "labels" else f"judged by {f'{kind} ' if kind else 'all '}pseudo anomalies"
    return f"{label_of(method)}, {form} form, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}: {judged}"


def _ablation_rows(records: Sequence[Record], level: str, kind: str) -> list[Row]:
    whole = [record for record in records if not record["settings"]["stages"]]
    changed = [record for record in records if record["settings"]["stages"]]
    final = "fusion" if level == "word" else "document score"
    names = unique(f["part"] for record in whole for f in record["figures"] if f["level"] == level and f["part"] != final)
    rows = [Row(name, _gather(whole, level, name, kind)) for name in names]
    rows.append(Row(f"**{final}**", _gather(whole, level, final, kind)))
    for variant in unique(record["settings"]["variant"] for record in changed):
        mine = [record for record in changed if record["settings"]["variant"] == variant]
        rows.append(
            Row(
                f"{final} {variant}" if variant.startswith("without") else f"{final}, {variant}",
                _gather(mine, level, final, kind),
            )
        )
    return rows


def _gather(records: Sequence[Record], level: str, part: str, kind: str) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        for figure in record["figures"]:
            if (figure["level"], figure["part"], figure["kind"]) == (level, part, kind):
                found.setdefault(record["set"], []).append(figure)
    return found


def _published_rows(level: str) -> list[Row]:
    rows = []
    for (at, part), pairs in published.ABLATION.items():
        if at == level:
            figures = {name: [{"auroc": a, "ap": p}] for name, (a, p) in zip(published.SETS, pairs, strict=True)}
            rows.append(Row(f"*{part}*", figures, published.SOURCE))
    return rows


def efficiency_markdown(records: Sequence[Record]) -> str:
    """Times, memory and accuracy, a table per set."""
    parts = [
        "# Efficiency",
        "",
        "Each method in a process of its own. Times include encoding where the method needs vectors, and leave out loading; "
        "memory is the peak of the process, libraries included.",
        "",
    ]
    for name, form in unique((record["set"], record["form"]) for record in records):
        mine = [record for record in records if (record["set"], record["form"]) == (name, form)]
        first = mine[0]
        parts += [
            f"## {name.capitalize()}, {form} form: {first['training_words']} words to fit on, {first['test_words']} to score, "
            f"{first['cores']} cores",
            "",
            "| method | word AUROC | document AUROC | fit, s | fit, in encodings of its words | score, s | words scored per s "
            "| peak memory, MiB |",
            "|---" * 8 + "|",
        ]
        for method in unique(record["method"] for record in mine):
            cost = cost_of([record for record in mine if record["method"] == method])
            parts.append(
                f"| {label_of(method)} | {short(cost['word'])} | {short(cost['document'])} | {cost['fit_seconds']:.1f} "
                f"| {_encodings(method, cost)} "
                f"| {cost['score_seconds']:.2f} | {cost['words_per_second']:,.0f} | {cost['peak_mib']:.0f} |"
            )
        parts.append("")
    return "\n".join(parts)


def _encodings(method: str, cost: Mapping[str, float]) -> str:
    """The time to fit as a multiple of the time to encode the training words; nothing where there are no vectors."""
    if not cost["encode_seconds"] or (method in METHODS and not METHODS[method].needs_vectors):
        return ""
    return f"{cost['fit_seconds'] / cost['encode_seconds']:.1f}"


def cost_of(records: Sequence[Record]) -> dict[str, float]:
    """Means over seeds of what a method costs on a set, and of what it gives for it."""
    keys = ("encode_seconds", "fit_seconds", "score_seconds", "peak_mib", "test_words")
    costs = {key: float(np.mean([record[key] for record in records])) for key in keys}
    rule = "learned" if records[0]["method"].startswith("difa-") else "max"
    for level, pooling in (("word", None), ("document", rule)):
        costs[level] = float(np.mean([(pick(record, level, pooling) or {})["auroc"] for record in records]))
    costs["words_per_second"] = costs["test_words"] / max(costs["score_seconds"], 1e-9)
    return costs


def contamination_markdown(records: Sequence[Record]) -> str:
    """Document figures by share, a table per set and way."""
    titles = {
        "noise": "a share of the training word vectors has Gaussian noise",
        "anomalies": "a share of the training documents are real anomalies",
    }
    parts = ["# Contamination", "", "Document AUROC / average precision / false-alarm rate at 95 % recall.", ""]
    for name, form, kind in unique((r["set"], r["form"], r["settings"]["kind"]) for r in records):
        mine = [r for r in records if (r["set"], r["form"], r["settings"]["kind"]) == (name, form, kind)]
        columns = sorted({record["settings"]["share"] for record in mine})
        parts += [f"## {name.capitalize()}, {form} form: {titles[kind]}", ""]
        parts += grid(mine, columns, lambda record: record["settings"]["share"], [f"{column:.0%}" for column in columns])
        parts.append("")
    return "\n".join(parts)


def sparsity_markdown(records: Sequence[Record]) -> str:
    """Document figures by the number of anomalous words, a table per set."""
    parts = ["# Sparsity", "", "Document AUROC / average precision / false-alarm rate at 95 % recall.", ""]
    for name, form in unique((record["set"], record["form"]) for record in records):
        mine = [record for record in records if (record["set"], record["form"]) == (name, form)]
        flat = [record | {"figures": [figure]} for record in mine for figure in record["figures"]]
        columns = sorted({int(record["figures"][0]["part"]) for record in flat})
        heads = [f"{column} word{'s' if column > 1 else ''}" for column in columns]
        parts += [f"## {name.capitalize()}, {form} form: so many anomalous words per anomalous document", ""]
        parts += grid(flat, columns, lambda record: int(record["figures"][0]["part"]), heads)
        parts.append("")
    return "\n".join(parts)


def grid(records: Sequence[Record], columns: Sequence[Any], key: Callable[[Record], Any], heads: Sequence[str]) -> list[str]:
    """A table of methods by columns, each entry the first figure of the records there, over seeds."""
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for method in unique(record["method"] for record in records):
        cells = [[r["figures"][0] for r in records if r["method"] == method and key(r) == column] for column in columns]
        lines.append(f"| {label_of(method)} | " + " | ".join(map(entry, cells)) + " |")
    return lines
