"""A results folder -> the tables and pictures of a Markdown page, a verdict on each claim of the paper among them.

The page holds pairs of marks, `<!-- bench:table:clean -->` and `<!-- /bench -->`; what stands between them is replaced, the
words around them stay. A mark such as `<!-- bench:last/table:clean -->` takes its records from the folder `last` of the results.
Each table is followed by when it was measured and by which commands. Pictures are copied beside the page.

Each claim is judged by a rule that stands beside it, on the paper's own preset, sets and split, from whatever records a results
folder holds: a verdict cannot be older than its figures. The same rule is then asked on other splits, on other models of the same
split and in the clean form, since one split of small sets proves little.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench import tables
from difa.bench.ablation import ABLATION, LAYERS, parts_markdown
from difa.bench.analyses import CONTAMINATION, EFFICIENCY, EXAMPLES, PAPER, PAPERS_OWN, SPARSITY
from difa.bench.data import SETS
from difa.bench.feed import FEED
from difa.bench.methods import DIFA, label_of, preset_of
from difa.bench.metrics import Record, Records
from difa.bench.plots import cost_of, points_of
from difa.bench.promises import PROMISES
from difa.bench.run import read_json, write_text
from difa.bench.speed import SPEED
from difa.bench.table import TABLE, alarms, final_figures, intervals, reasons, table_markdown, times
from difa.document import FloatArray
from difa.errors import InputError

OURS = "difa-paper"
_AVERAGE = "**average**"
PICTURES = {
    "table-original": "All methods, sets in their original form",
    "table-clean": "All methods, sets in their clean form",
    "efficiency": "Accuracy against time and memory",
    "contamination": "Document AUROC as the training data is spoilt",
    "sparsity": "Document AUROC by the number of anomalous words",
    "feed": "What a feed and verdicts teach, averages over sets",
    "examples": "Scored documents with coloured words",
}
"""Pictures that commands draw, and what they show."""
_MARK = re.compile(r"(<!-- bench:(?:([\w-]+)/)?([a-z]+)(?::([a-z]+))? -->\n).*?(<!-- /bench -->)", re.DOTALL)
STUDIES = (TABLE, ABLATION, EFFICIENCY, CONTAMINATION, SPARSITY, FEED, LAYERS, SPEED, PROMISES, EXAMPLES)
_WRITERS: dict[str, Callable[[Records], str]] = {study.name: study.markdown for study in STUDIES}
_FROM_TABLE: dict[str, Callable[[Records, str], str]] = {
    "table": lambda records, form: table_markdown(records, details=False),
    "intervals": lambda records, form: intervals(tables.by_split(records)[0], form),
    "alarms": lambda records, form: alarms(records),
    "reasons": lambda records, form: reasons(records),
    "times": lambda records, form: times(records),
    "parts": lambda records, form: parts_markdown(records),
    "presets": lambda records, form: presets(records),
    "methods": lambda records, form: averages(tables.by_split(records)[1]),
    "peers": lambda records, form: averages(tables.by_split(records)[0]),
    "published": lambda records, form: beside_published(records),
}
"""What a page may show at places of its own, all from the records of `difa bench table`."""


def write_report(results: Path, page: Path) -> list[str]:
    """Fill the marks of a Markdown page from a folder of `difa bench`; returns what was filled in."""
    if not any(path.stem in _WRITERS for path in (*results.glob("*.json"), *results.glob("*/*.json"))):
        raise InputError(f"{results}: expected results of difa bench, found none: run one of its commands into this folder first")
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{page}: cannot be read: {error.strerror}") from None
    folders = {results / (match[2] or "") for match in _MARK.finditer(text)}
    records = {folder: {study: read_json(folder / f"{study}.json") or [] for study in _WRITERS} for folder in folders}
    filled: list[str] = []

    def fill(match: re.Match[str]) -> str:
        head, below, name, form, tail = match.groups()
        folder = results / (below or "")
        parts = [_picture(folder, results, name, form, page), section_of(name, form, records[folder])]
        body = "\n\n".join(part.strip() for part in parts if part)
        if not body:
            return match.group()
        filled.append(match.group(1).split()[1].removeprefix("bench:"))
        return f"{head}\n{body}\n\n{tail}"

    write_text(page, _MARK.sub(fill, text))
    return filled


def section_of(name: str, form: str | None, records: dict[str, list[Record]]) -> str | None:
    """What belongs between a pair of marks, or None where the study was not run."""
    if name == "claims":
        return claims_markdown(records) if records["table"] else None
    mine = [record for record in records["table" if name in _FROM_TABLE else name] if form in (None, record["form"])]
    if not mine:
        return None
    body = _FROM_TABLE[name](mine, form or "all") if name in _FROM_TABLE else _WRITERS[name](mine)
    if name in ("alarms", "parts", "presets", "published"):
        mine = [record for record in mine if record["method"] in DIFA]
    body = re.sub(r"^## ", "### ", body, flags=re.MULTILINE).strip()  # the page has its own headings
    return f"{body}\n\n{_measured(mine)}" if body else None


def _measured(records: Records) -> str:
    """When the records were made, by which commands, and how long that took."""
    known = [record for record in records if record.get("measured")]
    if not known:
        return ""
    days = sorted({record["measured"] for record in known})
    minutes = sum(record["took"] for record in known) / 60
    commands = tables.unique(f"`{record['asked_by']}`" for record in known if record["asked_by"])
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"*Measured {when} in {minutes:.0f} minutes of computing{': ' if commands else ''}{', '.join(commands)}.*"


def _picture(folder: Path, results: Path, study: str, form: str | None, page: Path) -> str | None:
    """The line that shows a study's picture, if it was drawn, and copies of it beside the page."""
    name = "-".join(filter(None, (study, form)))
    if name not in PICTURES or not (folder / f"{name}.png").is_file():
        return None
    shown = "-".join((results.name, *folder.relative_to(results).parts, name))
    images = page.parent / "images"
    images.mkdir(exist_ok=True)
    for suffix in (".png", ".svg"):
        shutil.copyfile(folder / f"{name}{suffix}", images / f"{shown}{suffix}")
    return f"![{PICTURES[name]}](images/{shown}.png)"


