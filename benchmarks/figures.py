"""The figures of the README: quality on the benchmark sets, false-alarm rates, and the cost of fitting.

    python benchmarks/figures.py --preset paper --form original --seeds 42
    python benchmarks/figures.py --preset full --form clean --seeds 0 1 2 3 4

Data: tokenad/{original,clean}/{spam,review,grammar}.jsonl below --data, DIFA_DATA or ../shared/data. The split is that of the
TokenCore paper: half of the normal documents for fitting, everything else for testing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from scipy.stats import binom

from difa import DiFA, Document
from difa.config import EncoderConfig
from difa.encoders import load_encoder
from difa.evaluate import measure
from difa.formats import read_documents

SETS = ("spam", "review", "grammar")
RATE = 0.05


def split(documents: list[Document], seed: int) -> tuple[list[Document], list[Document]]:
    """Normal documents to fit on, and all others."""
    normal = [index for index, document in enumerate(documents) if not any(document.labels or ())]
    np.random.seed(seed)  # the legacy generator is part of the published split
    chosen = set(np.random.choice(normal, len(normal) // 2, replace=False).tolist())
    rest = [document for index, document in enumerate(documents) if index not in chosen]
    return [documents[index] for index in sorted(chosen)], rest


def run(path: Path, preset: str, seed: int) -> dict[str, float]:
    """Fit on one split of one set and measure on the rest."""
    training, test = split(list(read_documents([str(path)])), seed)
    encoder = load_encoder(EncoderConfig())
    started = time.perf_counter()
    encoder.encode(training)
    embedding = time.perf_counter() - started
    started = time.perf_counter()
    model = DiFA(preset, seed=seed).fit(training)
    fitting = time.perf_counter() - started
    results = model.score(test, fpr=RATE)
    labels = np.concatenate([document.labels for document in test])
    anomalous = np.array([any(document.labels) for document in test])
    words = [word for result in results for word in result.words]
    levels = {
        "word": measure("words", labels, np.array([word.score for word in words])),
        "document": measure("documents", anomalous.astype(int), np.array([result.score for result in results])),
    }
    for view in words[0].evidence:
        levels[view] = measure("words", labels, np.array([word.evidence[view] for word in words]))
    figures = {f"{name} {key}": getattr(level, key) for name, level in levels.items() for key in ("auroc", "average_precision")}
    flagged = np.array([result.is_anomaly for result in results])[~anomalous]
    return figures | {
        "normal": len(flagged),
        "flagged": int(flagged.sum()),
        "fit/embed": fitting / embedding,
        "fit seconds": fitting,
    }


def show(name: str, figures: dict[str, float]) -> None:
    """One line of the table."""
    pairs = [f"{figures[f'{level} auroc']:.3f}/{figures[f'{level} average_precision']:.3f}" for level in LEVELS]
    low, high = (binom.ppf(q, figures["normal"], RATE) / figures["normal"] for q in (0.025, 0.975))
    alarm = f"{figures['flagged'] / figures['normal']:.3f} ({low:.3f}–{high:.3f})"
    print(f"{name:<18}" + "".join(f"{pair:>14}" for pair in pairs) + f"{alarm:>22}{figures['fit/embed']:>10.1f}", flush=True)


LEVELS = ("word", "semantic", "form", "document")


def main() -> None:
    """Print the table, and write it as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIFA_DATA", "../shared/data")))
    parser.add_argument("--preset", default="full")
    parser.add_argument("--form", default="clean", choices=("clean", "original"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not (options.data / "tokenad").is_dir():
        parser.error(f"no folder tokenad below {options.data}: give --data or set DIFA_DATA")
    print(f"{'set, seed':<18}" + "".join(f"{level:>14}" for level in LEVELS) + f"{f'alarms at {RATE}':>22}{'fit/embed':>10}")
    table = {}
    for name in options.sets:
        for seed in options.seeds:
            figures = run(options.data / "tokenad" / options.form / f"{name}.jsonl", options.preset, seed)
            table[f"{name} {seed}"] = figures
            show(f"{name} {seed}", figures)
    for name in options.sets if len(options.seeds) > 1 else ():
        rows = [table[f"{name} {seed}"] for seed in options.seeds]
        show(f"{name} mean", {key: float(np.mean([row[key] for row in rows])) for key in rows[0]})
    means = {key: float(np.mean([row[key] for row in table.values()])) for key in next(iter(table.values()))}
    pairs = [f"{means[f'{level} auroc']:.3f}/{means[f'{level} average_precision']:.3f}" for level in LEVELS]
    print(f"{'average':<18}" + "".join(f"{pair:>14}" for pair in pairs))
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
