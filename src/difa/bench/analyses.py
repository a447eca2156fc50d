"""The analyses of the paper: `difa bench efficiency`, `contamination`, `sparsity` and `examples`.

Efficiency: accuracy against time and memory. Each method runs in a fresh process, whose peak of memory is its own; nothing is
cached, fitting and scoring include the encoding of their documents, and loading libraries and the encoder is not counted.
Contamination: `noise`, as in the paper, on a share of the training word vectors, or real `anomalies` among training documents.
These are taken from the test, always the same ones: all shares are judged on the same documents and fitted on the same number.
Sparsity: half of the normal test documents get exactly k of the words that annotators marked in this set, at random places.
Examples: per set the paper's own, where the test half has it, and anomalous documents drawn by chance: not the best ones.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from difa.bench import methods, tables
from difa.bench.data import Split, check_names, draw, is_anomalous, words_of
from difa.bench.methods import check_methods, label_of, own_rule, run_method
from difa.bench.metrics import RATE, Record, Records, Scores, figures_of, judge_documents
from difa.bench.plots import draw_contamination, draw_efficiency, draw_examples, draw_sparsity, example_titles
from difa.bench.run import Cell, Run, Study, write_text
from difa.bench.speed import memory_of
from difa.bench.tables import ENTRIES, by_column, grouped, markdown, page, plural, short
from difa.document import Document, Encoded
from difa.errors import DifaError
from difa.report.html import WORD_STYLE, safe, shaded_text
from difa.runtime.parallel import core_count
from difa.words import from_tokens

SHARES: dict[str, tuple[float, ...]] = {
    "noise": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "anomalies": (0.0, 0.05, 0.1, 0.15, 0.2),
}
_SPOILT = {
    "noise": "a share of the training word vectors has Gaussian noise",
    "anomalies": "a share of the training documents are real anomalies",
}
COUNTS = (1, 2, 3, 5, 8)  # anomalous words in a document
PAPER = {"grammar": ("social", "issues"), "review": ("Tastless",), "spam": ("oeidjhksiwewiwj",)}
"""Words by which the examples of the paper's figure are found; the last is the one that it says scores highest."""
PAPERS_OWN = "the paper's example"
_MOST_WORDS = 60  # longer documents fill a page without showing more


def run_efficiency(run: Run, names: Sequence[str] = ()) -> list[Record]:
    """Measure, and write `efficiency.json`, `efficiency.md` and the picture."""
    return EFFICIENCY.measure(run, check_methods(names))


def run_contamination(run: Run, names: Sequence[str] = (), kinds: Sequence[str] = ()) -> list[Record]:
    """Measure some ways of contamination, all for none, and write `contamination.json`, `contamination.md` and the picture."""
    chosen = check_names("kinds", kinds, list(SHARES), f"some of {', '.join(SHARES)}")
    settings = [{"kind": kind, "share": share} for kind in chosen for share in SHARES[kind]]
    return CONTAMINATION.measure(run, check_methods(names), lambda cell: settings)


def run_sparsity(run: Run, names: Sequence[str] = ()) -> list[Record]:
    """Measure, and write `sparsity.json`, `sparsity.md` and the picture."""
    return SPARSITY.measure(run, check_methods(names), lambda cell: [{"counts": COUNTS}])


def run_examples(run: Run, preset: str = "full", count: int = 3) -> list[Record]:
    """Fit on each set with the first seed, and write `examples.json`, `examples.md`, `examples.html` and the picture."""
    first = replace(run, options=replace(run.options, seeds=run.options.seeds[:1]))
    records = EXAMPLES.measure(first, [f"difa-{preset}"], lambda cell: [{"count": count}])
    write_text(run.folder / "examples.html", examples_page(records))
    return records


def _compute_efficiency(cell: Cell) -> Record:
    halves, options = cell.halves, replace(cell.options, cache=None)
    _ = cell.options.reader  # exported now: no method's time includes it
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            scores, cost = pool.submit(measure, cell.method, halves, cell.seed, options).result()
    except BrokenProcessPool:
        remedy = 'a script must ask for this below `if __name__ == "__main__":`'
        raise DifaError(f"{cell.method}: expected figures from a process of its own, but it was ended: {remedy}") from None
    words = {f"{half}_words": sum(len(each.words) for each in getattr(halves, half)) for half in ("training", "test")}
    figures = figures_of(scores, halves.word_labels, cell.options.draws, cell.seed)
    return {"figures": figures, **cost, **words, "cores": core_count()}


