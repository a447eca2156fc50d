"""What a document costs, in words: the measure of lanes, batches, queues and limits.

An ordinary word counts once. Encoders read words in pieces of at least a character, so a word counts once for each of its
characters, up to those that an encoder reads, unless it is made of ASCII letters and digits: then once for six. That is cheap to
tell, near the truth for ordinary text, and never less than a sixth of the pieces.
"""

from __future__ import annotations

from difa.document import Document
from difa.encoders import LONGEST_WORD

_LETTERS = 6
_SPARSE = 40  # characters of a text that count as a word even if they are white space: they are held in memory


def cost_of(document: Document) -> int:
    """The cost of a document, at least 1."""
    return max(1, sum(_word_cost(word.text) for word in document.words), len(document.text) // _SPARSE)


def _word_cost(word: str) -> int:
    pieces = -(-len(word) // _LETTERS) if word.isascii() and word.isalnum() else len(word)
    return min(pieces, LONGEST_WORD)
