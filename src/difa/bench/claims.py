"""Records -> a verdict on each claim of the paper, with the figures it rests on.

Each claim is judged by a rule that stands beside it, on the paper's own preset, sets and split, from whatever records a results
folder holds: a verdict cannot be older than its figures. The same rule is then asked on other splits, on other models of the same
split and in the clean form, since one split of small sets proves little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from difa.bench import published
from difa.bench.examples import PAPER, PAPERS_OWN
from difa.bench.methods import label_of
from difa.bench.store import Record
from difa.bench.tables import PUBLISHED_SEED, markdown, own_rule, pick, short, unique
from difa.bench.tables_studies import cost_of

OURS = "difa-paper"
RIVALS = ("lof", "iforest", "ecod", "deepsvdd", "ae", "lunar", "tokencore")
"""The seven baselines of the paper."""
OTHERS = ("tokencore", "iforest")
"""The methods that the paper's robustness studies show beside its own."""
MOST_LOST = 0.05
"""Document AUROC that moderate contamination, 30 % of the words, may cost."""
HIGH = 0.9
"""Document AUROC that is called high in the study of sparsity."""

Pair = tuple[float, float]
"""AUROC and average precision."""
Records = Sequence[Record]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the figures."""

    holds: bool
    figures: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, which records decide it, and by what rule."""

    said: str
    rule: str
    study: str
    judge: Callable[[Records], Verdict | None]
    """From the records of one split, one form and one model; None where some are missing."""


def claims_markdown(records: Mapping[str, Records]) -> str:
    """A row per claim, by command."""
    rows = []
    for claim in CLAIMS:
        mine = [record for record in records.get(claim.study, ()) if not record["settings"] or claim.study != "table"]
        groups = _groups(mine)
        first = ("original", PUBLISHED_SEED, None)
        if not _judged(claim, groups.get(first)):
            first = ("clean", PUBLISHED_SEED, None)
        verdict = _judged(claim, groups.get(first))
        used = groups[first] if verdict else []
        rows.append(
            {
                "claim": claim.said,
                "reproduced if": claim.rule,
                "verdict": "not measured" if verdict is None else "**reproduced**" if verdict.holds else "**not reproduced**",
                "figures": f"{verdict.figures} ({first[0]} form){_by_models(claim, groups)}" if verdict else "",
                "holds elsewhere": _elsewhere(claim, {key: group for key, group in groups.items() if key != first}),
                "measured by": "; ".join(unique(f"`{r['asked_by']}`, {r['measured']}" for r in used if r.get("asked_by"))),
            }
        )
    return "\n".join(["# Claims", "", *markdown(rows), ""])


Key = tuple[str, int, int | None]


def _groups(records: Records) -> dict[Key, list[Record]]:
    """Records by form, split and model."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        if record["set"] in published.SETS:
            groups.setdefault((record["form"], record["seed"], record.get("model_seed")), []).append(record)
    return groups


def _by_models(claim: Claim, groups: Mapping[Key, Records]) -> str:
    """The same figures as means over the models of the published split."""
    keys = [key for key in groups if key[:2] == ("original", PUBLISHED_SEED) and key[2] is not None]
    by_set: dict[str, list[Record]] = {}
    for record in (record for key in keys for record in groups[key] if record["method"] == OURS):
        by_set.setdefault(record["set"], []).append(record)
    means = [
        models[0] | {"figures": [_mean_figure(figures) for figures in zip(*(r["figures"] for r in models), strict=True)]}
        for models in by_set.values()
    ]
    verdict = _judged(claim, means)
    return f"; by the mean of {len(keys)} models {verdict.figures}" if verdict else ""


def _mean_figure(figures: Sequence[Record]) -> Record:
    return figures[0] | {metric: sum(each[metric] for each in figures) / len(figures) for metric in ("auroc", "ap")}


def _judged(claim: Claim, group: Records | None) -> Verdict | None:
    return claim.judge(group) if group else None


def _elsewhere(claim: Claim, groups: Mapping[Key, Records]) -> str:
    """On how many other splits and models of each form the claim holds."""
    tallies: dict[str, list[bool]] = {}
    for (form, _, model), group in groups.items():
        verdict = claim.judge(group)
        if verdict is not None:
            tallies.setdefault(f"{form}, {'other models' if model is not None else 'other splits'}", []).append(verdict.holds)
    return "; ".join(f"{where}: {sum(held)} of {len(held)}" for where, held in tallies.items())


def _figures(records: Records, method: str, level: str, rule: str | None, part: str = "") -> dict[str, Pair] | None:
    """A method's figures by set, in the order of the paper; None if a set is missing."""
    found = {r["set"]: pick(r, level, rule, part) for r in records if r["method"] == method}
    pairs = {name: (figure["auroc"], figure["ap"]) for name in published.SETS if (figure := found.get(name))}
    return pairs if len(pairs) == len(published.SETS) else None


