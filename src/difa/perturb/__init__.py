"""Normal documents -> pseudo anomalies with word labels, to teach the critic, and the paper's fusion and aggregation.

The paper's three kinds: `form` mutates the string of a word (its vectors are then computed anew), `semantic` puts the vector of a
word of another document in its place, `mixed` does both. The other kinds are errors of real text, made from words alone
(`word_errors`) or from the letters of a word (`string_errors`). Each hits a single word or, in diffuse variants, several.
Everything random comes from the generator that is passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from difa.config import PAPER_KINDS, PerturbConfig
from difa.document import Encoded, FloatArray
from difa.encoders import Encoder
from difa.knowledge.wordlist import common_words
from difa.perturb.string_errors import MUTATIONS, gibberish, one_of
from difa.perturb.word_errors import Draft, Material, make_error
from difa.words import from_tokens

_VOCABULARY = 30_000  # words of the language that stand in for the vocabulary of an encoder that has none


@dataclass(frozen=True, slots=True)
class Pseudo:
    """A pseudo-anomalous document: which normal one it came from, and which of its words were changed."""

    source: int
    kind: str
    document: Encoded
    labels: FloatArray  # (T,) of 0 and 1


def make_pseudo_anomalies(
    documents: Sequence[Encoded],
    encoder: Encoder,
    config: PerturbConfig,
    rng: np.random.Generator,
    language: str | None = None,
) -> list[Pseudo]:
    """Up to `config.documents` pseudo anomalies, spread evenly over the normal documents and the kinds."""
    usable = [index for index, document in enumerate(documents) if len(document)]
    total = min(config.documents, config.per_document * len(usable))
    sources = np.concatenate([rng.permutation(usable) for _ in range(-(-total // max(1, len(usable))))])[:total]
    vocabulary = encoder.vocabulary() or common_words(language, _VOCABULARY)
    material = Material.of([documents[index].words for index in usable], vocabulary, language)
    drafts = []
    for number, source in enumerate(sources.tolist()):
        kind, words = config.kinds[number % len(config.kinds)], documents[source].words
        if kind not in PAPER_KINDS and 0 < config.excerpt < len(words):
            start = int(rng.integers(len(words) - config.excerpt + 1))
            words = words[start : start + config.excerpt]
        positions = choose_positions(len(words), config, rng)
        draft = Draft(list(words), len(positions), material, rng)
        if kind in PAPER_KINDS:
            for at in positions:
                draft.put(at, at + 1, [words[at] if kind == "semantic" else mutate_at(draft.words, at, rng)])
        else:
            make_error(kind, draft)
        if any(draft.labels):  # not every error can be made in every document
            drafts.append((source, kind, draft))
    new_words = [from_tokens(draft.words) for _, kind, draft in drafts if kind != "semantic"]
    encoded = iter(encoder.encode(new_words))
    pseudos = []
    for source, kind, draft in drafts:
        base = documents[source] if kind == "semantic" else next(encoded)
        vectors = base.vectors.copy()  # (T, d)
        if kind in ("semantic", "mixed"):
            for position in np.flatnonzero(draft.labels):
                vectors[position] = _foreign_vector(documents, usable, source, rng)
        pseudos.append(Pseudo(source, kind, Encoded(base.words, vectors, base.pieces), np.array(draft.labels, float)))
    return pseudos


def choose_positions(length: int, config: PerturbConfig, rng: np.random.Generator) -> list[int]:
    """One word, or in diffuse variants several: at least two, at most the configured share."""
    count = 1
    if length > 2 and rng.random() < config.diffuse:
        count = int(rng.integers(2, max(2, int(config.max_share * length)) + 1))
    return sorted(rng.choice(length, size=min(count, length), replace=False).tolist())


def mutate_at(words: Sequence[str], position: int, rng: np.random.Generator) -> str:
    """Another string for one word: a mutation of it, or a repetition of the word before."""
    word = words[position]
    for _ in range(8 if word else 0):
        choice = int(rng.integers(len(MUTATIONS) + 1))
        mutated = words[position - 1] if choice == len(MUTATIONS) and position else MUTATIONS[choice % len(MUTATIONS)](word, rng)
        if mutated and mutated != word:
            return mutated
    return gibberish(word, rng)


def _foreign_vector(documents: Sequence[Encoded], usable: Sequence[int], source: int, rng: np.random.Generator) -> FloatArray:
    """The vector of any word of another document: (d,)."""
    donor = source
    while donor == source and len(usable) > 1:
        donor = one_of(usable, rng)
    vectors = documents[donor].vectors
    return np.asarray(vectors[int(rng.integers(len(vectors)))])
