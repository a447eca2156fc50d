"""Records of `difa bench feed` and `difa bench promises` -> Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from difa.bench.methods import label_of
from difa.bench.store import Record
from difa.bench.tables import markdown, methods_of, pick, seeds_of, sets_of, short, unique

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
    for name in methods_of(records):
        mine = [record for record in records if record["method"] == name]
        sets = len(set_names(mine))
        parts += [f"## {label_of(name)}, {sets} set{'s' * (sets != 1)}, {seeds_of(mine)}", ""]
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
    rows = []
    for value in sorted(unique(record["settings"].get(key) for record in mine)) if key else [None]:
        group = [record for record in mine if not key or record["settings"][key] == value]
        first = {head: name_of(value)} if head else {}
        for variant, label in VARIANTS[part].items():
            rows.append(first | {"sets": len(set_names(group)), "model": label} | _cells(group, variant))
    return markdown(rows)


def _cells(records: Sequence[Record], variant: str) -> dict[str, str]:
    cells = {}
    for level in ("word", "document"):
        pair = [mean_of(records, figure(level, metric, variant)) for metric in ("auroc", "ap")]
        cells[f"{level}s"] = " / ".join(map(_short, pair)) if None not in pair else ""
    heads = {"anomalous": "anomalous documents", "normal": "normal documents", "normal_words": "their words"}
    return cells | {f"{head} flagged": _short(mean_of(records, flagged(kind, variant))) for kind, head in heads.items()}


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


_RATES = (0.01, 0.05, 0.1)
_ERROR = "error, documents as units / words as units"
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
        whole = part_of(mine, "whole")
        if whole:
            parts += [f"## {label_of(method)}, {_resamples(whole)}", ""]
            parts += [*_rates(whole, "document"), "", *_by_length(whole), "", *_rates(whole, "word"), ""]
            parts += [*_copied(whole, part_of(mine, "copies"), part_of(mine, "templates")), ""]
            parts += [*_discoveries(whole), "", *_small(part_of(mine, "small"), whole), ""]
            parts += [*_broken(whole, part_of(mine, "spoilt")), "", *_monitor(whole), ""]
    for method in names:
        fed = part_of([record for record in records if record["method"] == method], "feed")
        if fed:
            parts += [f"## {label_of(method)} with a feed, {_resamples(fed)}", ""]
            parts += [*_fed(fed, "document"), "", *_fed(fed, "word"), ""]
    return "\n".join(parts)


def _resamples(records: Sequence[Record]) -> str:
    seeds = len({record["seed"] for record in records})
    return f"{seeds} resample{'s' if seeds > 1 else ''} of each set"


def _rates(records: Sequence[Record], level: str) -> list[str]:
    """Share of held-out normal documents or words that is flagged, by set."""
    title = f"**Normal {level}s that are flagged**, mean of all resamples ± 2 standard errors (lowest–highest)"
    rows = []
    for name in [*sets_of(records), "all"]:
        mine = [record for record in records if name in (record["set"], "all")]
        last = {"within the 95 % bound": _within(mine)} if level == "document" else {_ERROR: _errors(mine)}
        rows.append({"set": name} | _at_rates(mine, level) | last)
    return [title, "", *markdown(rows)]


_QUARTERS = ("shortest quarter", "second", "third", "longest quarter")


def _by_length(records: Sequence[Record]) -> list[str]:
    """The same by quarter of length, at 5 %."""
    rows = [
        {"set": name} | _quarters([record for record in records if name in (record["set"], "all")])
        for name in [*sets_of(records), "all"]
    ]
    return [
        "**Normal documents that are flagged at 5 %, by length**, mean of all resamples ± 2 standard errors",
        "",
        *markdown(rows),
    ]


def _quarters(records: Sequence[Record]) -> dict[str, str]:
    shares = [[each["flagged"] / each["count"] if each["count"] else None for each in record["quarters"]] for record in records]
    return {
        name: _mean([share for row in shares if (share := row[at]) is not None] or [0.0]) for at, name in enumerate(_QUARTERS)
    }


def _copied(whole: Sequence[Record], copies: Sequence[Record], templates: Sequence[Record]) -> list[str]:
    """Fits on documents that stand there several times."""
    kinds = {
        "each document once": whole,
        "three near-copies of each": copies,
        "each a template, filled in four times; new ones are other templates": templates,
    }
    rows = [
        {"fitted on": label}
        | _at_rates(mine, "document")
        | {"words at 5 %": _spread([_share(record["rates"], "word", 0.05) for record in mine])}
        | {"within the 95 % bound": _within(mine)}
        | _quarters(mine)
        for label, mine in kinds.items()
        if mine
    ]
    return [
        "**Copies and templates among the documents to fit on**: normal ones that are flagged, over all sets",
        "",
        *markdown(rows),
    ]


def _at_rates(records: Sequence[Record], level: str) -> dict[str, str]:
    return {f"at {rate:.0%}".replace("%", " %"): _spread([_share(r["rates"], level, rate) for r in records]) for rate in _RATES}


def _fed(records: Sequence[Record], level: str) -> list[str]:
    """The same for documents of the feed that the model learned from, by set and by the share of anomalous ones in the feed."""
    title = f"**Normal {level}s of the feed that are flagged**, mean of all resamples ± 2 standard errors (lowest–highest)"
    rows = []
    for name in [*sets_of(records), "all"]:
        for share in sorted(unique(record["settings"]["share"] for record in records)):
            mine = [record for record in records if name in (record["set"], "all") and record["settings"]["share"] == share]
            last = {"within the 95 % bound": _within(mine)} if level == "document" else {}
            rows.append({"set": name, "anomalous in the feed": _drawn(mine)} | _at_rates(mine, level) | last)
    return [title, "", *markdown(rows)]


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
    title = "**False discoveries**: share of the flagged that is normal, at a false-discovery rate of 10 %, and share found"
    rows = []
    for name in [*sets_of(records), "all"]:
        mine = [mixture for record in records if name in (record["set"], "all") for mixture in record["mixtures"]]
        for share in unique(mixture["share"] for mixture in mine):
            group = [mixture for mixture in mine if mixture["share"] == share]
            cells = {
                f"{level}s: false / found": " / ".join(_mean([each[level][key] for each in group]) for key in ("false", "found"))
                for level in ("document", "word")
            }
            rows.append({"set": name, "anomalous": f"{100 * share:.0f} %"} | cells)
    return [title, "", *markdown(rows)]


def _small(records: Sequence[Record], whole: Sequence[Record]) -> list[str]:
    """Rates of fits on few documents."""
    counts = sorted(unique(record["settings"]["documents"] for record in records))
    groups = {str(count): [r for r in records if r["settings"]["documents"] == count] for count in counts}
    rows = [
        {"documents": label}
        | _at_rates(mine, "document")
        | {"words at 5 %": _spread([_share(record["rates"], "word", 0.05) for record in mine])}
        | {"within the 95 % bound": _within(mine)}
        for label, mine in [*groups.items(), ("half of the set", list(whole))]
    ]
    return ["**Few documents to fit on**: normal ones that are flagged, over all sets", "", *markdown(rows)]


def _broken(whole: Sequence[Record], spoilt: Sequence[Record]) -> list[str]:
    """What becomes of a rate of 5 % where the promise is none."""
    kinds = {"normal, held out": [record["rates"] for record in whole]}
    kinds |= {label: [r["unlike"][kind] for r in whole if kind in r["unlike"]] for kind, label in _UNLIKE.items()}
    if spoilt:
        kinds["normal, fitted on 10 % anomalous documents"] = [record["rates"] for record in spoilt]
        kinds["anomalous, fitted on normal documents"] = [record["found"] for record in whole]
        kinds["anomalous, fitted on 10 % anomalous documents"] = [record["found"] for record in spoilt]
    rows = [
        {"text": label}
        | {f"{level}s": _spread([_share(each, level, 0.05) for each in figures]) for level in ("document", "word")}
        for label, figures in kinds.items()
        if figures
    ]
    return ["**Text that the promise does not cover**: flagged at 5 %, over all sets", "", *markdown(rows)]


def _monitor(records: Sequence[Record]) -> list[str]:
    """False alarms of the monitor, and how soon it finds a change."""
    monitors = [record["monitor"] for record in records]
    alarms, batches = sum(monitor["alarm"] for monitor in monitors), sum(monitor["batches"] for monitor in monitors)
    title = (
        f"**Monitor**: {alarms} false alarms in {len(monitors)} feeds of held-out normal documents, {batches} batches of 50; "
        "promised: at most 5 % of feeds."
    )
    rows = []
    for key, label in (("until_anomalies", "one document in five is anomalous"), ("until_other", "another set")):
        tried = [monitor[key] for monitor in monitors if key in monitor]
        found = [count for count in tried if count is not None]
        if tried:
            soon = f"{np.median(found):.0f}" if found else ""
            rows.append(
                {
                    "change after that": label,
                    "found": f"{len(found)} of {len(tried)}",
                    "documents until then, median": soon,
                }
            )
    return [title, "", *markdown(rows)]
