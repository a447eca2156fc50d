"""`difa bench promises`: do false-alarm rates hold, on which text, and when do they not?

Each resample fits on one half of the normal documents of a set and looks at the other half. From one fit come the rates of
documents and words, the false discoveries in mixtures with anomalous documents, the alarms of the monitor, and what becomes of
the rate on text that is not like the normal one. Fits on few documents, on copies, on templates, on spoilt documents, and with
the other half as a feed are cells of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from difa.bench.analyses import with_anomalies
from difa.bench.data import Split, check_names, draw, is_anomalous, without_labels, words_of
from difa.bench.methods import LEARNERS, check_methods, label_of, preset_of, quiet_rates, score_documents, taught_by
from difa.bench.metrics import Record, Records, Scores
from difa.bench.run import Cell, Run, Study
from difa.bench.tables import LEVELS, Frame, grouped, markdown, ordered, page, plural, sets_of, short
from difa.decide import Tally
from difa.decide.confidence import future_interval
from difa.document import Document, FloatArray, IntArray
from difa.monitor.evidence import FALSE_ALARM, MonitorState
from difa.words import from_tokens

PARTS = ("whole", "small", "copies", "templates", "spoilt", "feed")
"""What may be measured alone: half of a set and all that comes of it, few documents, copies, templates, spoilt ones, a feed."""
SMALL = (30, 50, 100)  # documents of the fits on few
COPIES = 3
"""How often each document stands in the fit on copies: as it is, with one more mark, and without full stops."""
FILLINGS = 4
"""How often each document stands in the fit on templates, each time with other names, numbers and dates in it."""
_SLOTS = 8  # words of a template for each place that is filled in
_NAMES = ("Anna", "Peter", "Maria", "Tom", "Yusuf", "Chen", "Olga", "Ravi", "Berlin", "Paris", "Lagos", "Lima", "Oslo", "Quito")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
SPOILT = 0.1  # share of anomalous documents in the fit on spoilt ones
FEEDS = (0.0, 0.05, 0.2)  # shares of anomalous documents in feeds
LONGER = 5  # documents that are joined to longer ones
_MOST = 1000  # documents that are looked at, of each kind
RATES = (0.01, 0.05, 0.1)
DISCOVERY = 0.1  # false-discovery rate that mixtures are flagged at
_DRAWS = 10  # mixtures of one share
_MIXED = 300  # documents of a mixture
_BATCH = 50  # documents that the monitor sees at a time
_PATIENCE = 40  # batches after a change that it is given to find it
_CHANGED = 0.2  # share of anomalous documents after one of the changes


def run_promises(run: Run, preset: str = "fast", only: Sequence[str] = ()) -> list[Record]:
    """Measure some parts, or all that the preset has for none, and write `promises.json` and `promises.md`."""
    (name,) = check_methods([f"difa-{preset}"])
    known = PARTS if name in LEARNERS else PARTS[:-1]  # what does not learn from a feed has no such part
    chosen = check_names("only", only, known, f"some of {', '.join(known)} for {name}")
    return PROMISES.measure(run, [name], lambda cell: [each for each in _settings(cell) if each["part"] in chosen])


def _settings(cell: Cell) -> list[Record]:
    sets, training = cell.run.sets, cell.halves.training
    other = sets[(sets.index(cell.dataset) + 1) % len(sets)].digest if len(sets) > 1 else None
    made: list[Record] = [{"part": "whole", "other": other}, *({"part": part} for part in ("copies", "templates", "spoilt"))]
    made[1:1] = [{"part": "small", "documents": count} for count in SMALL if count < len(training)]
    made += [{"part": "feed", "share": share} for share in FEEDS]
    return [{"documents": None, "other": None} | each for each in made]


def _compute(cell: Cell) -> Record:
    settings, part, seed, halves, feed = cell.settings, cell.settings["part"], cell.seed, cell.halves, None
    if part == "feed":  # all normal documents of the test half, which are then looked at, and a share of anomalous ones
        count = min(len(halves.anomalous), round(settings["share"] / (1 - settings["share"]) * len(halves.normal)))
        feed = without_labels([*halves.normal, *draw(halves.anomalous, count, np.random.default_rng(seed))])
    else:
        halves = change_halves(part, halves, seed, settings["documents"])
    with quiet_rates():
        model = cell.options.difa(preset_of(cell.method), seed).fit(halves.training, feed=feed)
    reference = model.detector_.document_reference.values
    if feed is not None:
        found = rates(len(reference), score_documents(model, halves.normal))
        return {"rates": found, "drawn": count / len(feed), "taught": taught_by(model)}
    rng = np.random.default_rng(seed)
    normal, anomalous = draw(halves.normal, _MOST, rng), draw(halves.anomalous, _MOST, rng)
    usual, odd = score_documents(model, normal), score_documents(model, anomalous)
    shared = {"rates": rates(len(reference), usual), "quarters": by_length(usual), "found": rates(len(reference), odd)}
    if part != "whole":
        return shared
    rng = np.random.default_rng(seed)
    texts = {"longer": join(normal, LONGER), "seen": draw(halves.training, _MOST, rng)}
    if others := [each.documents for each in cell.run.sets if each.digest == settings["other"]]:
        texts["other"] = draw([document for document in others[0] if not is_anomalous(document)], _MOST, rng)
    unlike = {kind: score_documents(model, documents) for kind, documents in texts.items() if documents}
    labels = Split([], anomalous).word_labels
    return shared | {
        "mixtures": [mixture(usual, odd, labels, share, rng) for share in (0.05, 0.2)],
        "unlike": {kind: rates(len(reference), each) for kind, each in unlike.items()},
        "monitor": detection(reference, usual, odd, unlike.get("other"), rng),
    }


def join(documents: Sequence[Document], count: int) -> list[Document]:
    """Documents, each made of several in a row."""
    groups = [documents[at : at + count] for at in range(0, len(documents) - count + 1, count)]
    return [from_tokens([word for document in group for word in words_of(document)]) for group in groups]


def near_copy(document: Document, number: int) -> Document:
    """A copy: the first as the document is, the second with one more mark, the third without full stops."""
    words = words_of(document)
    return from_tokens([words, [*words, "!"], [word for word in words if word != "."] or words][number % COPIES])


def fill_in(document: Document, rng: np.random.Generator) -> Document:
    """The document as a template with other names, numbers and dates in its places, which its words decide."""
    words = words_of(document)
    places = np.random.default_rng(len("".join(words))).permutation(len(words))[: -(-len(words) // _SLOTS)].tolist()
    for kind, at in enumerate(places):
        words[at] = (str(rng.choice(_NAMES)), str(rng.integers(1, 10_000)), str(rng.choice(_MONTHS)))[kind % 3]
    return from_tokens(words)


def change_halves(part: str, halves: Split, seed: int, count: int | None) -> Split:
    """What a part fits on and looks at, from the split, a seed and a number of documents."""
    rng, training = np.random.default_rng(seed), halves.training
    if part == "small":
        return Split(draw(training, count, rng), halves.test)
    if part == "copies":
        return Split([near_copy(document, number) for document in training for number in range(COPIES)], halves.test)
    if part == "templates":
        held_out = [fill_in(document, rng) for document in halves.normal]
        return Split([fill_in(document, rng) for document in training for _ in range(FILLINGS)], held_out)
    return with_anomalies(halves, SPOILT, seed) if part == "spoilt" else halves


def by_length(scores: Scores) -> list[Record]:
    """How many documents are flagged at 5 %, by quarter of length, the shortest first."""
    lengths = np.array(list(map(len, scores.words)))
    quarter = np.searchsorted(np.quantile(lengths, (0.25, 0.5, 0.75)), lengths) if len(lengths) else lengths
    flagged = scores.document_p <= 0.05
    return [{"flagged": int(flagged[quarter == at].sum()), "count": int((quarter == at).sum())} for at in range(4)]


def rates(references: int, scores: Scores) -> list[Record]:
    """How many documents and words are flagged at each rate, by a model of so many reference documents.

    The standard error of the share of words takes documents to be independent, and words of one document not.
    """
    lengths, total, found = np.array(list(map(len, scores.words))), sum(map(len, scores.words)), list[Record]()
    for rate in RATES:
        flagged, rank = int((scores.document_p <= rate).sum()), math.floor(rate * (references + 1) * (1 + 1e-12))
        within = not rank or rank > references or flagged <= future_interval(rank, references, len(lengths), 0.9)[1]
        found.append({"level": "document", "rate": rate, "flagged": flagged, "count": len(lengths), "within": within})
        words = np.array([(p_values <= rate).sum() for p_values in scores.word_p])
        error = float(np.sqrt(((words - words.sum() / max(1, total) * lengths) ** 2).sum()) / max(1, total))
        found.append({"level": "word", "rate": rate, "flagged": int(words.sum()), "count": total, "error": error})
    return found


def mixture(normal: Scores, anomalous: Scores, labels: Sequence[IntArray], share: float, rng: np.random.Generator) -> Record:
    """False discoveries at a false-discovery rate, means over draws of documents of which a share are anomalous.

    `labels` are those of the words of the anomalous documents.
    """
    size = min(_MIXED, int(len(normal.words) / (1 - share)), int(len(labels) / share))
    bad = round(share * size)
    draws = []
    for _ in range(_DRAWS):
        usual = normal.take(rng.permutation(len(normal.words))[: size - bad].tolist())
        odd = anomalous.take(chosen := rng.permutation(len(labels))[:bad].tolist())
        word_labels = np.concatenate([*(np.zeros(len(words)) for words in usual.words), *(labels[at] for at in chosen)])
        by_word = _discoveries(np.concatenate([*usual.word_p, *odd.word_p]), word_labels > 0)
        documents = np.concatenate([usual.document_p, odd.document_p])
        draws.append((_discoveries(documents, np.arange(size) >= size - bad), by_word))
    document, word = (dict(zip(("false", "found"), mean, strict=True)) for mean in np.mean(draws, axis=0).tolist())
    return {"share": share, "size": size, "rate": DISCOVERY, "document": document, "word": word}


def _discoveries(p_values: FloatArray, is_bad: NDArray[np.bool_]) -> tuple[float, float]:
    """Share of the flagged that are normal, and share of the anomalous that are flagged."""
    tally = Tally()
    tally.add(p_values)
    flagged = p_values <= tally.cutoff(DISCOVERY)
    return float((flagged & ~is_bad).sum() / max(1, flagged.sum())), float((flagged & is_bad).sum() / max(1, is_bad.sum()))


def detection(reference: FloatArray, usual: Scores, odd: Scores, other: Scores | None, rng: np.random.Generator) -> Record:
    """Whether the monitor alarms on normal text, and how many documents of changed text it needs after that."""
    normal, anomalous = usual.documents["learned"], odd.documents["learned"]
    start, few = MonitorState("", FALSE_ALARM), round(_BATCH * _CHANGED)
    before = list(_watch(start, reference, [normal[end - _BATCH : end] for end in range(_BATCH, len(normal) + 1, _BATCH)]))

    def documents_until(batches: Sequence[FloatArray]) -> int | None:
        after = _watch(before[-1] if before else start, reference, batches)
        return next((number * _BATCH for number, each in enumerate(after, 1) if each.is_alarm), None)

    mixed = [np.append(rng.choice(normal, _BATCH - few), rng.choice(anomalous, few)) for _ in range(_PATIENCE)]
    found: Record = {"alarm": any(state.is_alarm for state in before), "batches": len(before)}
    found["until_anomalies"] = documents_until([rng.permutation(batch) for batch in mixed])
    if other is not None:
        found["until_other"] = documents_until([rng.choice(other.documents["learned"], _BATCH) for _ in range(_PATIENCE)])
    return found


def _watch(state: MonitorState, reference: FloatArray, batches: Iterable[FloatArray]) -> Iterator[MonitorState]:
    """The monitor's state after each batch of scores."""
    for scores in batches:
        state = state.after("", scores, reference)
        yield state