def _mean(figures: Mapping[str, Pair]) -> Pair:
    return sum(p[0] for p in figures.values()) / len(figures), sum(p[1] for p in figures.values()) / len(figures)


def _text(pair: Pair) -> str:
    return f"{short(pair[0])} / {short(pair[1])}"


def _wins(ours: Mapping[str, Pair], others: Sequence[Mapping[str, Pair]]) -> int:
    """Columns, two for each set, in which nothing else is as good."""
    return sum(all(ours[name][at] > other[name][at] for other in others) for name in ours for at in (0, 1))


def _views(records: Records) -> dict[str, dict[str, Pair]] | None:
    """Words of either view and of the fusion."""
    found = {part or "fusion": _figures(records, OURS, "word", None, part) for part in ("semantic", "form", "")}
    views = {name: figures for name, figures in found.items() if figures}
    return views if len(views) == len(found) else None


def _both_needed(records: Records) -> Verdict | None:
    views = _views(records)
    if views is None:
        return None
    better = [max(("semantic", "form"), key=lambda view: views[view][name][0]) for name in published.SETS]
    figures = "; ".join(
        f"{name.capitalize()} semantic {_text(views['semantic'][name])}, form {_text(views['form'][name])}"
        for name in published.SETS
    )
    return Verdict(len(set(better)) == 2, figures)


def _strengths(records: Records) -> Verdict | None:
    views = _views(records)
    if views is None:
        return None
    semantic, form, fusion = views["semantic"], views["form"], views["fusion"]
    review, grammar = semantic["review"][0] > form["review"][0], form["grammar"][0] > semantic["grammar"][0]
    spam = fusion["spam"][1] > max(semantic["spam"][1], form["spam"][1])
    said = {"Grammar: form": grammar, "Review: semantic": review, "Spam: both": spam}
    return Verdict(all(said.values()), ", ".join(f"{what} {'yes' if held else 'no'}" for what, held in said.items()))


def _fusion(records: Records) -> Verdict | None:
    views = _views(records)
    return None if views is None else _ahead_on_average("fusion", views)


def _aggregation(records: Records) -> Verdict | None:
    rules = {"learned": "learned", "mean": "mean", "max": "maximum", "topk": "top-k"}
    found = {label: _figures(records, OURS, "document", rule) for rule, label in rules.items()}
    pooled = {label: figures for label, figures in found.items() if figures}
    return _ahead_on_average("learned", pooled) if len(pooled) == len(rules) else None


def _ahead_on_average(name: str, figures: Mapping[str, Mapping[str, Pair]]) -> Verdict:
    means = {each: _mean(by_set) for each, by_set in figures.items()}
    others = [each for each in figures if each != name]
    holds = all(means[name][at] > means[other][at] for other in others for at in (0, 1))
    wins = _wins(figures[name], [figures[other] for other in others])
    text = ", ".join(f"{each} {_text(means[each])}" for each in (name, *others))
    return Verdict(holds, f"averages: {text}; ahead in {wins} of 6 columns")


def _best(records: Records) -> Verdict | None:
    wins, behind = 0, []
    for level, rules in (("word", (None,)), ("document", ("max", "mean"))):
        ours = _figures(records, OURS, level, own_rule(OURS) if level == "document" else None)
        rivals = {(name, rule): _figures(records, name, level, rule) for name in RIVALS for rule in rules}
        known = {key: figures for key, figures in rivals.items() if figures}
        if ours is None or len(known) < len(rivals):
            return None
        wins += _wins(ours, list(known.values()))
        for name in published.SETS:
            for at, metric in enumerate(("AUROC", "average precision")):
                (rival, _), figures = max(known.items(), key=lambda item: item[1][name][at])
                if figures[name][at] >= ours[name][at]:
                    pair = f"{short(ours[name][at])}, {label_of(rival)} {short(figures[name][at])}"
                    behind.append(f"{name.capitalize()} {level}s {metric} {pair}")
    return Verdict(wins == 12, f"ahead in {wins} of 12 columns" + (f"; behind: {'; '.join(behind)}" if behind else ""))


def _as_published(records: Records) -> Verdict | None:
    ours = [_figures(records, OURS, "word", None), _figures(records, OURS, "document", own_rule(OURS))]
    if None in ours:
        return None
    paper = [dict(zip(published.SETS, source[OURS], strict=True)) for source in (published.WORDS, published.DOCUMENTS)]
    wins = sum(_wins(mine, [theirs]) for mine, theirs in zip(ours, paper, strict=True) if mine)
    return Verdict(wins >= 10, f"ahead in {wins} of 12 columns")


