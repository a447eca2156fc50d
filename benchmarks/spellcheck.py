"""A spell-checker beside DiFA: how many of the anomalous words each marks, with equally many normal words marked.

A spell-checker has no rate to choose: it marks what its dictionary does not have. DiFA (preset `fast`) is given the limit at
which it marks as many normal words. Needs `pip install pyspellchecker`.

python benchmarks/spellcheck.py --data path/to/data
"""

import argparse
from pathlib import Path

import numpy as np
from spellchecker import SpellChecker

from difa import DiFA
from difa.bench.data import load_sets, split

SETS = ("spam", "reports", "essays", "grammar", "toxic", "review")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    checker = SpellChecker()
    print("| set | normal words marked | anomalous words marked: spell-checker | DiFA (fast) |")
    print("|---|---|---|---|")
    for data in load_sets(options.data, SETS, ("clean",)):
        parts = split(data.documents, 0)
        labels = np.concatenate(parts.word_labels).astype(bool)
        words = [word.text for document in parts.test for word in document.words]
        unknown = checker.unknown({word for word in words if word.isalpha()})
        marked = np.array([word.isalpha() and word.lower() in unknown for word in words])
        model = DiFA("fast").fit(parts.training)
        scores = np.array([word.score for result in model.score(parts.test) for word in result.words])
        rate = marked[~labels].mean()
        limit = np.quantile(scores[~labels], 1 - rate)
        print(f"| {data.name} | {rate:.1%} | {marked[labels].mean():.0%} | {(scores[labels] > limit).mean():.0%} |", flush=True)


if __name__ == "__main__":
    main()
