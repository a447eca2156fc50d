"""What the string of a word says by itself, whatever the corpus counts: computed once for each word and remembered."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from difa.knowledge.letters import Letters, fold
from difa.knowledge.remembered import Remembered
from difa.knowledge.spelling import log_known
from difa.knowledge.wordlist import WordList, plain, word_list

OF_STRING = ("general", "length", "letters", "oddest letter", "letters only", "plain letters only", "log in the list")
CASES = ("lower case", "capital", "capitals", "digits", "marks", "mixed")
_LONGEST = 25  # letters beyond which a word is just long
_LETTERS_OF = 20_000  # words of the language whose letters are learned


class Spelling:
    """What the string of a word says, whatever the corpus counts: the numbers of OF_STRING."""

    def __init__(self, known: WordList, letters: Letters) -> None:
        self._known, self._letters = known, letters
        self.strings = Remembered(self._describe, len(OF_STRING) + len(CASES))

    def _describe(self, word: str) -> tuple[float, ...]:
        surprises = self._letters.surprises(fold(word)[: 2 * _LONGEST])
        lowered = plain(word)
        return (
            self._known.frequency(word),
            min(len(word), _LONGEST),
            sum(surprises) / len(surprises),
            max(surprises),
            word.isalpha(),
            lowered.isalpha(),
            log_known(lowered, self._known.exact),
            *_cases(word),
        )


def _cases(word: str) -> tuple[bool, ...]:
    """Which of CASES a word is."""
    letters, some = word.isalpha(), any(map(str.isalpha, word))
    digits = any(map(str.isdigit, word))
    capital = letters and word[0].isupper() and word[1:].islower()
    return (
        letters and word.islower(),
        capital,
        letters and len(word) > 1 and word.isupper(),
        digits,
        not some and not digits,
        some and not letters,
    )


@lru_cache(maxsize=2)
def spelling_of(language: str | None) -> Spelling:
    """That of a language, shared by all that ask."""
    known = word_list(language)
    return Spelling(known, Letters(known.common(_LETTERS_OF), 4))


@lru_cache(maxsize=1 << 16)
def shape_of(word: str) -> str:
    """Capitals, letters, digits and marks of a word, runs taken together: "Mar-2024" is "Xx-0"."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word[:60]]
    return "".join(kind for kind, _ in groupby(kinds))
