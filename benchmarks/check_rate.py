"""How much faults that have a name should count in `difa check`: faults planted in held-out normal texts, found at a small rate.

Texts, faults and their sources are those of planted.py. Prints the table of docs/choices.md.

python benchmarks/check_rate.py [--per-thousand 1]
"""

import argparse
from random import Random

import numpy as np
from planted import PLANT, SOURCES, read

from difa import DiFA, detector
from difa.calibrate import TailReference
from difa.document import Scored

SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
KINDS = ("typo", "doubled word", "glued words", "broken encoding", "HTML", "placeholder", "insult")


def found_in(parts: list[Scored], reference: TailReference, rate: float) -> tuple[list[bool], float]:
    """Which documents have a word that is flagged, and the share of words that are."""
    flags = []
    for part in parts:
        scores = detector.linter_scores(part.word_scores, part.evidence, part.views)
        is_found = reference.p_values(scores) <= rate
        flags += [is_found[start:end] for start, end in zip(part.starts, part.starts[1:], strict=False)]
    return [bool(each.any()) for each in flags], float(np.concatenate(flags).mean())


def measure(source: str, share: float, rate: float) -> list[float]:
    """Share of planted faults of each kind that are found, where nothing was found before; then of normal words, per thousand."""
    detector.LINTER_GAIN = share
    rng = Random(0)
    texts = read(source)
    rng.shuffle(texts)
    normal, new = texts[:850], texts[850:1850]
    model = DiFA("fast", seed=0).fit(normal)
    reference = model.detector_.linter_reference
    before, false = found_in(model.score_columns(new), reference, rate)
    figures = []
    for kind in KINDS:
        planted = [PLANT[kind][0](text, rng) for text in new[:300]]
        after, _ = found_in(model.score_columns(planted), reference, rate)
        figures.append(float(np.mean([now for was, now in zip(before, after, strict=False) if not was])))
    return [*figures, 1000 * false]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-thousand", type=float, default=1.0)
    rate = parser.parse_args().per_thousand / 1000
    print(f"| share | {' | '.join(KINDS)} | normal words, in 1,000 |")
    print("|" + "---|" * (len(KINDS) + 2))
    for share in SHARES:
        pairs = zip(*(measure(source, share, rate) for source in SOURCES), strict=True)
        *kinds, false = [[*pair] for pair in pairs]
        cells = [" / ".join(f"{value:.0%}".replace("%", " %") for value in pair) for pair in kinds]
        print(f"| {share:g} | {' | '.join(cells)} | {' / '.join(f'{value:.2f}' for value in false)} |", flush=True)


if __name__ == "__main__":
    main()
