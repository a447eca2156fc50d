"""What DiFA finds in several languages: errors put into messages of free software that nothing was fitted on.

The texts are the translations that gettext keeps in `*.mo` files; for English, the originals. Half of the messages are for
fitting. Each of the others is scored as it is, and once with an error of each kind.

python benchmarks/languages.py --locale /usr/share/locale
"""

import argparse
import gettext
import re
import warnings
from pathlib import Path

import numpy as np

from difa import DiFA
from difa.knowledge.wordlist import common_words
from difa.perturb.string_errors import mash, typo
from difa.words import split_words

LANGUAGES = "en,de,fr,es,pl,ru,ja"
PROGRAMS = ("git", "gnupg2", "gtk30", "glib20", "coreutils", "bash", "dpkg", "apt", "adduser", "at-spi2-core", "gettext-tools")
SKIP = re.compile(r"[%<>{}\\`_|]|--|\n|https?:")  # messages with placeholders, markup, options or several lines
LEAST_LETTERS = 25


def messages(locale: Path, language: str) -> list[str]:
    found: dict[str, None] = {}
    for program in PROGRAMS:
        path = locale / ("de" if language == "en" else language) / "LC_MESSAGES" / f"{program}.mo"
        if path.is_file():
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog
            for key, value in catalogue.items():
                text = key if language == "en" else value
                if key and isinstance(key, str) and not SKIP.search(text) and sum(map(str.isalpha, text)) >= LEAST_LETTERS:
                    found[text] = None
    return list(found)


def with_error(kind: str, text: str, language: str, rng: np.random.Generator) -> tuple[str, range] | None:
    """The text with one error, and where it lies in it; None where the text has no place for it."""
    words = [word for word in split_words(text) if word.text.isalpha() and (kind != "typo" or len(word.text) >= 5)]
    if not words:
        return None
    word = words[rng.integers(len(words))]
    new = {"typo": lambda: typo(word.text, rng), "gibberish": lambda: mash(word.text, rng)}
    if kind in new:
        changed, begin = new[kind](), word.start
    elif kind == "doubled word":
        changed, begin = f"{word.text} {word.text}", word.end + 1
    else:
        foreign = common_words("de" if language == "en" else "en", 2000)[200:]
        run = " ".join(rng.choice(foreign, 3))
        changed, begin = f"{word.text} {run}", word.end + 1
    if changed == word.text:
        return None
    return text[: word.start] + changed + text[word.end :], range(begin, word.start + len(changed))


def measure(texts: list[str], language: str, preset: str, rng: np.random.Generator) -> list[str]:
    half = len(texts) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DiFA(preset, fpr=0.05).fit(texts[:half])
    cells = [language, model.detector_.language or "none", str(half)]
    cells.append(f"{np.mean([result.is_anomaly for result in model.score(texts[half:])]):.0%}")
    for kind in ("typo", "gibberish", "doubled word", "foreign words"):
        made = [changed for text in texts[half:] if (changed := with_error(kind, text, language, rng))]
        results = model.score([text for text, _ in made])
        marked = [
            any(word.is_anomaly and word.start < place.stop and word.end > place.start for word in result.words)
            for result, (_, place) in zip(results, made, strict=True)
        ]
        cells.append(f"{np.mean(marked):.0%} / {np.mean([result.is_anomaly for result in results]):.0%}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locale", type=Path, default=Path("/usr/share/locale"))
    parser.add_argument("--documents", type=int, default=1200)
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--preset", default="fast")
    options = parser.parse_args()
    print("| language | found as | fitted on | normal documents flagged | typo | gibberish | doubled word | foreign words |")
    print("|---|---|---|---|---|---|---|---|")
    for language in options.languages.split(","):
        rng = np.random.default_rng(0)
        texts = messages(options.locale, language)
        texts = [texts[place] for place in rng.permutation(len(texts))[: options.documents]]
        print("| " + " | ".join(measure(texts, language, options.preset, rng)) + " |", flush=True)


if __name__ == "__main__":
    main()
