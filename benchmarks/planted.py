"""Faults planted in new texts, as a new user would try DiFA: which are found by `difa find`, and which are called by their name.

Normal texts are prose of this machine, 15 to 150 words each: docstrings of the installed packages, paragraphs of their
descriptions and of those of installed Debian packages. A tenth of the new texts has one fault, each of sixteen kinds
equally often. The sentences that are planted were written for this script. Like `difa find`, it fits with the new texts as feed.

python benchmarks/planted.py --source docstrings --preset fast --seeds 0,1,2
"""

import argparse
import ast
import importlib.metadata
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from difa import DiFA, Result

SPAM = (
    "Click here to win a free iPhone today, only 3 left!!!",
    "Congratulations dear customer, you have been selected for a $1000 gift card.",
    "Cheap pills and replica watches, order now with 80% discount!",
    "Earn $5,000 a week from home with this one weird trick.",
    "Hot singles in your area are waiting for your call tonight.",
    "Buy followers fast at www.best-likes4u.biz and get 500 for free!",
)
FOREIGN = (
    "Die Ergebnisse werden anschließend in einer Datei gespeichert und können dort gelesen werden.",
    "Bitte beachten Sie, dass unser Büro am Freitag wegen einer Feier geschlossen bleibt.",
    "Le fichier est ouvert en lecture seule et ne peut pas être modifié par l'utilisateur.",
    "Nous avons passé nos vacances au bord de la mer avec toute la famille.",
    "El servidor no responde y por eso no se puede guardar el documento.",
    "Mi hermana compró ayer una casa muy bonita cerca de la playa.",
    "Il gatto dorme sul divano mentre fuori piove da questa mattina.",
)
OTHER_TOPIC = (
    "Fry the onions gently in butter until they are golden, then add the chopped tomatoes.",
    "The striker scored twice in the second half and the crowd went wild.",
    "My grandmother planted roses along the fence behind the old barn.",
    "The king married the duchess in the cathedral and the bells rang all day.",
    "Rain is expected in the north this evening, with strong winds near the coast.",
    "The baby slept badly because her first tooth is coming through.",
)
INSULTS = (
    "You are a complete idiot if you believe this.",
    "Whoever wrote this is a lazy, worthless moron.",
    "Shut up, you pathetic loser, nobody wants you here.",
    "This is the stupid garbage that only a brainless clown would write.",
    "Go to hell, you disgusting pig.",
)
LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit.",
    "Sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.",
    "Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore.",
)
PLACEHOLDERS = (
    "{{ name }}",
    "{{product_name}}",
    "%s",
    "${PROJECT_NAME}",
    "[INSERT NAME HERE]",
    "{0}",
    "TODO",
    "<YOUR NAME>",
    "XXX",
)
WRONG = (
    "giraffe",
    "breakfast",
    "trumpet",
    "yesterday",
    "cousin",
    "purple",
    "elephant",
    "sandwich",
    "church",
    "wedding",
    "kitchen",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _replace(text: str, at: re.Match[str], new: str) -> str:
    return text[: at.start()] + new + text[at.end() :]


def _word(text: str, rng: Random, least: int = 1) -> re.Match[str]:
    """A word of letters, not at the start, of at least so many letters."""
    found = [match for match in re.finditer(r"(?<![\w.`/_-])[A-Za-z]+(?![\w`/_(-]|\.\w)", text) if match.start()]
    return rng.choice([match for match in found if len(match[0]) >= least] or found)


def _typo(text: str, rng: Random) -> str:
    match = _word(text, rng, 5)
    word, at = match[0], rng.randrange(1, len(match[0]) - 1)
    while (
        new := rng.choice(
            (
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + rng.choice(LETTERS) + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            )
        )
    ) == word:
        at = rng.randrange(1, len(word) - 1)
    return _replace(text, match, new)


def _three_typos(text: str, rng: Random) -> str:
    return _typo(_typo(_typo(text, rng), rng), rng)


def _broken_encoding(text: str, rng: Random) -> str:
    match = _word(text, rng, 4)
    good = rng.choice((f"“{match[0]}”", f"{match[0]}’s", match[0].replace("e", "é", 1) + "ü", f"{match[0]} – café"))
    return _replace(text, match, good.encode().decode("cp1252", "replace").replace("\ufffd", ""))


def _sentence(sentences: tuple[str, ...]) -> Callable[[str, Random], str]:
    def plant(text: str, rng: Random) -> str:
        ends = [match.end() for match in re.finditer(r"[.!?] (?=[A-Z])", text)]
        at = rng.choice([*ends, len(text)])
        return f"{text[:at].rstrip()} {rng.choice(sentences)} {text[at:]}".rstrip()

    return plant


def _html(text: str, rng: Random) -> str:
    match = _word(text, rng, 4)
    form = rng.choice(
        ("<b>{}</b>", "{}<br/>", '<a href="index.html">{}</a>', "{}&nbsp;", "&quot;{}&quot;", "<div>{}", "</p> <p>{}")
    )
    return _replace(text, match, form.format(match[0]))


def _cut_off(text: str, rng: Random) -> str:
    words = text.split()
    cut = words[: rng.randrange(len(words) // 2, len(words) - 2)]
    return (
        " ".join(cut)[: -rng.randrange(1, 3) or None]
        if len(cut[-1]) > 4 and rng.random() < 0.5
        else " ".join(cut).rstrip(".!?:;")
    )


def _doubled(text: str, rng: Random) -> str:
    match = _word(text, rng)
    return _replace(text, match, f"{match[0]} {match[0]}")


def _swapped(text: str, rng: Random) -> str:
    match = rng.choice([match for match in re.finditer(r"\b([a-z]+) ([a-z]+)\b", text) if match[1] != match[2]])
    return _replace(text, match, f"{match[2]} {match[1]}")


def _glued(text: str, rng: Random) -> str:
    match = rng.choice([*re.finditer(r"\b[a-z]{3,} [a-z]{3,}\b", text)] or [*re.finditer(r"\b[a-z]+ [a-z]+\b", text)])
    return _replace(text, match, match[0].replace(" ", ""))


def _capitals(text: str, rng: Random) -> str:
    words = text.split()
    first = rng.randrange(max(1, len(words) - 12))
    return " ".join([*words[:first], " ".join(words[first : first + 10]).upper(), *words[first + 10 :]])


PLANT: dict[str, tuple[Callable[[str, Random], str], frozenset[str]]] = {
    "typo": (_typo, frozenset({"misspelling"})),
    "three typos": (_three_typos, frozenset({"misspelling"})),
    "broken encoding": (_broken_encoding, frozenset({"broken encoding"})),
    "spam sentence": (_sentence(SPAM), frozenset()),
    "foreign text": (_sentence(FOREIGN), frozenset({"another language"})),
    "HTML": (_html, frozenset({"HTML"})),
    "cut off": (_cut_off, frozenset({"cut off", "no end"})),
    "another topic": (_sentence(OTHER_TOPIC), frozenset()),
    "doubled word": (_doubled, frozenset({"doubled word"})),
    "swapped words": (_swapped, frozenset()),
    "wrong word": (lambda text, rng: _replace(text, _word(text, rng, 4), rng.choice(WRONG)), frozenset()),
    "insult": (_sentence(INSULTS), frozenset()),
    "placeholder": (lambda text, rng: _replace(text, _word(text, rng, 4), rng.choice(PLACEHOLDERS)), frozenset({"placeholder"})),
    "lorem ipsum": (_sentence(LOREM), frozenset({"filler text"})),
    "glued words": (_glued, frozenset({"glued words", "unusual compound"})),
    "capitals": (_capitals, frozenset({"capitals"})),
}
"""By kind: how it is planted, and what it may be called."""


def _docstrings() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_path("purelib")).glob("*/**/*.py"))[::_EVERY]:
        if "tests" in path.parts or path.stat().st_size > 200_000:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (found := ast.get_docstring(node)):
                yield from re.split(r"\n\s*\n", found)


def _packages() -> Iterator[str]:
    for package in importlib.metadata.distributions():
        yield from re.split(r"\n\s*\n", package.metadata.get_payload() or package.metadata["Description"] or "")
    if (status := Path("/var/lib/dpkg/status")).is_file():
        for found in re.finditer(r"^Description: .*\n((?: .*\n?)+)", status.read_text(), re.MULTILINE):
            yield from re.sub(r"^ ", "", found[1], flags=re.MULTILINE).split("\n.\n")


SOURCES = {"docstrings": _docstrings, "packages": _packages}
_EVERY = 10  # one file in so many is read
_NO_PROSE = re.compile(r">>>|::|\||^[-*=#.<\[`]|^\W*\w+\s*:|[{}<>]|\n {2,}|\w\n[-=]+", re.MULTILINE)


def read(source: str) -> list[str]:
    """Paragraphs of prose, each once, in their order."""
    found: dict[str, None] = {}
    for paragraph in SOURCES[source]():
        lines = paragraph.strip()
        text = " ".join(lines.split())
        words = text.split()
        is_prose = text[:1].isupper() and text[-1] in ".!?" and not _NO_PROSE.search(lines)
        if is_prose and 15 <= len(words) <= 150 and sum(word.strip(".,()'\"").isalpha() for word in words) >= 0.8 * len(words):
            found[text] = None
    return list(found)


def name_of(result: Result) -> str | None:
    """What the fault of a document is called, as its summary has it."""
    flagged = [word for word in result.words if word.is_anomaly and word.fault]
    return min(flagged, key=lambda word: word.p_value).fault if flagged else None


def measure(texts: list[str], preset: str, seed: int, fpr: float, show: bool) -> dict[str, Counter[str]]:
    """What became of the faults of each kind, and of the normal texts."""
    rng = Random(seed)
    chosen = rng.sample(texts, min(len(texts), 1350))
    new, normal = chosen[:500], chosen[500:]
    kinds: list[str | None] = [kind for kind in PLANT for _ in range(3)]
    kinds += [None] * (len(new) - len(kinds))
    new = [PLANT[kind][0](text, rng) if kind else text for kind, text in zip(kinds, new, strict=True)]
    model = DiFA(preset, fpr=fpr).fit(normal, feed=new)
    tally: dict[str, Counter[str]] = {kind: Counter() for kind in [*PLANT, "normal"]}
    for kind, text, result in zip(kinds, new, model.score(new), strict=True):
        of_kind, name = tally[kind or "normal"], name_of(result)
        is_right = kind is not None and name in PLANT[kind][1]
        of_kind["all"] += 1
        of_kind["flagged"] += result.is_anomaly
        of_kind["named"] += result.is_anomaly and name is not None
        of_kind["right"] += result.is_anomaly and is_right
        if show and (result.is_anomaly != (kind is not None) or (name is not None and kind and not is_right)):
            words = [f"{word.text}:{word.fault or ''}" for word in result.words if word.is_anomaly]
            print(f"{kind} p={result.p_value:.3f} {words}\n    {text}", file=sys.stderr)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", choices=SOURCES, default="docstrings")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--fpr", type=float, default=0.05)
    parser.add_argument("--show", action="store_true", help="what was missed, wrongly flagged or called by another name")
    options = parser.parse_args()
    texts = read(options.source)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    tallies = [measure(texts, options.preset, seed, options.fpr, options.show) for seed in seeds]
    print(f"{options.source}, {len(texts)} texts, preset {options.preset}, seeds {options.seeds}\n")
    print("| planted | documents | flagged | named | named right |\n|---|---|---|---|---|")
    for kind in [*PLANT, "normal"]:
        sums = sum((tally[kind] for tally in tallies), Counter())
        print(f"| {kind} | {sums['all']} | {sums['flagged']} | {sums['named']} | {sums['right']} |")
    planted = [sum((tally[kind] for kind in PLANT), Counter()) for tally in tallies]
    named, right = (sum(of[what] for of in planted) for what in ("named", "right"))
    false = sum(tally["normal"]["flagged"] for tally in tallies) / sum(tally["normal"]["all"] for tally in tallies)
    print(f"\nFlagged of 48, by seed: {', '.join(str(of['flagged']) for of in planted)}; false alarms {false:.1%}; "
          f"named right {right} of {named}")  # fmt: skip


if __name__ == "__main__":
    main()
