"""A results folder -> the tables and pictures of a Markdown page, a verdict on each claim of the paper among them.

The page holds pairs of marks, `<!-- bench:table:clean -->` and `<!-- /bench -->`; what stands between them is replaced. A mark
such as `<!-- bench:last/table:clean -->` takes its records from the folder `last` of the results. A claim is judged by a rule on
the paper's own preset, sets and split, from whatever records there are: a verdict cannot be older than its figures. The same rule
is then asked on other splits, models and the clean form, since one split of small sets proves little.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench import tables
from difa.bench.ablation import ABLATION, LAYERS, parts_markdown
from difa.bench.analyses import CONTAMINATION, EFFICIENCY, EXAMPLES, PAPER, PAPERS_OWN, SPARSITY
from difa.bench.data import FORMS, SETS
from difa.bench.feed import FEED
from difa.bench.methods import DIFA, FED, PEERS, label_of, preset_of
from difa.bench.metrics import Record, Records
from difa.bench.promises import PROMISES
from difa.bench.run import read_json, write_text
from difa.bench.speed import SPEED
from difa.bench.table import TABLE, alarms, intervals, reasons, table_markdown, times
from difa.document import FloatArray
from difa.errors import InputError

OURS = "difa-paper"
PAIR = ["auroc", "ap"]
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
STUDIES = {
    study.name: study for study in (TABLE, ABLATION, EFFICIENCY, CONTAMINATION, SPARSITY, FEED, LAYERS, SPEED, PROMISES, EXAMPLES)
}


def write_report(results: Path, page: Path) -> list[str]:
    """Fill the marks of a Markdown page from a folder of `difa bench`; returns what was filled in."""
    if not any(path.stem in STUDIES for path in (*results.glob("*.json"), *results.glob("*/*.json"))):
        raise InputError(f"{results}: expected results of difa bench, found none: run one of its commands into this folder first")
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{page}: cannot be read: {error.strerror}") from None
    known = tables.unique(["claims", *PLACES, *STUDIES])
    if unknown := next((found[3] for found in _MARK.finditer(text) if found[3] not in known), None):
        raise InputError(f"{page}: expected marks of {', '.join(known)}, got bench:{unknown}: mend the mark or leave it out")
    filled: list[str] = []

    @cache
    def read(folder: Path) -> dict[str, list[Record]]:
        return {study: read_json(folder / f"{study}.json") or [] for study in STUDIES}

    def fill(match: re.Match[str]) -> str:
        head, below, name, form, tail = match.groups()
        folder = results / (below or "")
        parts = [_picture(folder, results, name, form, page), section_of(name, form, read(folder))]
        body = "\n\n".join(part.strip() for part in parts if part)
        if not body:
            return match.group()
        filled.append(head.split()[1].removeprefix("bench:"))
        return f"{head}\n{body}\n\n{tail}"

    write_text(page, _MARK.sub(fill, text))
    return filled


def section_of(name: str, form: str | None, records: dict[str, list[Record]]) -> str | None:
    """What belongs between a pair of marks, or None where the study was not run."""
    if name == "claims":
        return claims_markdown(records) if records["table"] else None
    markdown, about = PLACES[name] if name in PLACES else (STUDIES[name].markdown, list)
    mine = about([r for r in records["table" if name in PLACES else name] if form in (None, r["form"])])
    body = markdown(mine).strip() if mine else ""
    if not body:
        return None
    body = re.sub(r"^## ", "### ", body, flags=re.MULTILINE)  # the page has its own headings
    return tables.page(body, _measured([record for record in mine if record.get("measured")]))


def _measured(records: Records) -> str:
    """When the records were made, by which commands, and how long that took."""
    if not records:
        return ""
    days = sorted({record["measured"] for record in records})
    minutes = sum(record["took"] for record in records) / 60
    commands = tables.unique(f"`{record['asked_by']}`" for record in records if record["asked_by"])
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

    means = frame.groupby(tables.unique([row, column, "set"]), sort=False)[PAIR].mean().reset_index()
    means = pandas.concat([means, means.assign(**{row: _AVERAGE})])
    heads = {head: head for head in columns}
    return tables.pivot(means, {row: row}, column, heads, values=PAIR, text=lambda pairs: _text(pairs.mean())).set_index(row)


def presets(records: Records) -> str:
    """Presets by set: means over seeds, with the average."""
    frame = tables.final_figures(tables.figures_frame(records))
    if not len(frame):
        return ""
    names = {name: preset_of(name) + (", feed" if name in FED else "") for name in tables.methods_of(records)}
    frame = frame.assign(head=frame.method.map(names) + ": " + frame.level + "s")
    heads = [head for name in names.values() for level in tables.LEVELS if (head := f"{name}: {level}s") in set(frame["head"])]
    table = _means(frame, "set", "head", heads).reindex([*tables.sets_of(records), _AVERAGE]).fillna("")
    table.loc[_AVERAGE] = "**" + table.loc[_AVERAGE] + "**"
    shown = tables.markdown(table.rename(index=str.capitalize).reset_index())
    return tables.page(f"AUROC / average precision, {tables.seeds_of(records)}.", shown)


def averages(records: Records) -> str:
    """Methods by the average over the public sets; only methods that have every set and every seed of the table."""
    frame = tables.final_figures(tables.figures_frame([record for record in records if record["set"] in SETS]))
    if not len(frame):
        return ""
    runs = frame.drop_duplicates(["method", "set", "seed"]).method.value_counts()
    whole = [name for name in tables.methods_of(records) if runs.get(name) == runs.max()]
    table = _means(frame, "method", "level", tables.LEVELS).loc[whole].rename(index=label_of, columns="{}s".format)
    sets = ", ".join(name.capitalize() for name in tables.sets_of(records) if name in SETS)
    said = f"AUROC / average precision, average of {sets}, {tables.seeds_of(records)} for every method."
    return tables.page(said, tables.markdown(table.reset_index()))


def beside_published(records: Records) -> str:
    """The preset `paper` and the default beside the published figures, on the published split."""
    mine = [record for record in records if record["form"] == "original" and record["set"] in SETS]
    frame, shown = tables.final_figures(tables.figures_frame(mine)), {OURS: "preset `paper`", "difa-full": "default"}
    if not set(shown) <= set(frame.method):
        return ""
    frame = frame[frame.method.isin(list(shown))].assign(head=lambda each: each.level + "s, " + each.method.map(shown))
    table = _means(frame, "set", "head", list(frame["head"].unique())).reindex(SETS).fillna("")
    for level in tables.LEVELS:
        table[f"{level}s, *published*"] = [f"*{_text(pair)}*" for pair in _published(level)]
    heads = [f"{level}s, {said}" for level in tables.LEVELS for said in (*shown.values(), "*published*")]
    return tables.markdown(table[heads].rename(index=str.capitalize).reset_index())


def _of_difa(records: Records) -> list[Record]:
    return [record for record in records if record["method"] in DIFA]


def _of_presets(records: Records) -> list[Record]:
    """Records of all presets but the paper's, on other splits than the published one where there are such."""
    ours = [record for record in _of_difa(records) if record["method"] != OURS]
    return tables.by_split(ours)[1] or ours