def measure(name: str, halves: Split, seed: int, options: methods.Options) -> tuple[Scores, Record]:
    """Fit and score, and say what the scores were, how long it took and how much memory."""
    encode_seconds = 0.0
    if methods.needs_vectors(name):
        import torch  # noqa: F401  # loading it is not fitting

        options.reader.encode(halves.training[:2])
        read = [*halves.training, *(halves.test if name in methods.FED else ())]
        encode_seconds = methods.clock(lambda: options.reader.encode(read))[1]
    scores = run_method(name, {}, halves, seed, options)
    cost = {
        "encode_seconds": encode_seconds,
        "fit_seconds": scores.fit_seconds + scores.encode_seconds[0],
        "score_seconds": scores.score_seconds + scores.encode_seconds[1],
        "peak_mib": peak_mib(),
    }
    return replace(scores, views={}), cost


def peak_mib() -> float:
    """The most memory this process has held, in MiB."""
    if held := memory_of("self"):  # of this program alone: `getrusage` inherits the peak of the process that started it
        return held["VmHWM"]
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def efficiency_markdown(records: Records) -> str:
    """Times, memory and accuracy, a table per set."""
    about = (
        "Each method in a process of its own. Times include encoding where the method needs vectors, and leave out loading; "
        "memory is the peak of the process, libraries included."
    )
    blocks = [about]
    for (name, form), mine in grouped(records, "set", "form").items():
        words = f"{mine[0]['training_words']} words to fit on, {mine[0]['test_words']} to score, {mine[0]['cores']} cores"
        rows = []
        for method, cost in tables.costs_of(tables.figures_frame(mine)).iterrows():
            row = {"method": label_of(method), "word AUROC": short(cost.word), "document AUROC": short(cost.document)}
            row["fit, s"] = f"{cost.fit_seconds:.1f}"
            row["fit, in encodings of its words"] = f"{cost.fit_seconds / cost.encode_seconds:.1f}" if cost.encode_seconds else ""
            row["score, s"] = f"{cost.score_seconds:.2f}"
            row["words scored per s"] = f"{cost.test_words / max(cost.score_seconds, 1e-9):,.0f}"
            rows.append(row | {"peak memory, MiB": f"{cost.peak_mib:.0f}"})
        blocks += [f"## {name.capitalize()}, {form} form: {words}", markdown(rows)]
    return page(*blocks)


def _compute_contamination(cell: Cell) -> Record:
    name, halves, options, seed, vectors = cell.method, cell.halves, cell.options, cell.seed, None
    if cell.settings["kind"] == "anomalies":
        halves = with_anomalies(halves, cell.settings["share"], seed)
    else:
        vectors = add_noise(options.encoder_of(name).encode(halves.training), cell.settings["share"], seed)
    scores, rule = run_method(name, {}, halves, seed, options, vectors), own_rule(name)
    return {"figures": [judge_documents(halves.word_labels, scores.documents[rule], options.draws, seed, pooling=rule)]}


def add_noise(documents: Sequence[Encoded], share: float, seed: int) -> list[Encoded]:
    """Gaussian noise, of each dimension's standard deviation over the corpus, on a share of the words."""
    rng = np.random.default_rng(seed)
    spread = np.concatenate([document.vectors for document in documents]).std(0)
    noisy = []
    for document in documents:
        hit = rng.random(len(document)) < share
        noise = rng.normal(size=document.vectors.shape) * spread * hit[:, None]
        noisy.append(replace(document, vectors=(document.vectors + noise).astype(np.float32)))
    return noisy


