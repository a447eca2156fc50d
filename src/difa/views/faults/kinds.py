"""The kinds of faults that have a name, each found by a plain rule or a library.

A rule reads the words of a document and gives the faults that it finds: runs of words, and what was meant where that is clear.
Many rules look at words one by one, at the last one, or for a pattern. Whether a fault is news is not decided here: the view asks
how many normal documents have one of its kind. To add a kind, write a function and add a line to `KINDS`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, groupby
from typing import Any, Literal

from difa.knowledge.spelling import (
    EVERYDAY,
    is_abbreviation,
    is_comparable,
    is_doubtful,
    is_written_apart,
    likely_slip,
    two_words,
)
from difa.knowledge.wordlist import WordList, everyday_languages, plain, plain_words, word_list

_COMMON = 2e-6  # share of running text of a word that was torn apart
_TORN = 1e-7  # share that one part of a torn word has at most
_SHOUTED_WORDS = 3  # ordinary words in capitals that make a passage; of others there must be one more
_ORDINARY = 2e-5  # share of running text of ordinary words, which abbreviations seldom have
_PASSAGE = 8  # words in a row that decide whether a passage is in another language, and of a shorter text at least five
_FOREIGN_SHARE = 0.5  # of them must be strange, and as many of the strange ones common words of one other language
_SEEN_HERE = 1e-5  # words rarer than this in the corpus' own language are strange
_LEAST_FOREIGN = 3  # common words of one other language that make a passage
_HEXADECIMAL = re.compile("(?:0x)?[0-9a-f-]+|[0-9A-F-]+")  # checksums, revisions, UUIDs


@dataclass(frozen=True)
class Found:
    """Words from `first` up to, but not including, `end`; and what was meant, if that is clear."""

    first: int
    end: int
    meant: str | None = None


@dataclass(frozen=True)
class Text:
    """The words of a document as rules read them; behind the word before a gap some were left out."""

    words: Sequence[str]
    language: str | None
    gaps: frozenset[int] = frozenset()

    @cached_property
    def known(self) -> WordList:
        """The list of the corpus' language; one that knows nothing where there is none."""
        return word_list(self.language)

    @cached_property
    def joined(self) -> str:
        """The words with one space between them."""
        return " ".join(self.words)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(word) + 1 for word in self.words), initial=0))[:-1]

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Found]]:
        """Where a pattern matches the joined words."""
        for match in pattern.finditer(self.joined):
            first = bisect_right(self._starts, match.start()) - 1
            yield match, Found(first, bisect_right(self._starts, max(match.start(), match.end() - 1)))

    def runs(self, belongs: Callable[[str], bool], min_words: int) -> Iterator[Found]:
        """Runs of words that belong, of at least so many; marks between them do not end a run."""
        unmarked = [at for at, word in enumerate(self.words) if belongs(word) or any(map(str.isalnum, word))]
        for is_run, places in groupby(unmarked, key=lambda at: belongs(self.words[at])):
            run = list(places)
            if is_run and len(run) >= min_words:
                yield Found(run[0], run[-1] + 1)


Rule = Callable[[Text, Sequence[int]], Iterator[Found]]
"""Finds faults in a text; given are the positions of the words that pass its gate."""
Gate = Callable[[str, str | None], bool]
"""Whether a word in a language may be part of a fault."""
OfWord = Callable[[str, str | None], str | None]
"""Looks at a word in a language: what was meant, "" if that is not clear, None if the word is no fault."""


def _each(meant_by: OfWord) -> Rule:
    """A rule that looks at words one by one."""

    def find(text: Text, places: Sequence[int]) -> Iterator[Found]:
        for at in places:
            if (meant := meant_by(text.words[at], text.language)) is not None:
                yield Found(at, at + 1, meant or None)

    return find