def shares_frame(records: Records) -> Frame:
    """A row per share of documents or words that is flagged: of which part and text, at which rate or in which quarter."""
    import pandas

    rows = []
    for record in records:
        settings, quarters = record["settings"], record.get("quarters", ())
        of = {"set": record["set"], "part": settings["part"], "documents": settings["documents"]}
        of |= {"asked": settings.get("share"), "drawn": record.get("drawn")}
        shares = {"normal": record["rates"], "anomalous": record.get("found", ()), **record.get("unlike", {})}
        rows += [of | {"text": text} | each for text, figures in shares.items() for each in figures]
        known = [(at, quarter) for at, quarter in enumerate(quarters) if quarter["count"]]
        rows += [of | {"text": "normal", "level": "quarter", "rate": at} | quarter for at, quarter in known]
    frame = pandas.DataFrame(rows).assign(share=lambda each: each.flagged / each["count"].clip(lower=1))
    return ordered(frame, set=sets_of(records))


def promises_markdown(records: Records) -> str:
    """All tables, for each preset that was measured."""
    blocks = []
    for part, said in (("whole", ""), ("feed", " with a feed")):
        for (method,), mine in grouped(records, "method").items():
            if chosen := [record for record in mine if record["settings"]["part"] == part]:
                seeds = plural(len({record["seed"] for record in chosen}), "resample")
                blocks.append(f"## {label_of(method)}{said}, {seeds} of each set")
                blocks += _of_feeds(chosen) if part == "feed" else _of_fits(mine, chosen)
    return page(*blocks)


