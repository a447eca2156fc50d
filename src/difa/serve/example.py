"""A model -> texts to try on the page: one made of pairs of words that its normal documents share, and the same with a typo.

A model keeps no sentence of its normal text. Of pairs of neighbours it keeps those that several documents have; the made-up text
follows them from the beginning of a document to its end, so nothing is shown that one document alone says. A model that
was fitted without that bound, or keeps no pairs, has no examples.
"""

from __future__ import annotations

import math
from collections import defaultdict

from difa.estimator import DiFA
from difa.views.critic import CriticView
from difa.views.critic.counts import CorpusCounts

_LENGTHS = range(6, 9)  # words and marks of a text
_PATHS = 200  # texts under way that are followed, the most probable ones
_CANDIDATES = 4  # texts of each length that the model scores
_LEAST_LETTERS = 5  # of a word that gets the typo, so that it can be seen
_MARKS = ".?!"


def make_examples(model: DiFA) -> list[str]:
    """The text with a typo, and the text as it was; none where the model has nothing to make one of."""
    critic = next((view for view in model.detector_.views if isinstance(view, CriticView)), None)
    counts = critic.statistics.corpus if critic else None
    texts = [text for text in _texts(counts) if max(map(len, text)) >= _LEAST_LETTERS] if counts and counts.mask.key else []
    if not texts:
        return []
    best = texts[int(model.decision_function(map(_written, texts)).argmin())]
    longest = max(best, key=len)
    at = next((at for at in range(len(longest) // 2, len(longest) - 1) if longest[at] != longest[at + 1]), 0)
    mistyped = longest[:at] + longest[at + 1] + longest[at] + longest[at + 2 :]  # two letters in the middle change places
    return [_written([mistyped if word == longest else word for word in best]), _written(best)]


def _texts(counts: CorpusCounts) -> list[list[str]]:
    """The most probable ways from the beginning of a document to its end, over words that are not repeated."""
    names = ["", *counts.words]
    after: dict[int, dict[int, int]] = defaultdict(dict)
    for left, right, count in counts.pairs.tolist():
        if not right or names[right].isalpha() or names[right] in _MARKS:
            after[left][right] = count
    found: list[list[str]] = []
    paths: list[tuple[float, tuple[int, ...]]] = [(0.0, (0,))]
    for length in range(1, _LENGTHS.stop + 1):
        steps = [
            (chance + math.log(count / sum(after[path[-1]].values())), (*path, right))
            for chance, path in paths
            for right, count in after[path[-1]].items()
            if right not in path[1:]
        ]
        steps.sort(reverse=True)
        if length - 1 in _LENGTHS:
            ended = [path for _, path in steps if path[-1] == 0][:_CANDIDATES]
            found += [[names[number] for number in path[1:-1]] for path in ended]
        paths = [step for step in steps if step[1][-1] != 0][:_PATHS]
    return found


def _written(words: list[str]) -> str:
    text = "".join(word if word in _MARKS else f" {word}" for word in words).strip()
    return text[:1].upper() + text[1:]