def _last_word(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """The last word of a text of at least three."""
    if len(text.words) >= 3:
        yield Found(len(text.words) - 1, len(text.words))


def _pattern(pattern: re.Pattern[str]) -> Rule:
    """A rule that looks for a pattern in the joined words."""
    return lambda text, places: (found for _, found in text.matches(pattern))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _broken_encoding(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Text that was read in another encoding than it was written in, as ftfy tells it; or U+FFFD, which stands for lost bytes."""
    import ftfy
    from ftfy.badness import is_bad

    words, end = text.words, 0
    for place in places:
        if place < end:
            continue
        at = place - (place > end and _is_odd_mark(words[place]))  # the letters before it may belong to it
        end = at + 1
        while end < len(words) and (_is_odd_mark(words[end]) or (_is_odd_mark(words[end - 1]) and not words[end].isascii())):
            end += 1
        whole = "".join(words[at:end])
        fixed = whole if whole.isascii() else ftfy.fix_encoding(whole)
        while fixed != whole and end < len(words) and _is_rest(fixed, words[end], text.known):
            whole, fixed, end = whole + words[end], fixed + words[end], end + 1
        if fixed != whole and (is_bad(whole) or end - at == 1):
            yield Found(at, end, fixed)
        else:
            yield from (Found(lost, lost + 1) for lost in range(at, end) if "�" in words[lost])


def _is_rest(fixed: str, word: str, known: WordList) -> bool:
    """Whether letters behind a broken encoding are the rest of its word: no word by themselves, or one together."""
    if not (word.isascii() and word.islower() and fixed[-1].isalpha()):
        return False
    whole = plain(fixed + word)
    without_accents = unicodedata.normalize("NFD", whole).encode("ascii", "ignore").decode()
    return known.exact(word) <= _TORN or max(map(known.exact, (whole, without_accents))) > 0


def _is_odd_mark(word: str) -> bool:
    """Whether it is a mark outside ASCII, or a letter with an accent by itself: what broken encodings are full of."""
    return len(word) <= 2 and not word.isascii() and not word.isalnum()


_TAGS = _set("""
    a abbr article aside b blockquote body br button center code dd del div dl dt em font footer form h1 h2 h3
    h4 h5 h6 head header hr html i iframe img input ins label li link main meta nav ol option p pre s script
    section select small span strong style sub sup table tbody td textarea th thead title tr tt u ul video
""")
_TAG = re.compile(rf"< ?/? ?(?:{'|'.join(sorted(_TAGS))})(?: [^<>]{{0,200}}=[^<>]{{0,200}})? ?/? ?>", re.IGNORECASE)
_ENTITY = re.compile(r"& ?(#(?: ?\d){2,6}|# ?x ?[0-9a-f]{2,6}|[a-z]{2,8}) ?;", re.IGNORECASE)
_MARKDOWN = re.compile(  # __init__ is a name, __two words__ are not
    r"\*\* ?\w[^*]{0,80}? ?\*\*|(?<!\w)__ ?\w+ \w[^_]{0,80}? ?__(?!\w)|\[ ?[^\[\]]{1,80} ?\] ?\( ?https?://|```|^#{1,6} "
)


def _html(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Tags and entities of HTML."""
    yield from (found for _, found in text.matches(_TAG))
    for match, found in text.matches(_ENTITY):
        entity = f"&{match[1].replace(' ', '')};"
        if (meant := html.unescape(entity)) != entity:
            yield Found(found.first, found.end, meant if meant.strip() else None)


_TO_DO = "TODO|FIXME|TBD|XXX|CHANGEME|PLACEHOLDER"
_PLACEHOLDER = re.compile(
    r"\{\{ ?[^{}]{0,60}? ?\}\}|\$ ?\{ ?[\w. ]{1,40}\}|\{ ?[A-Za-z_]\w{0,30} ?\}|\{ ?\d? ?\}|%% ?\w{1,30} ?%%"
    r"|(?<![\w%])% ?(?:\( ?\w{1,30} ?\) ?)?[sdifr](?!\w)"
    r"|\[ ?(?:[A-Z]{2,20}(?:[ _-]{1,3}[A-Z]{2,20}){1,4}|(?i:insert|your|name|date|company|enter)[\w _'-]{0,40}) ?\]"
    r"|< ?(?:INSERT|YOUR|ENTER|NAME)[\w _-]{0,40} ?>"
    rf"|(?<!\w)(?:{_TO_DO})(?!\w)"
)
_LOREM = _set("""
    lorem ipsum dolor sit amet consectetur consectetuer adipiscing adipisicing elit sed eiusmod tempor
    incididunt labore dolore magna aliqua enim minim veniam quis nostrud exercitation ullamco laboris nisi
    aliquip commodo consequat duis aute irure reprehenderit voluptate velit esse cillum fugiat nulla pariatur
    excepteur sint occaecat cupidatat proident sunt culpa officia deserunt mollit anim laborum vestibulum
    curabitur pellentesque vivamus suspendisse ultricies
""")


def _filler(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Three words of lorem ipsum or more in a row, with short words between them."""
    for found in text.runs(lambda word: word.lower() in _LOREM or len(word) <= 2, 3):
        places = [at for at in range(found.first, found.end) if text.words[at].lower() in _LOREM]
        if len(places) >= 3:
            yield Found(places[0], places[-1] + 1)


_OPEN_WORDS = _set("""
    the a an and or but of to in on at by for with from into as that which who whose because if when while
    than is are was were be been has have had will would can could should may might must do does did not this
    these those its their our your my his her und oder aber der die das den dem des ein eine einen mit von zu
    im am für auf als dass weil wenn ist sind war nicht le la les un une des du de et ou mais à pour avec que
    qui dans sur est sont el los las una y o pero con por para en es son , ( [ “ &
""")
"""Words and marks that something must follow."""
_JOINT = re.compile("['’-]")
_MAY_STAND_TWICE = _set("that had is was her you very really no so blah ha bye die der das sie nous vous")
_ARTICLE_TWICE = re.compile(r"a a [^\W\d_]{2,}")


def _doubled_word(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """A word that stands twice in a row."""
    for at in places:
        word = text.words[at].lower()
        if word in _MAY_STAND_TWICE:
            continue
        if len(word) == 1 and not _ARTICLE_TWICE.fullmatch(" ".join(text.words[at - 1 : at + 2])):
            continue  # letters by themselves are names of things
        if at not in text.gaps and word not in map(str.lower, text.words[max(0, at - 3) : at - 1]):
            yield Found(at - 1, at + 1)  # three times and more are a refrain


def _two_words(word: str, language: str | None, *, is_everyday: bool) -> str | None:
    """Of an unknown word that is two common ones without the space between them, these; one is among the commonest of all.

    Or else neither is, but they often stand in a row.
    """
    pair = two_words(plain(word), language) if language and len(word) >= 6 and word[1:].islower() and word.isalpha() else None
    if pair is None or (max(map(word_list(language).exact, pair)) >= EVERYDAY) != is_everyday:
        return None
    return " ".join(pair) if is_written_apart(pair, language) else None  # "meshgrid" is a term


def _slip(word: str, language: str | None) -> str | None:
    """Of a word that no list has, or no dictionary, one slip away from a common one, that one."""
    if not language or len(word) < 5 or not word.isalpha() or not word[1:].islower():
        return None
    folded = plain(word)
    is_word = word_list(language).exact(folded) > 0 and not is_doubtful(folded, language)
    return None if is_word or two_words(folded, language) else likely_slip(folded, language)


def _misspelling(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Slips; a capital within the text may begin a name."""
    yield from _each(_slip)(text, [at for at in places if at == 0 or text.words[at].islower()])


def _torn_word(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Two neighbours, at least one of them unknown, that are a common word together."""
    known = text.known.exact
    for at in sorted({end for part in places for end in (part, part + 1) if 0 < end < len(text.words)} - text.gaps):
        first, second = plain_words(text.words[at - 1 : at + 1])
        if not (first.isalpha() and second.isalpha()) or len(first) + len(second) < 6 or not is_comparable(first + second):
            continue
        if known(first + second) >= _COMMON and first not in ("a", "i", "o"):
            yield Found(at - 1, at + 1, first + second)


def _capitals(text: Text, places: Sequence[int]) -> Iterator[Found]:
    """Four words or more in a row in capitals; three, if they are ordinary words and the only ones of a text that are."""

    def is_ordinary(word: str) -> bool:
        return text.known.exact(word) >= (_ORDINARY if len(word) > 3 else EVERYDAY) and not is_abbreviation(word)

    shouted = [plain(word) for word in text.words if _is_shouted(word)]
    are_few = len(shouted) == _SHOUTED_WORDS and len(text.words) > 3 * len(shouted)
    yield from text.runs(_is_shouted, _SHOUTED_WORDS if are_few and all(map(is_ordinary, shouted)) else _SHOUTED_WORDS + 1)


def _is_shouted(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.isalpha()


_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\x00-\x08\x0b\x0e-\x1f]"
)
_JOINERS = {"\u200c", "\u200d"}  # letters of some scripts and parts of emoji are joined by these


def _without_hidden(word: str, language: str | None) -> str | None:
    """A word with characters that nobody sees, without them."""
    hidden = set(_HIDDEN.findall(word))
    is_fault = hidden - _JOINERS or (hidden and any(c.isascii() and c.isalpha() for c in word))
    return _HIDDEN.sub("", word) if is_fault else None


def _look_alike(word: str, language: str | None) -> str | None:
    """Letters of two alphabets in one word, such as a Cyrillic letter in a Latin one."""
    if word.isascii():
        return None
    scripts = {unicodedata.name(character, "").partition(" ")[0] for character in word if character.isalpha()}
    return "" if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1 else None


def _other_language(text: Text, foreign_places: Sequence[int]) -> Iterator[Found]:
    """Words in a row of which many are common words of one other language, and rare in the corpus' own."""
    places = [at for at, word in enumerate(text.words) if word.isalpha()]
    size = min(_PASSAGE, len(places))
    foreign = [False] * len(places)
    may_be = frozenset(foreign_places)
    for first in range(len(places) - size + 1) if size >= 5 and text.known else ():
        if len(may_be.intersection(places[first : first + size])) < _LEAST_FOREIGN:
            continue
        rare = [text.words[at] for at in places[first : first + size] if _is_rare(text.words[at], text.known)]
        is_likely = len(rare) >= _FOREIGN_SHARE * size
        if is_likely and max(_votes(rare).values(), default=0) >= max(_LEAST_FOREIGN, _FOREIGN_SHARE * len(rare)):
            foreign[first : first + size] = [True] * size
    for is_foreign, run in groupby(range(len(places)), key=foreign.__getitem__):
        if is_foreign:
            yield _foreign_part(text, [places[at] for at in run])


def _foreign_part(text: Text, places: Sequence[int]) -> Found:
    """From the first to the last common word of the other language, and beside them those that this one does not know."""
    rare = [at for at in places if _is_rare(text.words[at], text.known)]
    (other, _), *_ = _votes([text.words[at] for at in rare]).most_common(1)
    common = [places.index(at) for at in rare if other in everyday_languages(plain(text.words[at]))]
    first, last = common[0], common[-1]
    while first > 0 and _is_strange(text.words[places[first - 1]], text.language):
        first -= 1
    while last + 1 < len(places) and _is_strange(text.words[places[last + 1]], text.language):
        last += 1
    return Found(places[first], places[last] + 1)


def _is_rare(word: str, known: WordList) -> bool:
    return known.exact(plain(word)) < _SEEN_HERE


def _is_strange(word: str, language: str | None) -> bool:
    """Whether a language does not know a word, and it is no slip of one that it knows."""
    return word_list(language).exact(plain(word)) <= _TORN and not word.isupper() and likely_slip(plain(word), language) is None


def _votes(words: Sequence[str]) -> Counter[str]:
    """How many of some words each language has among its common ones."""
    return Counter(language for word in words for language in everyday_languages(plain(word)))


def _long_run(word: str, language: str | None) -> str | None:
    """A run of many characters without a space that is no web address and no number in hexadecimal digits."""
    if len(word) < 40 or not any(map(str.isalnum, word)) or word.lower().startswith(("http://", "https://", "www.")):
        return None
    return None if _HEXADECIMAL.fullmatch(word) and any(map(str.isdigit, word)) else ""


def _has(signs: str) -> Gate:
    return lambda word, language: not frozenset(signs).isdisjoint(word)


def _may_be_placeholder(word: str, language: str | None) -> bool:
    return not frozenset("{%[<").isdisjoint(word) or re.search(_TO_DO, word) is not None


def _may_be_doubled(word: str, language: str | None) -> bool:
    return _JOINT.sub("", word.lower()).isalpha()


def _may_be_torn(word: str, language: str | None) -> bool:
    return plain(word).isalpha() and word_list(language).exact(plain(word)) <= _TORN


def _may_be_foreign(word: str, language: str | None) -> bool:
    return word.isalpha() and _is_rare(word, word_list(language)) and bool(everyday_languages(plain(word)))


@dataclass(frozen=True)
class Kind:
    """A kind of fault. Its rule is asked only about documents that have so many words that pass the gate."""

    said: str  # what a sentence says of a word that belongs to such a fault
    find: Rule
    gate: Gate
    least: int = 1  # words that must pass the gate
    tier: int = 0  # kinds of a lower tier name a word first: passages (1) come behind others, the least telling (2) last
    at: Literal["any word", "last word", "repetition"] = "any word"  # words that the gate is asked about
    of_strings: bool = False  # the word alone decides: one that several normal documents have is a term of theirs, and no fault
    in_pieces: bool = False  # a single word says little: sentences name all of the fault
    no_slip: bool = False  # its words were never meant to be other words

    @classmethod
    def of_words(cls, said: str, meant_by: OfWord, **more: Any) -> Kind:
        """A kind that single words show."""
        return cls(said, _each(meant_by), lambda word, language: meant_by(word, language) is not None, **more)


_SLIP: dict[str, Any] = {"tier": 2, "of_strings": True}
_REMAINS: dict[str, Any] = {"in_pieces": True, "no_slip": True}
KINDS: Mapping[str, Kind] = {
    "broken encoding": Kind("has a broken encoding", _broken_encoding, lambda word, _: not word.isascii(), **_REMAINS),
    "HTML": Kind("is left-over HTML", _html, _has("<&"), **_REMAINS),
    "Markdown": Kind("is left-over Markdown", _pattern(_MARKDOWN), _has("*_]`#"), in_pieces=True),
    "placeholder": Kind("is a placeholder", _pattern(_PLACEHOLDER), _may_be_placeholder, **_REMAINS),
    "filler text": Kind("is filler text", _filler, lambda word, _: word.lower() in _LOREM, 3, 1, **_REMAINS),
    "cut off": Kind("is where the text breaks off", _last_word, lambda word, _: word.lower() in _OPEN_WORDS, at="last word"),
    "no end": Kind("is where the text ends without a mark", _last_word, lambda word, _: word.isalnum(), 1, 2, "last word"),
    "doubled word": Kind("stands twice", _doubled_word, _may_be_doubled, at="repetition", in_pieces=True),
    "misspelling": Kind("looks misspelt", _misspelling, lambda word, language: _slip(word, language) is not None, **_SLIP),
    "glued words": Kind.of_words("is two words written as one", partial(_two_words, is_everyday=True), **_SLIP),
    "unusual compound": Kind.of_words("may be two words written as one", partial(_two_words, is_everyday=False), **_SLIP),
    "torn word": Kind("is a word torn apart", _torn_word, _may_be_torn, tier=1, in_pieces=True),
    "capitals": Kind("is part of a passage in capitals", _capitals, lambda word, _: _is_shouted(word), _SHOUTED_WORDS, 1),
    "hidden character": Kind.of_words("has a hidden character", _without_hidden),
    "look-alike letters": Kind.of_words("has letters of two alphabets", _look_alike, no_slip=True),
    "another language": Kind("is in another language", _other_language, _may_be_foreign, _LEAST_FOREIGN, 1, **_REMAINS),
    "long run": Kind.of_words("is a very long run without spaces", _long_run),
}
"""By name, which users read. A model counts documents by kind in this order."""
NO_SLIPS = frozenset(name for name, kind in KINDS.items() if kind.no_slip)
"""Kinds whose words were never meant to be other words."""