def _contamination(records: Records) -> Verdict | None:
    noise = [record for record in records if record["settings"]["kind"] == "noise"]
    curves = {
        name: {r["settings"]["share"]: r["figures"][0]["auroc"] for r in noise if r["method"] == name} for name in (OURS, *OTHERS)
    }
    return _above(curves, lambda ours: ours[0.0] - ours[0.3] <= MOST_LOST, "%") if 0.3 in curves[OURS] else None


def _sparsity(records: Records) -> Verdict | None:
    curves = {
        name: {float(f["part"]): f["auroc"] for r in records if r["method"] == name for f in r["figures"]}
        for name in (OURS, *OTHERS)
    }
    return _above(curves, lambda ours: min(ours.values()) >= HIGH, "words") if curves[OURS] else None


def _above(
    curves: Mapping[str, Mapping[float, float]], steady: Callable[[Mapping[float, float]], bool], unit: str
) -> Verdict | None:
    ours = curves[OURS]
    if any(set(curves[name]) != set(ours) for name in OTHERS):
        return None
    above = all(ours[x] > curves[name][x] for name in OTHERS for x in ours)
    first, last = min(ours), max(ours)
    ends = [f"{100 * x:.0f} %" if unit == "%" else f"{x:.0f} {unit}" for x in (first, last)]
    lines = [f"{label_of(name)} {short(curve[first])} to {short(curve[last])}" for name, curve in curves.items()]
    return Verdict(above and steady(ours), f"document AUROC from {ends[0]} to {ends[1]}: {', '.join(lines)}")


def _efficiency(records: Records) -> Verdict | None:
    mine = [record for record in records if record["set"] == "grammar"]
    costs = {name: cost_of(own) for name in (OURS, *RIVALS) if (own := [r for r in mine if r["method"] == name])}
    if len(costs) < 1 + len(RIVALS):
        return None
    ours = costs[OURS]
    faster = {name: cost for name, cost in costs.items() if cost["score_seconds"] < ours["score_seconds"]}
    holds = all(ours["word"] > cost["word"] for name, cost in costs.items() if name != OURS)
    beaten = [f"{label_of(name)} {short(cost['word'])} in {cost['score_seconds']:.2f} s" for name, cost in faster.items()]
    figures = f"word AUROC {short(ours['word'])} in {ours['score_seconds']:.2f} s; faster: {', '.join(beaten) or 'none'}"
    return Verdict(holds, figures)


def _examples(records: Records) -> Verdict | None:
    shown = [(r["set"], d) for r in records if r["method"] == OURS for d in r["documents"] if d["why"] == PAPERS_OWN]
    highest = {name: max(document["words"], key=lambda word: word["score"]) for name, document in shown}
    if not highest:
        return None
    figures = ", ".join(f"{name.capitalize()} “{word['text']}”" for name, word in highest.items())
    holds = all(PAPER[name][-1].lower() in word["text"].lower() for name, word in highest.items())
    return Verdict(holds, f"highest word: {figures}")


CLAIMS = (
    Claim("Both views are needed", "neither view has the higher word AUROC on all three sets", "table", _both_needed),
    Claim(
        "Form is strongest on Grammar, semantics on Review, both count on Spam",
        "so by word AUROC; on Spam the fusion has the highest average precision",
        "table",
        _strengths,
    ),
    Claim("Fusion beats either view", "higher in AUROC and average precision, averaged over the sets", "table", _fusion),
    Claim(
        "Learned aggregation beats every fixed pooling",
        "likewise for documents, against mean, maximum and top-k",
        "table",
        _aggregation,
    ),
    Claim(
        "Best on all sets and metrics",
        "ahead of the seven baselines in all 12 columns, their documents by maximum and by mean",
        "table",
        _best,
    ),
    Claim("Its figures", "ahead of the published ones, of another encoder, in at least 10 of 12 columns", "table", _as_published),
    Claim(
        "Robust to contamination",
        f"above TokenCore and isolation forest at every share; 30 % noise costs at most {MOST_LOST:g}",
        "contamination",
        _contamination,
    ),
    Claim(
        "Robust to sparsity",
        f"above TokenCore and isolation forest at every number of words; never below {HIGH:g}",
        "sparsity",
        _sparsity,
    ),
    Claim(
        "On the frontier of accuracy and time",
        "highest word AUROC on Grammar, so that no baseline is both faster and as good",
        "efficiency",
        _efficiency,
    ),
    Claim(
        "Localises the anomalous words",
        "the highest word of each example of the paper is the one it names, “issues”, “Tastless”, “oeidjhksiwewiwj”",
        "examples",
        _examples,
    ),
)