def _of_methods(records: Records) -> list[Record]:
    """Records of other splits than the published one, if baselines were measured there, too; without peers."""
    published, others = tables.by_split([record for record in records if record["method"] not in PEERS])
    return published if len(_of_difa(others)) == len(others) else others


def _with_peers(records: Records) -> list[Record]:
    """Records of the published split, if peers were measured."""
    return tables.by_split(records)[0] if any(record["method"] in PEERS for record in records) else []


PLACES: dict[str, tuple[Callable[[Records], str], Callable[[Records], Sequence[Record]]]] = {
    "table": (lambda records: table_markdown(records, details=False), list),
    "intervals": (lambda records: intervals(tables.by_split(records)[0]), list),
    "alarms": (alarms, _of_difa),
    "reasons": (reasons, list),
    "times": (times, list),
    "parts": (parts_markdown, _of_difa),
    "presets": (presets, _of_presets),
    "methods": (averages, _of_methods),
    "peers": (averages, _with_peers),
    "published": (beside_published, lambda records: tables.of_split(tables.by_split(_of_difa(records))[0])),
}
"""Tables that a page may show, and which records of `difa bench table` they are about."""

RIVALS = ("lof", "iforest", "ecod", "deepsvdd", "ae", "lunar", "tokencore")  # the seven baselines of the paper
SHOWN_BESIDE = ["tokencore", "iforest"]  # in the paper's robustness studies, beside its own method
MOST_LOST = 0.05  # document AUROC that moderate contamination, 30 % of the words, may cost
HIGH = 0.9  # document AUROC that is called high in the study of sparsity