def _means(frame: tables.Frame, row: str, column: str, columns: Sequence[str]) -> tables.Frame:
    """AUROC / average precision as texts: averages over sets of means over seeds, which a last row then averages over rows."""
    import pandas

    means = frame.groupby(tables.unique([row, column, "set"]), sort=False)[["auroc", "ap"]].mean().reset_index()
    means = pandas.concat([means, means.assign(**{row: _AVERAGE})])
    return tables.pivot(means, [row], column, columns, values=["auroc", "ap"], text=lambda pairs: _text(pairs.mean())).set_index(
        row
    )


def presets(records: Records) -> str:
    """DiFA's presets by set, beside the published split where there are other ones: means over seeds, with the average."""
    ours = [record for record in records if record["method"] in DIFA]
    _, others = tables.by_split(ours)
    frame = final_figures(others or ours)
    frame = frame[frame.method != OURS]
    if not len(frame):
        return ""
    presets = {
        name: f"{preset_of(name)}{', feed' * name.endswith('-feed')}" for name in tables.methods_of(records) if name in DIFA
    }
    frame = frame.assign(head=frame.method.map(presets) + ": " + frame.level + "s")
    heads = [head for name in presets.values() for level in tables.LEVELS if (head := f"{name}: {level}s") in set(frame["head"])]
    table = _means(frame, "set", "head", heads).reindex([*tables.sets_of(others or records), _AVERAGE]).fillna("")
    table.loc[_AVERAGE] = "**" + table.loc[_AVERAGE] + "**"
    lines = tables.markdown(table.rename(index=lambda name: name.capitalize()).reset_index())
    return "\n".join([f"AUROC / average precision, {tables.seeds_of(others or records)}.", "", *lines])


def averages(records: Records) -> str:
    """Methods by the average over the public sets; only methods that have every set and every seed of the table."""
    frame = final_figures([record for record in records if record["set"] in SETS and record["figures"]])
    if not len(frame):
        return ""
    runs = frame.groupby("method").apply(lambda mine: set(zip(mine["set"], mine["seed"], strict=True)), include_groups=False)
    whole = [name for name in tables.methods_of(records) if runs.get(name) == max(runs, key=len)]
    table = _means(frame, "method", "level", tables.LEVELS).loc[whole].rename(index=label_of, columns=lambda level: f"{level}s")
    sets = ", ".join(name.capitalize() for name in tables.sets_of(records) if name in SETS)
    said = f"AUROC / average precision, average of {sets}, {tables.seeds_of(records)} for every method."
    return "\n".join([said, "", *tables.markdown(table.reset_index())])


