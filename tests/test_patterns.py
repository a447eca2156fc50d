"""Regular expressions on hostile strings: each must end, which one that grows faster than the text would not."""

import pytest

from difa.knowledge.wordlist import word_list
from difa.words import split_words

SIZE = 200_000
HOSTILE = [
    "www" + "." * SIZE,
    "www.,;:" * (SIZE // 7),
    "http://" * (SIZE // 7) + ")" * SIZE,
    "a@" + "b" * SIZE,
    "a@" * (SIZE // 2),
    "a.a+a-" * (SIZE // 6),
    ".+" * (SIZE // 2) + "@" + "b" * SIZE,
    (".+" * 32 + "@" + "b" * 5000) * 20,
    "a@b." * (SIZE // 4) + "@",
    "a" + "@+" * (SIZE // 2),
    "a'" * (SIZE // 2),
    "1.1," * (SIZE // 4) + "x",
    "\u2764\ufe0f\u200d" * (SIZE // 3),
    "\u2764" + "\ufe0f" * SIZE,
    "!?" * (SIZE // 2),
    "!" * SIZE + "?",
    "é\u0301" * (SIZE // 2),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_words_of_hostile_text(text):
    words = split_words(text)
    assert "".join(word.text for word in words) == "".join(text.split())


@pytest.mark.parametrize("word", ["a-" * SIZE, "-" * SIZE, "_" * SIZE + "a"], ids=range(3))
def test_parts_of_a_hostile_compound(word):
    assert word_list("en").frequency(word) == 0