Verdict = tuple[bool, str]  # whether a claim holds, and the figures


@dataclass(frozen=True)
class Claim:
    """What the paper says, by what rule it is judged, and from the records of which study."""

    said: str
    rule: str
    study: str
    judge: Callable[[tables.Frame], Verdict]
    """From the figures of one split, one form and one model, or several; a `KeyError` where some are missing."""

    def verdict(self, records: Records) -> Verdict | None:
        """The verdict; None where some records are missing."""
        try:
            return self.judge(tables.figures_frame(records, "kind", "share"))
        except KeyError:
            return None


CLAIMS: list[Claim] = []  # in the order of the paper


def claim(study: str, said: str, rule: str) -> Callable[[Callable[[tables.Frame], Verdict]], None]:
    """Make a claim of the function that judges it."""
    return lambda judge: CLAIMS.append(Claim(said, rule, study, judge))


def claims_markdown(records: Mapping[str, Records]) -> str:
    """A row per claim."""
    rows = []
    for each in CLAIMS:
        usual = [r for r in records.get(each.study, ()) if r["set"] in SETS and (not r["settings"] or each.study != "table")]
        groups = tables.grouped(usual, "form", "seed", "model_seed")
        verdicts = {key: verdict for key, group in groups.items() if (verdict := each.verdict(group))}
        first = next((key for form in FORMS if (key := (form, tables.PUBLISHED_SEED, None)) in verdicts), None)
        row = {"claim": each.said, "reproduced if": each.rule, "verdict": "not measured", "figures": ""}
        if first:
            row |= _verdict(each, *verdicts.pop(first), first[0], usual)
        row["holds elsewhere"] = _elsewhere(verdicts)
        used = [record for record in groups.get(first, ()) if record.get("asked_by")] if first else []
        row["measured by"] = "; ".join(tables.unique(f"`{r['asked_by']}`, {r['measured']}" for r in used))
        rows.append(row)
    return tables.markdown(rows)


def _verdict(judged: Claim, holds: bool, figures: str, form: str, records: Records) -> dict[str, str]:
    """The verdict of one model, beside that of the mean of several models of the published split, where there are some."""
    row = {"verdict": "**reproduced**" if holds else "**not reproduced**", "figures": f"{figures} ({form} form)"}
    of = ("original", tables.PUBLISHED_SEED)
    models = [r for r in records if (r["form"], r["seed"]) == of and r.get("model_seed") is not None]
    several = judged.verdict([record for record in models if record["method"] == OURS])
    if several:
        row["figures"] += f"; by the mean of {len(tables.grouped(models, 'model_seed'))} models {several[1]}"
    if several and several[0] != holds:  # what one model shows by chance is not reproduced
        row["verdict"] = f"**in part**: only by the {'model of one seed' if holds else 'mean of several models'}"
    return row


def _elsewhere(verdicts: Mapping[tuple[Any, ...], Verdict]) -> str:
    """On how many other splits and models of each form the claim holds."""
    held: dict[str, list[bool]] = {}
    for (form, _, model), (holds, _) in verdicts.items():
        held.setdefault(f"{form}, {'other models' if model is not None else 'other splits'}", []).append(holds)
    return "; ".join(f"{where}: {sum(each)} of {len(each)}" for where, each in held.items())