def beside_published(records: Records) -> str:
    """The preset `paper` and the default beside the published figures, on the published split."""
    mine = [r for r in tables.by_split(records)[0] if r["form"] == "original" and r["set"] in SETS]
    frame, shown = final_figures(mine), {OURS: "preset `paper`", "difa-full": "default"}
    if not set(shown) <= set(frame.method):
        return ""
    frame = frame[frame.method.isin(list(shown))].assign(head=lambda each: each.level + "s, " + each.method.map(shown))
    table = _means(frame, "set", "head", list(frame["head"].unique())).reindex(SETS).fillna("")
    for level in tables.LEVELS:
        table[f"{level}s, *published*"] = [f"*{_text(pair)}*" for pair in tables.PUBLISHED[level][OURS]]
    heads = [f"{level}s, {said}" for level in tables.LEVELS for said in (*shown.values(), "*published*")]
    return "\n".join(tables.markdown(table[heads].rename(index=str.capitalize).reset_index()))


RIVALS = ("lof", "iforest", "ecod", "deepsvdd", "ae", "lunar", "tokencore")
"""The seven baselines of the paper."""
SHOWN_BESIDE = ("tokencore", "iforest")
"""The methods that the paper's robustness studies show beside its own."""
MOST_LOST = 0.05
"""Document AUROC that moderate contamination, 30 % of the words, may cost."""
HIGH = 0.9
"""Document AUROC that is called high in the study of sparsity."""

Verdict = tuple[bool, str]
"""Whether a claim holds, and the figures."""


class _NotMeasuredError(Exception):
    """Records that a verdict needs are missing."""


@dataclass(frozen=True)
class Claim:
    """What the paper says, by what rule it is judged, and from the records of which study."""

    said: str
    rule: str
    study: str
    judge: Callable[[Records], Verdict]
    """From the records of one split, one form and one model."""

    def verdict(self, records: Records) -> Verdict | None:
        """The verdict; None where some records are missing."""
        try:
            return self.judge(records)
        except _NotMeasuredError:
            return None


CLAIMS: list[Claim] = []
"""All claims, in the order of the paper."""


def claim(study: str, said: str, rule: str) -> Callable[[Callable[[Records], Verdict]], None]:
    """Make a claim of the function that judges it."""
    return lambda judge: CLAIMS.append(Claim(said, rule, study, judge))


def claims_markdown(records: Mapping[str, Records]) -> str:
    """A row per claim."""
    rows = []
    for each in CLAIMS:
        usual = [r for r in records.get(each.study, ()) if r["set"] in SETS and (not r["settings"] or each.study != "table")]
        groups = tables.grouped([{"model_seed": None} | record for record in usual], "form", "seed", "model_seed")
        verdicts = {key: verdict for key, group in groups.items() if (verdict := each.verdict(group))}
        first = next((key for form in ("original", "clean") if (key := (form, tables.PUBLISHED_SEED, None)) in verdicts), None)
        row = {"claim": each.said, "reproduced if": each.rule, "verdict": "not measured", "figures": ""}
        used = []
        if first:
            (holds, figures), used = verdicts.pop(first), groups[first]
            row["verdict"] = "**reproduced**" if holds else "**not reproduced**"
            row["figures"] = f"{figures} ({first[0]} form){_by_models(each, usual)}"
        row["holds elsewhere"] = _elsewhere(verdicts)
        row["measured by"] = "; ".join(tables.unique(f"`{r['asked_by']}`, {r['measured']}" for r in used if r.get("asked_by")))
        rows.append(row)
    return "\n".join(tables.markdown(rows))


def _by_models(judged: Claim, records: Records) -> str:
    """The same figures as means over the models of the published split."""
    varied = [
        r for r in records if (r["form"], r["seed"]) == ("original", tables.PUBLISHED_SEED) and r.get("model_seed") is not None
    ]
    means = []
    for models in tables.grouped([record for record in varied if record["method"] == OURS], "set").values():
        same = zip(*(record["figures"] for record in models), strict=True)
        figures = [each[0] | {key: sum(one[key] for one in each) / len(each) for key in ("auroc", "ap")} for each in same]
        means.append(models[0] | {"figures": figures})
    verdict = judged.verdict(means) if means else None
    return f"; by the mean of {len(tables.grouped(varied, 'model_seed'))} models {verdict[1]}" if verdict else ""