def _mean(values: Frame) -> str:
    mean = short(values.mean() if len(values) else 0.0)
    return mean if len(values) < 2 else f"{mean} ± {short(2 * values.std() / math.sqrt(len(values)))}"


def _spread(values: Frame) -> str:
    return _mean(values) if len(values) < 2 else f"{_mean(values)} ({short(values.min())}–{short(values.max())})"


Columns = Callable[[Frame], Mapping[str, str]]
"""Cells of a row by their heads, from the shares that the row is of."""


def _at(level: str, heads: Mapping[float, str], text: Callable[[Frame], str] = _spread) -> Columns:
    """Shares of a level at some rates, or in quarters."""
    return lambda group: {head: text(group.share[(group.level == level) & (group.rate == rate)]) for rate, head in heads.items()}


def _within(group: Frame) -> Mapping[str, str]:
    return {"within the 95 % bound": f"{100 * group[group.level == 'document'].within.astype(float).mean():.0f} %"}


def _errors(group: Frame) -> Mapping[str, str]:
    figures = group[(group.level == "word") & (group.rate == 0.05)]
    plain = np.sqrt(0.05 * 0.95 / figures["count"].clip(lower=1))
    return {"error, documents as units / words as units": f"{short(figures.error.mean())} / {short(plain.mean())}"}