def with_anomalies(halves: Split, share: float, seed: int) -> Split:
    """Training documents of which a share are anomalous ones, held out of the test whatever the share."""
    rng = np.random.default_rng(seed)
    reserve = draw(halves.anomalous, len(halves.anomalous) // 2, rng)
    size = min(len(halves.training), int(len(reserve) / max(SHARES["anomalies"])))
    normal = draw(halves.training, None, rng)
    bad = round(share * size)
    held = {id(document) for document in reserve}
    return Split(normal[: size - bad] + reserve[:bad], [document for document in halves.test if id(document) not in held])


def contamination_markdown(records: Records) -> str:
    """Document figures by share, a table per set and way."""
    blocks = [f"Document {ENTRIES}"]
    for (name, form, kind), mine in grouped(records, "set", "form", "kind").items():
        blocks += [f"## {name.capitalize()}, {form} form: {_SPOILT[kind]}", by_column(mine, "share", "{:.0%}".format)]
    return page(*blocks)


def _compute_sparsity(cell: Cell) -> Record:
    groups, rule = make_groups(cell.halves, cell.settings["counts"], cell.seed), own_rule(cell.method)
    halves = Split(cell.halves.training, [document for group in groups.values() for document in group])
    scores = run_method(cell.method, {}, halves, cell.seed, cell.options).documents[rule]
    count_of = np.repeat(list(groups), list(map(len, groups.values())))
    figures = []
    for count in cell.settings["counts"]:
        members = np.flatnonzero((count_of == 0) | (count_of == count))
        labels, of = [halves.word_labels[index] for index in members], {"part": str(count), "pooling": rule}
        figures.append(judge_documents(labels, scores[members], cell.options.draws, cell.seed, **of))
    return {"figures": figures}


def make_groups(halves: Split, counts: Sequence[int], seed: int) -> dict[int, list[Document]]:
    """Documents by their number of anomalous words: the normal ones under 0, and the others with each number in turn."""
    rng = np.random.default_rng(seed)
    pairs = [pair for document in halves.test for pair in zip(words_of(document), document.labels or (), strict=True)]
    marked = [word for word, label in pairs if label]
    normal = draw(halves.normal, None, rng)
    half = len(normal) // 2
    changed = {count: [insert_words(document, count, marked, rng) for document in normal[half:]] for count in counts}
    return {0: normal[:half]} | changed


def insert_words(document: Document, count: int, marked: Sequence[str], rng: np.random.Generator) -> Document:
    """The document with so many of the marked words put in at random positions, labelled 1."""
    tokens, labels = words_of(document), [0] * len(document.words)
    for _ in range(count):
        at = int(rng.integers(len(tokens) + 1))
        tokens.insert(at, marked[int(rng.integers(len(marked)))])
        labels.insert(at, 1)
    return from_tokens(tokens, id=document.id, labels=labels)


def sparsity_markdown(records: Records) -> str:
    """Document figures by the number of anomalous words, a table per set."""
    blocks = [f"Document {ENTRIES}"]
    for (name, form), mine in grouped(records, "set", "form").items():
        blocks.append(f"## {name.capitalize()}, {form} form: so many anomalous words per anomalous document")
        blocks.append(by_column(mine, "part", lambda count: plural(count, "word")))
    return page(*blocks)


def _compute_examples(cell: Cell) -> Record:
    chosen = choose(cell.dataset.name, cell.halves, cell.settings["count"], cell.seed)
    with methods.quiet_rates():
        model = cell.options.difa(methods.preset_of(cell.method), cell.seed).fit(cell.halves.training)
        results = model.score([document for _, document in chosen], fpr=RATE)
    shown = []
    for (why, document), result in zip(chosen, results, strict=True):
        verdict = f"document p = {result.p_value:.2g}" + (", flagged" if result.is_anomaly else "")
        words = [
            {"text": word.text, "score": word.score, "p": word.p_value, "marked": bool(label)}
            for word, label in zip(result.words, document.labels or (), strict=True)
        ]
        shown.append({"why": why, "verdict": verdict, "html": shaded_text(result), "words": words})
    return {"documents": shown}


def choose(name: str, halves: Split, count: int, seed: int) -> list[tuple[str, Document]]:
    """The paper's example, if it is there, and some drawn by chance."""
    anomalous = [document for document in halves.test if is_anomalous(document) and len(document.words) <= _MOST_WORDS]
    wanted = {word.lower() for word in PAPER.get(name, ())}
    known = [d for d in anomalous if wanted and wanted <= set(" ".join(words_of(d)).lower().split())][:1]
    others = [document for document in anomalous if document not in known]
    drawn = np.random.default_rng(seed).permutation(len(others))[:count]
    return [*((PAPERS_OWN, d) for d in known), *(("drawn by chance", others[index]) for index in sorted(drawn))]


def _marked(document: Record) -> str:
    return ", ".join(word["text"] for word in document["words"] if word["marked"])


def examples_markdown(records: Records) -> str:
    """What the picture cannot say: the highest word of each document beside the annotators' marks."""
    titles = tables.unique(f"{label_of(record['method'])}, seed {record['seed']}" for record in records)
    rows = [
        {
            "document": title.replace("|", "\\|"),
            "highest word": f"`{max(document['words'], key=lambda word: word['score'])['text']}`",
            "marked by annotators": f"`{_marked(document)}`",
        }
        for title, document in example_titles(records)
    ]
    return page(f"{'; '.join(titles)}.", markdown(rows))


def examples_page(records: Records) -> str:
    """The examples as one HTML file that needs nothing else."""
    style = f"{WORD_STYLE}body{{font-family:system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}}"
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Examples</title><style>{style}</style></head>'
    documents = [
        f'<h2>{safe(title)}</h2><p class="difa-text">{document["html"]}</p>'
        f"<p><small>Marked by annotators: {safe(_marked(document))}</small></p>"
        for title, document in example_titles(records)
    ]
    return "\n".join([f"{head}<body>", "<h1>Scored examples</h1>", *documents, "</body></html>", ""])


_CODE = ("bench/analyses.py",)
EFFICIENCY = Study(
    "efficiency",
    _compute_efficiency,
    efficiency_markdown,
    draw_efficiency,
    _CODE,
    depends=lambda run: {"cores": core_count(), "threads": run.options.threads},
)
CONTAMINATION = Study("contamination", _compute_contamination, contamination_markdown, draw_contamination, _CODE)
SPARSITY = Study("sparsity", _compute_sparsity, sparsity_markdown, draw_sparsity, _CODE)
EXAMPLES = Study("examples", _compute_examples, examples_markdown, draw_examples, _CODE)
