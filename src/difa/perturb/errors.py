"""The errors of real text, made in normal documents from words alone, in any language.

Each takes the words of a document, how many to change, the material and a generator, and gives the changed words with a label
each; all labels are zero where the error cannot be made. What stands for function words are the corpus' most frequent words,
for inflected forms its words that begin alike, and for words of other topics those that the encoder's tokenizer knows, or the
language where there is none, and the corpus does not.
"""

from __future__ import annotations

import numpy as np

from difa.perturb.changes import STEM, Changed, Error, Material, draw_positions, pick, put_in, replace_words
from difa.perturb.language import LANGUAGE_ERRORS
from difa.perturb.strings import MARKS, Mutation, leet, mash, miscase, misdigit, misread, mojibake, pepper, typo


def _spelling(mutate: Mutation) -> Error:
    return lambda words, count, material, rng: replace_words(words, count, rng, lambda word: mutate(word, rng))


def double(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Write words twice; the second is wrong."""
    labels = [0] * len(words)
    for position in draw_positions(len(words), count, rng):
        words.insert(position + 1, words[position])
        labels.insert(position + 1, 1)
    return Changed(words, labels)


def leave_out(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Leave words out; the one that now stands in their place is wrong."""
    labels = [0] * len(words)
    for position in draw_positions(len(words) - 1 if len(words) > 3 else 0, count, rng):
        del words[position], labels[position]
        labels[position] = 1
    return Changed(words, labels)


def wrong_function_word(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another of the most frequent words in the place of one, or in between."""
    if rng.random() < 0.5:
        known = set(material.common)
        return replace_words(words, count, rng, lambda word: pick(material.common, rng, word) if word.lower() in known else word)
    labels = [0] * len(words)
    for position in draw_positions(len(words), count, rng):
        words.insert(position, pick(material.common, rng, words[position]))
        labels.insert(position, 1)
    return Changed(words, labels)


def wrong_form(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another form of a word in its place: one of the corpus, or one with an ending more or less."""
    return replace_words(words, count, rng, lambda word: _inflect(word, material, rng))


def other_topic(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put words that the corpus does not know in the place of some, or a run of them in between."""
    if rng.random() < 0.5:
        return replace_words(words, count, rng, lambda word: pick(material.strangers, rng, word))
    return put_in(words, [pick(material.strangers, rng, "") for _ in range(int(rng.integers(3, 9)))], rng)


def splice(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a phrase of another document in."""
    donor = material.documents[int(rng.integers(len(material.documents)))]
    size = min(len(donor), int(rng.integers(3, 9)))
    start = int(rng.integers(len(donor) - size + 1))
    return put_in(words, list(donor[start : start + size]), rng)


def stray_mark(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put punctuation where it does not belong: as a word of its own, or within words."""
    if rng.random() < 0.5:
        return put_in(words, [MARKS[int(rng.integers(len(MARKS)))]], rng)
    return replace_words(words, count, rng, lambda word: pepper(word, rng))


ERRORS: dict[str, Error] = {
    "typo": _spelling(typo),
    "ocr": _spelling(misread),
    "gibberish": _spelling(mash),
    "leet": _spelling(leet),
    "double": double,
    "drop": leave_out,
    "function": wrong_function_word,
    "inflection": wrong_form,
    "topic": other_topic,
    "splice": splice,
    **LANGUAGE_ERRORS,
    "mojibake": _spelling(mojibake),
    "case": _spelling(miscase),
    "digit": _spelling(misdigit),
    "mark": stray_mark,
}


def _inflect(word: str, material: Material, rng: np.random.Generator) -> str:
    if len(word) < STEM or not word.isalpha():
        return word
    if forms := material.forms.get(word.lower()):
        return pick(forms, rng, word)
    return word[:-1] if word.endswith("s") else word + "s"
