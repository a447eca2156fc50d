"""Suggestions beside those of a spell-checker: typos in held-out text, one to a text; which suggestions are right, and how many
words of the unchanged texts get one.

English text is docstrings of this machine, German text its manual pages (`apt-get install manpages-de`). Half of the texts are
for fitting. Both are asked about the word with the typo and about every other one. Needs `pip install pyspellchecker`.

With --data it measures what is marked instead: a spell-checker has no rate to choose, it marks what its dictionary does not have;
DiFA is given the limit at which it marks as many normal words.

python benchmarks/spellcheck.py --languages en,de
python benchmarks/spellcheck.py --data path/to/data
"""

import argparse
import gzip
import re
import warnings
from pathlib import Path
from random import Random

import numpy as np
from planted import _word, read
from spellchecker import SpellChecker

from difa import DiFA
from difa.bench.data import load_sets, split

SETS = ("spam", "reports", "essays", "grammar", "toxic", "review")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def man_pages(language: str, folder: Path = Path("/usr/share/man")) -> list[str]:
    """Paragraphs of prose of the manual pages in a language, each once."""
    found: dict[str, None] = {}
    for path in sorted((folder / language).glob("man*/*.gz")):
        lines = re.sub(r"^[.'].*$", "", gzip.decompress(path.read_bytes()).decode("utf-8", "replace"), flags=re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", re.sub(r"\\f[BIRP]|\\&|\\%", "", lines).replace("\\-", "-").replace("\\(aq", "'")):
            text = " ".join(paragraph.split())
            if 15 <= len(text.split()) <= 150 and "\\" not in text and text[0].isupper() and text[-1] in ".!?":
                found[text] = None
    return list(found)


def misspell(word: str, rng: Random) -> str:
    """A letter left out, doubled, changed or exchanged with the next, not the first one."""
    at = rng.randrange(1, len(word) - 1)
    changes = (word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], word[:at] + rng.choice(LETTERS) + word[at + 1 :],
               word[:at] + word[at + 1] + word[at] + word[at + 2 :])  # fmt: skip
    changed = rng.choice(changes)
    return changed if changed != word else misspell(word, rng)


def measure(texts: list[str], language: str, preset: str, rng: Random) -> list[str]:
    half = len(texts) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DiFA(preset).fit(texts[:half])
    checker, made = SpellChecker(language=language), []
    for text in texts[half:]:
        match = _word(text, rng, 5)
        if len(match[0]) >= 5:
            typo = misspell(match[0], rng)
            made.append((text[: match.start()] + typo + text[match.end() :], match.start(), match[0]))
    right = {"DiFA": 0, "pyspellchecker": 0}
    given = dict(right)
    wrong = dict(right)
    words = 0
    for (_, start, meant), result in zip(made, model.score([text for text, *_ in made]), strict=True):
        for word in result.words:
            is_typo = word.start == start
            unknown = word.text.isalpha() and word.text.lower() not in checker
            theirs = checker.correction(word.text.lower()) if is_typo and unknown else word.text if unknown else None
            words += not is_typo
            for name, suggestion in (("DiFA", word.suggestion), ("pyspellchecker", theirs)):
                given[name] += is_typo and suggestion is not None
                right[name] += is_typo and suggestion is not None and suggestion.lower() == meant.lower()
                wrong[name] += not is_typo and suggestion is not None
    return [
        f"| {language} | {name} | {len(made)} | {right[name] / max(given[name], 1):.0%} | {right[name] / len(made):.0%} "
        f"| {1000 * wrong[name] / words:.1f} |"
        for name in right
    ]


def measure_sets(folder: Path, preset: str) -> None:
    checker = SpellChecker()
    print("| set | normal words marked | anomalous words marked: spell-checker | DiFA |")
    print("|---|---|---|---|")
    for data in load_sets(folder, SETS, ("clean",)):
        parts = split(data.documents, 0)
        labels = np.concatenate(parts.word_labels).astype(bool)
        words = [word.text for document in parts.test for word in document.words]
        unknown = checker.unknown({word for word in words if word.isalpha()})
        marked = np.array([word.isalpha() and word.lower() in unknown for word in words])
        results = DiFA(preset).fit(parts.training).score(parts.test)
        scores = np.array([word.score for result in results for word in result.words])
        rate = marked[~labels].mean()
        limit = np.quantile(scores[~labels], 1 - rate)
        print(f"| {data.name} | {rate:.1%} | {marked[labels].mean():.0%} | {(scores[labels] > limit).mean():.0%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--languages", default="en,de")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--documents", type=int, default=1200)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.data is not None:
        measure_sets(options.data, options.preset)
        return
    print("| language | by | typos | suggestions that are right | typos with the right one | other words with one, of 1,000 |")
    print("|---|---|---|---|---|---|")
    for language in options.languages.split(","):
        rng = Random(0)
        texts = read("docstrings") if language == "en" else man_pages(language)
        print(
            *measure(rng.sample(texts, min(len(texts), options.documents)), language, options.preset, rng), sep="\n", flush=True
        )


if __name__ == "__main__":
    main()