def _pairs(figures: tables.Frame, method: str, level: str, rule: str = "", part: str = "") -> FloatArray:
    """AUROC and average precision of a method by set, in the order of the paper, (3, 2)."""
    of = (figures.method == method) & (figures.level == level) & (figures.pooling == rule) & (figures.part == part)
    pairs: FloatArray = figures[of].groupby("set")[PAIR].mean().loc[list(SETS)].to_numpy()
    return pairs


def _published(level: str) -> FloatArray:
    """The published pairs of the paper's method."""
    known = tables.published("methods", level)
    pairs: FloatArray = known[known.label == "*DiFA*"][PAIR].to_numpy()
    return pairs


def _views(figures: tables.Frame) -> dict[str, FloatArray]:
    parts = {"fusion": "", "semantic": "semantic", "form": "form"}
    return {name: _pairs(figures, OURS, "word", part=part) for name, part in parts.items()}


def _text(pair: Iterable[float]) -> str:
    return " / ".join(map(tables.short, pair))


def _wins(ours: FloatArray, others: Sequence[FloatArray]) -> int:
    """Columns, two for each set, in which nothing else is as good."""
    return int((ours > np.max(others, axis=0)).sum())


@claim("table", "Both views are needed", "neither view has the higher word AUROC on all three sets")
def _both_needed(figures: tables.Frame) -> Verdict:
    _, semantic, form = _views(figures).values()
    better = semantic[:, 0] >= form[:, 0]
    rows = zip(SETS, semantic, form, strict=True)
    said = (f"{name.capitalize()} semantic {_text(one)}, form {_text(other)}" for name, one, other in rows)
    return bool(better.any() and not better.all()), "; ".join(said)


@claim(
    "table",
    "Form is strongest on Grammar, semantics on Review, both count on Spam",
    "so by word AUROC; on Spam the fusion has the highest average precision",
)
def _strengths(figures: tables.Frame) -> Verdict:
    (fusion, semantic, form), (spam, review, grammar) = _views(figures).values(), range(len(SETS))
    said = {
        "Grammar: form": form[grammar, 0] > semantic[grammar, 0],
        "Review: semantic": semantic[review, 0] > form[review, 0],
        "Spam: both": fusion[spam, 1] > max(semantic[spam, 1], form[spam, 1]),
    }
    return all(said.values()), ", ".join(f"{what} {'yes' if held else 'no'}" for what, held in said.items())


@claim("table", "Fusion beats either view", "higher in AUROC and average precision, averaged over the sets")
def _fusion(figures: tables.Frame) -> Verdict:
    return _first_is_ahead(_views(figures))


@claim("table", "Learned aggregation beats every fixed pooling", "likewise for documents, against mean, maximum and top-k")
def _aggregation(figures: tables.Frame) -> Verdict:
    rules = {"learned": "learned", "mean": "mean", "max": "maximum", "topk": "top-k"}
    return _first_is_ahead({said: _pairs(figures, OURS, "document", rule) for rule, said in rules.items()})


def _first_is_ahead(pairs: Mapping[str, FloatArray]) -> Verdict:
    ours, *others = pairs.values()
    mean, *means = (each.mean(axis=0) for each in pairs.values())
    text = ", ".join(f"{name} {_text(each.mean(axis=0))}" for name, each in pairs.items())
    return _wins(mean, means) == 2, f"averages: {text}; ahead in {_wins(ours, others)} of 6 columns"


@claim(
    "table",
    "Best on all sets and metrics",
    "ahead of the seven baselines in all 12 columns, their documents by maximum and by mean",
)
def _best(figures: tables.Frame) -> Verdict:
    behind = []
    for level, own, rules in (("word", "", ("",)), ("document", "learned", ("max", "mean"))):
        ours = _pairs(figures, OURS, level, own)
        rivals = [(name, _pairs(figures, name, level, rule)) for name in RIVALS for rule in rules]
        for at, column in np.ndindex(ours.shape):
            rival, pairs = max(rivals, key=lambda item: item[1][at, column])
            if pairs[at, column] >= ours[at, column]:
                pair = f"{tables.short(ours.item(at, column))}, {label_of(rival)} {tables.short(pairs.item(at, column))}"
                behind.append(f"{SETS[at].capitalize()} {level}s {('AUROC', 'average precision')[column]} {pair}")
    return not behind, f"ahead in {12 - len(behind)} of 12 columns" + (f"; behind: {'; '.join(behind)}" if behind else "")