def _elsewhere(verdicts: Mapping[tuple[Any, ...], Verdict]) -> str:
    """On how many other splits and models of each form the claim holds."""
    held: dict[str, list[bool]] = {}
    for (form, _, model), (holds, _) in verdicts.items():
        held.setdefault(f"{form}, {'other models' if model is not None else 'other splits'}", []).append(holds)
    return "; ".join(f"{where}: {sum(each)} of {len(each)}" for where, each in held.items())


def _pairs(records: Records, method: str, level: str, rule: str | None, part: str = "") -> FloatArray:
    """AUROC and average precision of a method by set, in the order of the paper, (3, 2)."""
    found = {r["set"]: tables.pick(r, level, rule, part) for r in records if r["method"] == method}
    pairs = [(figure["auroc"], figure["ap"]) for name in SETS if (figure := found.get(name))]
    if len(pairs) < len(SETS):
        raise _NotMeasuredError
    return np.array(pairs)


def _views(records: Records) -> dict[str, FloatArray]:
    parts = {"fusion": "", "semantic": "semantic", "form": "form"}
    return {name: _pairs(records, OURS, "word", None, part) for name, part in parts.items()}


def _text(pair: Iterable[float]) -> str:
    return " / ".join(map(tables.short, pair))


def _wins(ours: FloatArray, others: Sequence[FloatArray]) -> int:
    """Columns, two for each set, in which nothing else is as good."""
    return int((ours > np.max(others, axis=0)).sum())


@claim("table", "Both views are needed", "neither view has the higher word AUROC on all three sets")
def _both_needed(records: Records) -> Verdict:
    _, semantic, form = _views(records).values()
    better = semantic[:, 0] >= form[:, 0]
    rows = zip(SETS, semantic, form, strict=True)
    figures = (f"{name.capitalize()} semantic {_text(one)}, form {_text(other)}" for name, one, other in rows)
    return bool(better.any() and not better.all()), "; ".join(figures)


@claim(
    "table",
    "Form is strongest on Grammar, semantics on Review, both count on Spam",
    "so by word AUROC; on Spam the fusion has the highest average precision",
)
def _strengths(records: Records) -> Verdict:
    (fusion, semantic, form), (spam, review, grammar) = _views(records).values(), range(len(SETS))
    said = {
        "Grammar: form": form[grammar, 0] > semantic[grammar, 0],
        "Review: semantic": semantic[review, 0] > form[review, 0],
        "Spam: both": fusion[spam, 1] > max(semantic[spam, 1], form[spam, 1]),
    }
    return all(said.values()), ", ".join(f"{what} {'yes' if held else 'no'}" for what, held in said.items())


@claim("table", "Fusion beats either view", "higher in AUROC and average precision, averaged over the sets")
def _fusion(records: Records) -> Verdict:
    return _first_is_ahead(_views(records))


@claim("table", "Learned aggregation beats every fixed pooling", "likewise for documents, against mean, maximum and top-k")
def _aggregation(records: Records) -> Verdict:
    rules = {"learned": "learned", "mean": "mean", "max": "maximum", "topk": "top-k"}
    return _first_is_ahead({said: _pairs(records, OURS, "document", rule) for rule, said in rules.items()})


def _first_is_ahead(pairs: Mapping[str, FloatArray]) -> Verdict:
    ours, *others = pairs.values()
    means = {name: each.mean(axis=0) for name, each in pairs.items()}
    text = ", ".join(f"{name} {_text(mean)}" for name, mean in means.items())
    ahead = _wins(ours.mean(axis=0), [each.mean(axis=0) for each in others]) == 2
    return ahead, f"averages: {text}; ahead in {_wins(ours, others)} of 6 columns"


@claim(
    "table",
    "Best on all sets and metrics",
    "ahead of the seven baselines in all 12 columns, their documents by maximum and by mean",
)
def _best(records: Records) -> Verdict:
    wins, behind = 0, []
    for level, own, rules in (("word", None, (None,)), ("document", "learned", ("max", "mean"))):
        ours = _pairs(records, OURS, level, own)
        rivals = [(name, _pairs(records, name, level, rule)) for name in RIVALS for rule in rules]
        wins += _wins(ours, [pairs for _, pairs in rivals])
        for at, column in np.ndindex(ours.shape):
            rival, pairs = max(rivals, key=lambda item: item[1][at, column])
            if pairs[at, column] >= ours[at, column]:
                pair = f"{tables.short(float(ours[at, column]))}, {label_of(rival)} {tables.short(float(pairs[at, column]))}"
                behind.append(f"{SETS[at].capitalize()} {level}s {('AUROC', 'average precision')[column]} {pair}")
    return wins == 12, f"ahead in {wins} of 12 columns" + (f"; behind: {'; '.join(behind)}" if behind else "")


