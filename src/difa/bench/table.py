"""`difa bench table`: every method on every set -> word and document figures, with intervals, flags and times.

Baselines run with their library's default settings. With `grid` they also run with those that the TokenCore authors searched,
and the table shows two choices among them: the best on validation data, and the best by test AUROC, which is the TokenCore
authors' way. Published figures, in italics, stand beside the measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from difa.baselines import METHODS
from difa.bench import tables
from difa.bench.ablation import validate
from difa.bench.data import SETS
from difa.bench.methods import ALL_METHODS, DIFA, NOT_RUN, PEERS, check_methods, label_of, run_method
from difa.bench.metrics import Record, Records, alarms_of, figures_of
from difa.bench.plots import draw_table
from difa.bench.run import Cell, Run, Study, with_settings

DEFAULT, GRID = "library default", "grid"
VALIDATION_NOTE = "best on validation data"
GRID_NOTE = "best by test AUROC, as the TokenCore authors"
_CHOICES = [DEFAULT, VALIDATION_NOTE, GRID_NOTE]  # how the settings of a row were chosen
_RULES = ["", "learned", "own", "max", "mean"]  # pooling rules, in the order of the tables
LEGEND = (
    "AUROC / average precision / false-alarm rate at 95 % recall. Higher, higher, lower is better. Documents: the highest word "
    "score for baselines, which is the default of PyTextAD, by TokenCore's author (the paper does not say how it pooled them), "
    "with the mean as a row of its own; DiFA's own aggregation for DiFA. Baselines have their library's default settings unless "
    f"a row says “{VALIDATION_NOTE}” (pseudo anomalies in held-out normal text; the paper selects on validation data, too) or "
    f"“{GRID_NOTE}”. Rows of DiFA that have seen the unlabelled test text had it as a feed; all others first saw it when "
    "they scored it. Rows in *italics* are published figures (bert-base-uncased, original form), not measured here."
)


def run_table(
    run: Run,
    methods: Sequence[str] = (),
    *,
    grid: bool = False,
    with_peers: bool = False,
    model_seeds: Sequence[int] = (),
) -> list[Record]:
    """Measure, and write `table.json`, `table.md` and the pictures.

    Args:
        run: where to, and on what.
        methods: which; all for none.
        grid: whether baselines also run with the settings that the TokenCore authors searched.
        with_peers: whether all peers run.
        model_seeds: seeds of the models; for none, a model has the seed of its split.
    """
    chosen = check_methods(methods or ALL_METHODS, (*ALL_METHODS, *PEERS))
    chosen += [name for name in PEERS if with_peers and name not in chosen]
    cells = []
    for dataset, seed in product(run.sets, run.options.seeds):
        usual = [Cell(TABLE, run, dataset, seed, name) for name in chosen]
        cells += [replace(cell, model_seed=model) for cell in usual if cell.method in ALL_METHODS for model in model_seeds]
        for cell in usual:
            if grid or not model_seeds or cell.method in PEERS:
                searched = METHODS[cell.method].grid if grid and cell.method in METHODS else ()
                cells += with_settings(cell, [{}, *searched])
    return TABLE.write(run, run.execute(cells))


def _compute(cell: Cell) -> Record:
    name, halves, settings = cell.method, cell.halves, cell.settings
    if reason := NOT_RUN.get(name):
        return {"selection": DEFAULT, "figures": [], "reason": reason}
    scores = run_method(name, settings, halves, cell.seed if cell.model_seed is None else cell.model_seed, cell.options)
    return {
        "selection": GRID if settings else DEFAULT,
        "figures": figures_of(scores, halves.word_labels, cell.options.draws, cell.seed),
        **({} if name in PEERS else {"alarms": alarms_of(scores, halves.test)}),
        "fit_seconds": scores.fit_seconds,
        "score_seconds": scores.score_seconds,
        **({"validation": validate(cell)} if settings else {}),
    }


def table_markdown(records: Records, *, details: bool = True) -> str:
    """The whole table by form: the published split, means over seeds, models on one split; intervals, flags and reasons."""
    blocks = [LEGEND]
    for (form,), mine in tables.grouped(records, "form").items():
        single, several = tables.by_split(tables.of_split(mine))
        varied = [record for record in mine if record.get("model_seed") is not None]
        if single:
            known = all(name in SETS for name in tables.sets_of(single))
            blocks += _section(single, form, f"seed {tables.PUBLISHED_SEED}" + (", the published split" if known else ""))
            blocks += [intervals(single)] if details else []
        # More methods run on the public sets than on others, and averages should be of equal sets.
        public = [record for record in several if record["set"] in SETS]
        for group in (public, [record for record in several if record["set"] not in SETS]):
            spread = ": mean ± sd" if len({record["seed"] for record in group}) > 1 else ""
            blocks += _section(group, form, tables.seeds_of(group) + spread) if group else []
        for (seed,), models in tables.grouped(varied, "seed").items():
            blocks += _section(models, form, f"seed {seed}, {tables.seeds_of(models, 'model_seed')}: mean ± sd")
    for title, text in (("Flags", alarms(records)), ("Not run", reasons(records))) if details else ():
        blocks += [f"## {title}", text] if text else []
    return tables.page(*blocks)


def _section(records: Records, form: str, title: str) -> list[str]:
    blocks = [f"## {form.capitalize()} form, {title}"]
    measured = [record for record in records if record["figures"]]
    beside = form == "original" and any(record["seed"] == tables.PUBLISHED_SEED for record in records)
    for level in tables.LEVELS if measured else ():
        shown = compare(measured, level, beside_published=beside).drop(columns="name")
        blocks += [f"**{level.capitalize()}s**", tables.markdown(shown.assign(settings=shown.pop("settings")))]
    return blocks


def compare(records: Records, level: str, *, beside_published: bool = False) -> tables.Frame:
    """A row per method, pooling rule and choice of settings; a rule that changes nothing, as for document length, has none."""
    import pandas

    frame = tables.figures_frame(records)
    frame = frame[(frame.level == level) & (frame.part == "") & (frame.pooling != "topk")]
    searched = frame[frame.settings != ""]
    parts = [frame[frame.settings == ""].assign(choice=DEFAULT)]
    for by, note in (("validation", VALIDATION_NOTE), ("auroc", GRID_NOTE)):  # the latter looks at the answers, and says so
        known = searched.dropna(subset=[by])
        best = known.groupby(["method", "pooling", "set", "seed"], sort=False)[by].idxmax() if len(known) else []
        parts.append(known.loc[best].assign(choice=note))
    shown = pandas.concat([part for part in parts if len(part)])
    changed = (shown.pooling == "mean") | ((shown.pooling == "max") & shown.method.isin(DIFA))
    shown["label"] = shown.method.map(label_of) + (", " + shown.pooling + " of words").where(changed, "")
    shown["note"] = [_note(*pair) for pair in zip(shown.method, shown.choice, strict=True)]
    shown = tables.ordered(shown, method=tables.methods_of(records), pooling=_RULES, choice=_CHOICES)
    if beside_published:
        shown = pandas.concat([shown, tables.published("methods", level)])
    rows = {"method": "name", "label": "method", "note": "settings"}
    table = tables.pivot(shown, rows, "set", tables.set_heads(records), average=True)
    return table.drop_duplicates([name for name in table if name != "method"])


def _note(name: str, choice: str) -> str:
    """How the settings were chosen, where there was something to choose, and what else must be known."""
    if name not in METHODS:
        return ""
    return "; ".join(filter(None, [choice if METHODS[name].grid else "", METHODS[name].note]))


def intervals(records: Records) -> str:
    """AUROC and average precision with their 95 % bootstrap intervals over documents."""
    frame, ends = tables.final_figures(tables.figures_frame(records)), ["auroc_low", "auroc_high", "ap_low", "ap_high"]
    frame = frame.reindex(columns=tables.unique([*frame, *ends])).dropna(subset=ends)
    if not len(frame):
        return ""
    frame = tables.ordered(frame, method=tables.methods_of(records)).assign(method=lambda each: each["method"].map(label_of))
    rows, text = {"method": "method", "level": "level"}, lambda each: "{}–{}, {}–{}".format(*map(tables.short, each.iloc[0]))
    shown = tables.pivot(frame, rows, "set", tables.set_heads(records), values=ends, text=text)
    form = frame.form.iloc[0] if frame.form.nunique() == 1 else "all"
    title = f"**95 % intervals, {form} form** (bootstrap over test documents; AUROC, then average precision)"
    return tables.page(title, tables.markdown(shown))


def alarms(records: Records) -> str:
    """How DiFA's flags kept the rate that was asked for; expected is where chance alone puts 95 % of the shares in such a set."""
    from scipy.stats import binom

    rows = []
    for record in tables.of_split(records):
        if not (counts := record.get("alarms")):
            continue
        ends = [binom.ppf(end, counts["normal"], counts["rate"]) / counts["normal"] for end in (0.025, 0.975)]
        words = counts["flagged_normal_words"] / counts["normal_words"] if counts.get("normal_words") else None
        rows.append(
            {"method": label_of(record["method"])}
            | {key: record[key] for key in ("set", "form", "seed")}
            | {"normal documents flagged at 0.05": tables.short(counts["flagged_normal"] / counts["normal"])}
            | {"expected (95 %)": "–".join(map(tables.short, ends)), "their words flagged at 0.05": tables.short(words)}
            | {"anomalous documents flagged": tables.short(counts["flagged_anomalous"] / counts["anomalous"])}
        )
    return tables.markdown(rows)