@claim("table", "Its figures", "ahead of the published ones, of another encoder, in at least 10 of 12 columns")
def _as_published(figures: tables.Frame) -> Verdict:
    wins = sum(_wins(_pairs(figures, OURS, *of), [_published(of[0])]) for of in (("word",), ("document", "learned")))
    return wins >= 10, f"ahead in {wins} of 12 columns"


@claim(
    "contamination",
    "Robust to contamination",
    f"above TokenCore and isolation forest at every share; 30 % noise costs at most {MOST_LOST:g}",
)
def _contamination(figures: tables.Frame) -> Verdict:
    return _above(figures[figures["kind"] == "noise"], "share", lambda ours: ours[0.0] - ours[0.3] <= MOST_LOST, "{:.0%}")


@claim("sparsity", "Robust to sparsity", f"above TokenCore and isolation forest at every number of words; never below {HIGH:g}")
def _sparsity(figures: tables.Frame) -> Verdict:
    return _above(figures.astype({"part": int}), "part", lambda ours: ours.min() >= HIGH, "{} words")


def _above(figures: tables.Frame, x: str, steady: Callable[[Any], bool], unit: str) -> Verdict:
    """Whether our document AUROC is above that of others wherever it was measured, and steady."""
    shown = [OURS, *SHOWN_BESIDE]
    curves = figures[figures.method.isin(shown)].pivot_table("auroc", x, "method")[shown]
    if curves.isna().any(axis=None):
        raise KeyError(x)
    holds = bool((curves[OURS] > curves[SHOWN_BESIDE].max(axis=1)).all() and steady(curves[OURS]))
    first, last = (unit.format(at).replace("%", " %") for at in curves.index[[0, -1]])
    ends = {name: [tables.short(curves[name].iloc[at]) for at in (0, -1)] for name in shown}
    said = ", ".join(f"{label_of(name)} {' to '.join(pair)}" for name, pair in ends.items())
    return holds, f"document AUROC from {first} to {last}: {said}"


@claim(
    "efficiency",
    "On the frontier of accuracy and time",
    "highest word AUROC on Grammar, so that no baseline is both faster and as good",
)
def _efficiency(figures: tables.Frame) -> Verdict:
    costs = tables.costs_of(figures[figures["set"] == "grammar"]).loc[[OURS, *RIVALS]]
    said = [f"{tables.short(each.word)} in {each.score_seconds:.2f} s" for each in costs.itertuples()]
    ours, faster = costs.loc[OURS], costs.score_seconds < costs.score_seconds[OURS]
    rivals = [f"{label_of(name)} {text}" for name, text in zip(costs.index[faster], np.array(said)[faster], strict=True)]
    return bool((ours.word > costs.word[1:]).all()), f"word AUROC {said[0]}; faster: {', '.join(rivals) or 'none'}"


@claim(
    "examples",
    "Localises the anomalous words",
    "the highest word of each example of the paper is the one it names, “issues”, “Tastless”, “oeidjhksiwewiwj”",
)
def _examples(figures: tables.Frame) -> Verdict:
    shown = figures[(figures.method == OURS) & (figures["why"] == PAPERS_OWN)].set_index("set")["words"]
    highest = {name: max(words, key=lambda word: word["score"])["text"] for name, words in shown.items()}
    if not highest:
        raise KeyError(PAPERS_OWN)
    said = ", ".join(f"{name.capitalize()} “{word}”" for name, word in highest.items())
    return all(PAPER[name][-1].lower() in word.lower() for name, word in highest.items()), f"highest word: {said}"
