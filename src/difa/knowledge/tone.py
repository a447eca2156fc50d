"""How negative and how positive English words are: the valences of a lexicon, and insults on top of them.

A negative word that is an insult is the sum of both; a word that the lexicon likes and that is used as an insult ("silly")
counts on both sides.
"""

from __future__ import annotations

from difa.knowledge.insults import insults
from difa.knowledge.valence import valences


def rated_words() -> dict[str, tuple[float, float]]:
    """Words in lower case with their complaint (0 to 8) and their praise (0 to 4)."""
    lexicon, hostile = valences(), insults()
    valence = {word: lexicon.get(word, 0.0) for word in dict.fromkeys([*lexicon, *hostile])}
    return {word: (max(-value, 0.0) + hostile.get(word, 0.0), max(value, 0.0)) for word, value in valence.items()}