@claim("table", "Its figures", "ahead of the published ones, of another encoder, in at least 10 of 12 columns")
def _as_published(records: Records) -> Verdict:
    ours = {"word": _pairs(records, OURS, "word", None), "document": _pairs(records, OURS, "document", "learned")}
    wins = sum(_wins(pairs, [np.array(tables.PUBLISHED[level][OURS])]) for level, pairs in ours.items())
    return wins >= 10, f"ahead in {wins} of 12 columns"


@claim(
    "contamination",
    "Robust to contamination",
    f"above TokenCore and isolation forest at every share; 30 % noise costs at most {MOST_LOST:g}",
)
def _contamination(records: Records) -> Verdict:
    points = points_of([record for record in records if record["settings"]["kind"] == "noise"])
    return _above(points, lambda ours: ours[0.0] - ours[0.3] <= MOST_LOST, "{:.0%}", 0.3)


@claim("sparsity", "Robust to sparsity", f"above TokenCore and isolation forest at every number of words; never below {HIGH:g}")
def _sparsity(records: Records) -> Verdict:
    return _above(points_of(records), lambda ours: min(ours.values()) >= HIGH, "{:.0f} words")


def _above(
    points: Sequence[tuple[str, float, float]],
    steady: Callable[[dict[float, float]], bool],
    unit: str,
    needed: float | None = None,
) -> Verdict:
    """Whether our document AUROC is above that of others wherever it was measured, and steady."""
    curves = {name: {x: y for method, x, y in points if method == name} for name in (OURS, *SHOWN_BESIDE)}
    ours = curves[OURS]
    if not ours or needed not in (None, *ours) or any(set(curve) != set(ours) for curve in curves.values()):
        raise _NotMeasuredError
    first, last = min(ours), max(ours)
    ends = [unit.format(x).replace("%", " %") for x in (first, last)]
    lines = [f"{label_of(name)} {tables.short(curve[first])} to {tables.short(curve[last])}" for name, curve in curves.items()]
    above = all(ours[x] > curves[name][x] for name in SHOWN_BESIDE for x in ours)
    return above and steady(ours), f"document AUROC from {ends[0]} to {ends[1]}: {', '.join(lines)}"


@claim(
    "efficiency",
    "On the frontier of accuracy and time",
    "highest word AUROC on Grammar, so that no baseline is both faster and as good",
)
def _efficiency(records: Records) -> Verdict:
    by_method = tables.grouped([record for record in records if record["set"] == "grammar"], "method")
    if not {OURS, *RIVALS} <= {method for (method,) in by_method}:
        raise _NotMeasuredError
    ours, rivals = cost_of(by_method[OURS,]), {name: cost_of(by_method[name,]) for name in RIVALS}
    faster = {name: cost for name, cost in rivals.items() if cost["score_seconds"] < ours["score_seconds"]}
    said = [f"{label_of(name)} {tables.short(cost['word'])} in {cost['score_seconds']:.2f} s" for name, cost in faster.items()]
    figures = f"word AUROC {tables.short(ours['word'])} in {ours['score_seconds']:.2f} s; faster: {', '.join(said) or 'none'}"
    return all(ours["word"] > cost["word"] for cost in rivals.values()), figures


@claim(
    "examples",
    "Localises the anomalous words",
    "the highest word of each example of the paper is the one it names, “issues”, “Tastless”, “oeidjhksiwewiwj”",
)
def _examples(records: Records) -> Verdict:
    shown = [(r["set"], d) for r in records if r["method"] == OURS for d in r["documents"] if d["why"] == PAPERS_OWN]
    highest = {name: max(document["words"], key=lambda word: word["score"])["text"] for name, document in shown}
    if not highest:
        raise _NotMeasuredError
    figures = ", ".join(f"{name.capitalize()} “{word}”" for name, word in highest.items())
    return all(PAPER[name][-1].lower() in word.lower() for name, word in highest.items()), f"highest word: {figures}"