def _drawn(group: Frame) -> Mapping[str, str]:
    """Some sets have fewer anomalous documents than were asked for."""
    low, high = 100 * group.drawn.min(), 100 * group.drawn.max()
    return {"anomalous in the feed": f"{low:.0f} %" if high - low < 0.5 else f"{low:.0f}–{high:.0f} %"}


def _false_and_found(group: Frame) -> Mapping[str, str]:
    said = {level: " / ".join(_mean(group[level].str[key]) for key in ("false", "found")) for level in LEVELS[::-1]}
    return {f"{level}s: false / found": text for level, text in said.items()}


_ALL = {rate: f"at {100 * rate:g} %" for rate in RATES}
_DOCUMENTS, _WORDS, _WORDS_AT_5 = _at("document", _ALL), _at("word", _ALL), _at("word", {0.05: "words at 5 %"})
_AT_5 = {level: _at(level, {0.05: f"{level}s"}) for level in ("document", "word")}
_QUARTERS = _at("quarter", dict(enumerate(("shortest quarter", "second", "third", "longest quarter"))), _mean)


def _table(title: str, frame: Frame, heads: Mapping[str, str], *columns: Columns) -> str:
    """A row for each group of shares, named by columns of the frame: those with a head are shown."""
    rows: list[Record] = []
    for names, group in frame.groupby(list(heads), sort=False):
        rows.append({head: name for head, name in zip(heads.values(), names, strict=True) if head})
        for each in columns:
            rows[-1] |= each(group)
    return page(title, markdown(rows))


def _with_all(frame: Frame, by: str = "set") -> Frame:
    """The shares by set, and within it by a column, and all of them once more."""
    import pandas

    every = pandas.concat([frame, frame.assign(set="all")]).sort_values(by, kind="stable")
    return ordered(every, set=[*frame.set.unique(), "all"])


def _labelled(frame: Frame, labels: Mapping[tuple[str, str], str]) -> Frame:
    """The shares of some parts and texts, under labels and in their order."""
    named = frame.assign(label=[labels.get(pair) for pair in zip(frame.part, frame.text, strict=True)])
    return ordered(named.dropna(subset=["label"]), label=list(labels.values()))


