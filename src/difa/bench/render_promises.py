"""Records of `difa bench promises` -> Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from difa.bench.methods import label_of
from difa.bench.render import sets_of, short, unique
from difa.bench.store import Record

_RATES = (0.01, 0.05, 0.1)
_UNLIKE = {
    "seen": "the documents that the model was fitted on",
    "longer": "five documents in one",
    "other": "normal documents of another set",
}


def promises_markdown(records: Sequence[Record]) -> str:
    """All tables, for each preset that was measured."""
    parts = ["# Promises", ""]
    names = unique(record["method"] for record in records)
    for method in names:
        mine = [record for record in records if record["method"] == method]
        whole = _part(mine, "whole")
        if whole:
            parts += [f"## {label_of(method)}, {_resamples(whole)}", ""]
            parts += [*_rates(whole, "document"), "", *_rates(whole, "word"), ""]
            parts += [*_discoveries(whole), "", *_small(_part(mine, "small"), whole), ""]
            parts += [*_broken(whole, _part(mine, "spoilt")), "", *_monitor(whole), ""]
    for method in names:
        fed = _part([record for record in records if record["method"] == method], "feed")
        if fed:
            parts += [f"## {label_of(method)} with a feed, {_resamples(fed)}", ""]
            parts += [*_fed(fed, "document"), "", *_fed(fed, "word"), ""]
    return "\n".join(parts)


def _resamples(records: Sequence[Record]) -> str:
    seeds = len({record["seed"] for record in records})
    return f"{seeds} resample{'s' if seeds > 1 else ''} of each set"


def _part(records: Sequence[Record], part: str) -> list[Record]:
    return [record for record in records if record["settings"]["part"] == part]


def _rates(records: Sequence[Record], level: str) -> list[str]:
    """Share of held-out normal documents or words that is flagged, by set."""
    last = "within the 95 % bound" if level == "document" else "error, documents as units / words as units"
    lines = [f"**Normal {level}s that are flagged**, mean of all resamples ± 2 standard errors (lowest–highest)", ""]
    lines += [f"| set | at 1 % | at 5 % | at 10 % | {last} |", "|---" * 5 + "|"]
    for name in [*sets_of(records), "all"]:
        mine = [record for record in records if name in (record["set"], "all")]
        cells = [_spread([_share(record["rates"], level, rate) for record in mine]) for rate in _RATES]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {_within(mine) if level == 'document' else _errors(mine)} |")
    return lines


def _fed(records: Sequence[Record], level: str) -> list[str]:
    """The same for documents of the feed that the model learned from, by set and by the share of anomalous ones in the feed."""
    lines = [f"**Normal {level}s of the feed that are flagged**, mean of all resamples ± 2 standard errors (lowest–highest)", ""]
    heads = ["set", "anomalous in the feed", "at 1 %", "at 5 %", "at 10 %", *["within the 95 % bound"] * (level == "document")]
    lines += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name in [*sets_of(records), "all"]:
        for share in sorted(unique(record["settings"]["share"] for record in records)):
            mine = [record for record in records if name in (record["set"], "all") and record["settings"]["share"] == share]
            cells = [name, _drawn(mine), *(_spread([_share(record["rates"], level, rate) for record in mine]) for rate in _RATES)]
            lines.append("| " + " | ".join([*cells, *[_within(mine)] * (level == "document")]) + " |")
    return lines


def _drawn(records: Sequence[Record]) -> str:
    """The share of anomalous documents in feeds: some sets have fewer than were asked for."""
    drawn = [100 * record["drawn"] for record in records]
    return f"{min(drawn):.0f} %" if max(drawn) - min(drawn) < 0.5 else f"{min(drawn):.0f}–{max(drawn):.0f} %"


def _figures(record: Record, level: str) -> list[Record]:
    return [figure for figure in record["rates"] if figure["level"] == level]


def _within(records: Sequence[Record]) -> str:
    within = [figure["within"] for record in records for figure in _figures(record, "document")]
    return f"{np.mean(within):.0%}".replace("%", " %")


def _errors(records: Sequence[Record]) -> str:
    """Standard error of the share at 5 % in one resample, with documents as units and with words as units."""
    figures = [figure for record in records for figure in _figures(record, "word") if figure["rate"] == 0.05]
    plain = [np.sqrt(0.05 * 0.95 / max(1, figure["count"])) for figure in figures]
    return f"{short(float(np.mean([figure['error'] for figure in figures])))} / {short(float(np.mean(plain)))}"


def _share(figures: Sequence[Record], level: str, rate: float) -> float:
    found = next(figure for figure in figures if figure["level"] == level and figure["rate"] == rate)
    return float(found["flagged"] / max(1, found["count"]))


def _mean(values: Sequence[float]) -> str:
    mean = short(float(np.mean(values)))
    return mean if len(values) < 2 else f"{mean} ± {short(2 * float(np.std(values, ddof=1)) / np.sqrt(len(values)))}"


def _spread(values: Sequence[float]) -> str:
    return _mean(values) if len(values) < 2 else f"{_mean(values)} ({short(min(values))}–{short(max(values))})"


def _discoveries(records: Sequence[Record]) -> list[str]:
    """False discoveries in mixtures."""
    lines = ["**False discoveries**: share of the flagged that is normal, at a false-discovery rate of 10 %, and share found", ""]
    lines += ["| set | anomalous | documents: false / found | words: false / found |", "|---" * 4 + "|"]
    for name in [*sets_of(records), "all"]:
        mine = [record for record in records if name in (record["set"], "all")]
        for share in unique(mixture["share"] for record in mine for mixture in record["mixtures"]):
            mixtures = [mixture for record in mine for mixture in record["mixtures"] if mixture["share"] == share]
            cells = [
                " / ".join(_mean([mixture[level][key] for mixture in mixtures]) for key in ("false", "found"))
                for level in ("document", "word")
            ]
            lines.append(f"| {name} | {share:.0%} | ".replace("%", " %") + " | ".join(cells) + " |")
    return lines


def _small(records: Sequence[Record], whole: Sequence[Record]) -> list[str]:
    """Rates of fits on few documents."""
    lines = ["**Few documents to fit on**: normal ones that are flagged, over all sets", ""]
    lines += ["| documents | at 1 % | at 5 % | at 10 % | words at 5 % | within the 95 % bound |", "|---" * 6 + "|"]
    counts = sorted(unique(record["settings"]["documents"] for record in records))
    groups = [(str(count), [r for r in records if r["settings"]["documents"] == count]) for count in counts]
    for label, mine in [*groups, ("half of the set", list(whole))]:
        cells = [_spread([_share(record["rates"], "document", rate) for record in mine]) for rate in _RATES]
        cells.append(_spread([_share(record["rates"], "word", 0.05) for record in mine]))
        lines.append(f"| {label} | " + " | ".join(cells) + f" | {_within(mine)} |")
    return lines


def _broken(whole: Sequence[Record], spoilt: Sequence[Record]) -> list[str]:
    """What becomes of a rate of 5 % where the promise is none."""
    lines = ["**Text that the promise does not cover**: flagged at 5 %, over all sets", ""]
    lines += ["| text | documents | words |", "|---" * 3 + "|", _broken_row("normal, held out", whole, lambda r: r["rates"])]
    for kind, label in _UNLIKE.items():
        mine = [record for record in whole if kind in record["unlike"]]
        if mine:
            lines.append(_broken_row(label, mine, lambda record, kind=kind: record["unlike"][kind]))  # type: ignore[misc]
    if spoilt:
        lines.append(_broken_row("normal, fitted on 10 % anomalous documents", spoilt, lambda record: record["rates"]))
        lines.append(_broken_row("anomalous, fitted on normal documents", whole, lambda record: record["found"]))
        lines.append(_broken_row("anomalous, fitted on 10 % anomalous documents", spoilt, lambda record: record["found"]))
    return lines


def _broken_row(label: str, records: Sequence[Record], figures: Callable[[Record], Sequence[Record]]) -> str:
    cells = [_spread([_share(figures(record), level, 0.05) for record in records]) for level in ("document", "word")]
    return f"| {label} | " + " | ".join(cells) + " |"


def _monitor(records: Sequence[Record]) -> list[str]:
    """False alarms of the monitor, and how soon it finds a change."""
    monitors = [record["monitor"] for record in records]
    alarms, batches = sum(monitor["alarm"] for monitor in monitors), sum(monitor["batches"] for monitor in monitors)
    lines = [
        f"**Monitor**: {alarms} false alarms in {len(monitors)} feeds of held-out normal documents, {batches} batches of 50; "
        "promised: at most 5 % of feeds.",
        "",
        "| change after that | found | documents until then, median |",
        "|---" * 3 + "|",
    ]
    for key, label in (("until_anomalies", "one document in five is anomalous"), ("until_other", "another set")):
        found = [monitor[key] for monitor in monitors if key in monitor]
        if found:
            soon = _median(count for count in found if count is not None)
            lines.append(f"| {label} | {sum(count is not None for count in found)} of {len(found)} | {soon} |")
    return lines


def _median(counts: Iterable[int]) -> str:
    chosen = list(counts)
    return f"{np.median(chosen):.0f}" if chosen else ""
