"""Normal documents -> counts of words, pairs of neighbours and shapes of words: what the critic keeps of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.views.critic.seen import EDGE, Own
from difa.views.masking import Mask, most_frequent, rare_words
from difa.views.neighbour_counts import count_neighbours, number_pairs
from difa.views.packed_strings import pack, unpack_values


@dataclass(frozen=True)
class Counted:
    """Counts of a corpus, the most frequent first."""

    words: Mapping[str, int]
    """By the names that the mask gives them."""
    shapes: Mapping[str, int]
    pairs: IntArray
    """Left word, right word and count of each pair: words are numbered from 1 in their order, 0 is the edge of a document."""
    totals: IntArray | None = None
    """How many neighbours each word has, as `Pairs` knows them, where some pairs are left out: (words + 2, 4)."""
    mask: Mask = field(default_factory=Mask)

    @classmethod
    def of(cls, documents: Sequence[Encoded], vocabulary: int, most_pairs: int, language: str | None, least: int = 1) -> Counted:
        """Count normal documents; of very many words or pairs the most frequent are kept.

        Words and shapes that fewer than `least` documents have are kept under names that cannot be read, and pairs not at all:
        runs of words could be followed through them. How many neighbours a word has stays as it was counted.
        """
        words: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        shapes: Counter[str] = Counter()
        with_pair: Counter[tuple[str, str]] = Counter()  # documents that have it
        with_shape: Counter[str] = Counter()
        for document in documents:
            own = Own(document)
            for total, counts in ((words, own.words), (pairs, own.pairs), (shapes, own.shapes)):
                total.update(counts)  # type: ignore[arg-type]
            with_pair.update(own.pairs.keys())
            with_shape.update(own.shapes.keys())
        mask = Mask.of(words) if least > 1 else Mask()
        rare = rare_words(documents, least, language)
        kept = most_frequent(words, vocabulary)
        named = mask.apply(kept, rare)
        number = {EDGE: 0} | {name: at for at, name in enumerate(named, 1)}
        number |= {word: number[mask.name(word, named)] for word in kept}
        known = {
            pair: count for pair, count in most_frequent(pairs, most_pairs).items() if pair[0] in number and pair[1] in number
        }
        told = {pair: count for pair, count in known.items() if with_pair[pair] >= least}
        totals = count_neighbours(number_pairs(known, number), len(named) + 2) if least > 1 else None
        few = {shape for shape, count in with_shape.items() if count < least}
        return cls(named, mask.apply(dict(sorted(shapes.items())), few), number_pairs(told, number), totals, mask)

    def extended(self, documents: Sequence[Encoded], vocabulary: int, language: str | None, least: int = 1) -> Counted:
        """The same with the words and shapes of further documents; new words come behind the others while there is room.

        Pairs stay: the networks were never shown a pair that the word's own document alone has, and take it for an error.
        """
        words: Counter[str] = Counter()
        shapes: Counter[str] = Counter()
        with_shape: Counter[str] = Counter()
        for own in map(Own, documents):
            words.update(own.words)
            shapes.update(own.shapes)
            with_shape.update(own.shapes.keys())
        mask = self.mask if self.mask.key or least <= 1 else Mask.of(words)
        named = mask.add(self.words, words, rare_words(documents, least, language))
        named = dict(islice(named.items(), max(vocabulary, len(self.words))))
        few = {shape for shape, count in with_shape.items() if count < least}
        totals = self.totals
        if totals is not None:  # the last row is that of all other words
            new = np.zeros((len(named) - len(self.words), totals.shape[1]), dtype=totals.dtype)
            totals = np.concatenate([totals[:-1], new, totals[-1:]])
        return Counted(named, mask.add(self.shapes, shapes, few), self.pairs, totals, mask)

    def tensors(self) -> dict[str, FloatArray | IntArray]:
        """The counts as arrays."""
        return {
            **{f"words.{name}": value for name, value in pack(list(self.words)).items()},
            "words.counts": np.array(list(self.words.values()), dtype=np.int64),
            "pairs": self.pairs,
            **({} if self.totals is None else {"totals": self.totals}),
            **{f"shapes.{name}": value for name, value in pack(list(self.shapes)).items()},
            "shapes.counts": np.array(list(self.shapes.values()), dtype=np.int64),
            **self.mask.tensors(),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> Counted:
        return cls(
            unpack_values(tensors, prefix="words."),
            unpack_values(tensors, prefix="shapes."),
            tensors["pairs"].astype(np.int64),
            tensors["totals"].astype(np.int64) if "totals" in tensors else None,
            Mask.restore(tensors),
        )