_COPIED = {
    ("whole", "normal"): "each document once",
    ("copies", "normal"): "three near-copies of each",
    ("templates", "normal"): "each a template, filled in four times; new ones are other templates",
}
"""What models were fitted on that know copies, by part and text."""
_NOT_COVERED = {
    ("whole", "normal"): "normal, held out",
    ("whole", "seen"): "the documents that the model was fitted on",
    ("whole", "longer"): "five documents in one",
    ("whole", "other"): "normal documents of another set",
    ("spoilt", "normal"): "normal, fitted on 10 % anomalous documents",
    ("whole", "anomalous"): "anomalous, fitted on normal documents",
    ("spoilt", "anomalous"): "anomalous, fitted on 10 % anomalous documents",
}
"""Text that the promise does not cover, beside text that it covers."""


def _of_fits(records: Records, whole: Records) -> list[str]:
    """Rates on held-out normal text, of fits on copies and on few documents, and where the promise is none; the monitor."""
    import pandas

    frame = shares_frame(records)
    normal = frame[(frame.part == "whole") & (frame.text == "normal")]
    few = frame[(frame.part == "small") & (frame.text == "normal")].sort_values("documents", kind="stable")
    few = pandas.concat([few.assign(label=few.documents.map("{:.0f}".format)), normal.assign(label="half of the set")])
    uncovered = {pair: label for pair, label in _NOT_COVERED.items() if pair[1] != "anomalous" or "spoilt" in set(frame.part)}
    mixtures = ordered(pandas.DataFrame([{"set": r["set"]} | each for r in whole for each in r["mixtures"]]), set=sets_of(whole))
    mixtures["anomalous"] = mixtures.share.map(lambda share: f"{100 * share:.0f} %")
    sets, of_set, few_columns = _with_all(normal), {"set": "set"}, (_DOCUMENTS, _WORDS_AT_5, _within)
    title, lowest = "**Normal {} that are flagged{}**, mean of all resamples ± 2 standard errors", " (lowest–highest)"
    copies = "**Copies and templates among the documents to fit on**: normal ones that are flagged, over all sets"
    false = "**False discoveries**: share of the flagged that is normal, at a false-discovery rate of 10 %, and share found"
    small = "**Few documents to fit on**: normal ones that are flagged, over all sets"
    strange = "**Text that the promise does not cover**: flagged at 5 %, over all sets"
    return [
        _table(title.format("documents", "") + lowest, sets, of_set, _DOCUMENTS, _within),
        _table(title.format("documents", " at 5 %, by length"), sets, of_set, _QUARTERS),
        _table(title.format("words", "") + lowest, sets, of_set, _WORDS, _errors),
        _table(copies, _labelled(frame, _COPIED), {"label": "fitted on"}, *few_columns, _QUARTERS),
        _table(false, _with_all(mixtures, "share"), {"set": "set", "anomalous": "anomalous"}, _false_and_found),
        _table(small, few, {"label": "documents"}, *few_columns),
        _table(strange, _labelled(frame, uncovered), {"label": "text"}, *_AT_5.values()),
        _monitor(whole),
    ]


def _of_feeds(records: Records) -> list[str]:
    """Rates on documents of the feed that the model learned from, by set and by the share of anomalous ones in the feed."""
    title = "**Normal {}s of the feed that are flagged**, mean of all resamples ± 2 standard errors (lowest–highest)"
    every, heads = _with_all(shares_frame(records), "asked"), {"set": "set", "asked": ""}
    return [
        _table(title.format("document"), every, heads, _drawn, _DOCUMENTS, _within),
        _table(title.format("word"), every, heads, _drawn, _WORDS),
    ]


def _monitor(records: Records) -> str:
    """False alarms of the monitor, and how soon it finds a change."""
    monitors = [record["monitor"] for record in records]
    alarms, batches = (sum(monitor[key] for monitor in monitors) for key in ("alarm", "batches"))
    title = (
        f"**Monitor**: {alarms} false alarms in {len(monitors)} feeds of held-out normal documents, {batches} batches of 50; "
        "promised: at most 5 % of feeds."
    )
    rows = []
    for key, label in (("until_anomalies", "one document in five is anomalous"), ("until_other", "another set")):
        tried = [monitor[key] for monitor in monitors if key in monitor]
        found = [count for count in tried if count is not None]
        row = {"change after that": label, "found": f"{len(found)} of {len(tried)}"}
        rows += [row | {"documents until then, median": f"{np.median(found):.0f}" if found else ""}] if tried else []
    return page(title, markdown(rows))


PROMISES = Study(
    "promises",
    _compute,
    promises_markdown,
    code=("bench/promises.py", "bench/analyses.py", "decide/confidence.py", "monitor"),
)