def times(records: Records) -> str:
    """Seconds that fitting and scoring took, by method and set, on the published split with default settings."""
    import pandas

    usual = [r for r in tables.of_split(tables.by_split(records)[0]) if not r["settings"] and "fit_seconds" in r]
    if not usual:
        return ""
    seconds = {(r["method"], f"{r['set']} {r['form']}"): r["fit_seconds"] + r["score_seconds"] for r in usual}
    heads = [f"{name} {form}" for form in tables.unique(record["form"] for record in usual) for name in tables.sets_of(usual)]
    shown = pandas.Series(seconds).unstack().reindex(index=tables.methods_of(usual), columns=heads).dropna(axis=1, how="all")
    texts = shown.map("{:.1f}".format).replace("nan", "").rename(index=label_of)
    texts.loc["**all**"] = shown.sum().map("**{:.0f}**".format)
    return tables.markdown(texts.rename_axis("method").reset_index())


def reasons(records: Records) -> str:
    """Peers that could not run, and why."""
    found = {label_of(record["method"]): record["reason"] for record in records if record.get("reason")}
    return "\n".join(f"- {label}: {reason}." for label, reason in found.items())


TABLE = Study("table", _compute, table_markdown, draw_table, judging=("bench/ablation.py", "perturb"), title="Comparison")
