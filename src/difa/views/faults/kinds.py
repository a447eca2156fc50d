"""The kinds of faults that have a name, each found by a plain rule or a library.

A rule reads the words of a document and gives the faults that it finds: runs of words, and what was meant where that is clear.
Whether a fault is news is not decided here: the view asks how many normal documents have one of its kind. To add a kind, write
a function and add a line to `KINDS`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq

from difa.knowledge.spelling import EVERYDAY, is_abbreviation, is_comparable, is_written_apart, likely_slip, two_words
from difa.knowledge.wordlist import WordList, everyday_languages, plain, plain_words, word_list


@dataclass(frozen=True)
class Found:
    """Words from `first` up to, but not including, `end`; and what was meant, if that is clear."""

    first: int
    end: int
    meant: str | None = None


class Text:
    """The words of a document as rules read them."""

    def __init__(self, words: Sequence[str], language: str | None, gaps: frozenset[int] = frozenset()) -> None:
        self.words, self.language, self.gaps = words, language, gaps

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
        starts, at = [], 0
        for word in self.words:
            starts.append(at)
            at += len(word) + 1
        return starts

    def is_ordinary(self, word: str) -> bool:
        """Whether it is an ordinary word, as far as its letters tell, and no abbreviation."""
        share = self.known.exact(plain(word))
        return share >= (_ORDINARY if len(word) > 3 else EVERYDAY) and not is_abbreviation(plain(word))

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Found]]:
        """Where a pattern matches the joined words."""
        for match in pattern.finditer(self.joined):
            first = bisect_right(self._starts, match.start()) - 1
            yield match, Found(first, bisect_right(self._starts, max(match.start(), match.end() - 1)))

    def runs(self, belongs: Callable[[str], bool], least: int, *, over_marks: bool = True) -> Iterator[Found]:
        """Runs of words that belong, of at least so many; marks between them do not end a run."""
        first, count, last = 0, 0, 0
        for at, word in enumerate([*self.words, ""]):
            if at < len(self.words) and belongs(word):
                first, count, last = (first if count else at), count + 1, at
            elif at == len(self.words) or not over_marks or any(map(str.isalnum, word)):
                if count >= least:
                    yield Found(first, last + 1)
                count = 0


def _broken_encoding(text: Text) -> Iterator[Found]:
    """Text that was read in another encoding than it was written in, as ftfy tells it; or U+FFFD, which stands for lost bytes."""
    if text.joined.isascii():
        return
    import ftfy
    from ftfy.badness import is_bad

    words, at = text.words, 0
    while at < len(words):
        end = at + 1
        while end < len(words) and (_is_odd_mark(words[end]) or (_is_odd_mark(words[end - 1]) and not words[end].isascii())):
            end += 1
        whole = "".join(words[at:end])
        fixed = whole if whole.isascii() else ftfy.fix_encoding(whole)
        if fixed != whole and (is_bad(whole) or end - at == 1):
            yield Found(at, end, fixed)
        else:
            yield from (Found(lost, lost + 1) for lost in range(at, end) if "�" in words[lost])
        at = end


def _is_odd_mark(word: str) -> bool:
    """Whether it is a mark outside ASCII, or a letter with an accent by itself: what broken encodings are full of."""
    return len(word) <= 2 and not word.isascii() and not word.isalnum()


_TAGS = """
    a abbr article aside b blockquote body br button center code dd del div dl dt em font footer form h1 h2 h3
    h4 h5 h6 head header hr html i iframe img input ins label li link main meta nav ol option p pre s script
    section select small span strong style sub sup table tbody td textarea th thead title tr tt u ul video
"""
_TAG = re.compile(rf"< ?/? ?(?:{'|'.join(_TAGS.split())})(?: [^<>]{{0,200}}=[^<>]{{0,200}})? ?/? ?>", re.IGNORECASE)
_ENTITY = re.compile(r"& ?(#(?: ?\d){2,6}|# ?x ?[0-9a-f]{2,6}|[a-z]{2,8}) ?;", re.IGNORECASE)
_MARKDOWN = re.compile(  # __init__ is a name, __two words__ are not
    r"\*\* ?\w[^*]{0,80}? ?\*\*|(?<!\w)__ ?\w+ \w[^_]{0,80}? ?__(?!\w)|\[ ?[^\[\]]{1,80} ?\] ?\( ?https?://|```|^#{1,6} "
)


def _html(text: Text) -> Iterator[Found]:
    """Tags and entities of HTML."""
    if "<" in text.joined:
        yield from (found for _, found in text.matches(_TAG))
    if "&" in text.joined:
        for match, found in text.matches(_ENTITY):
            entity = f"&{match[1].replace(' ', '')};"
            if (meant := html.unescape(entity)) != entity:
                yield Found(found.first, found.end, meant if meant.strip() else None)


def _markdown(text: Text) -> Iterator[Found]:
    """Signs of Markdown."""
    if any(sign in text.joined for sign in ("**", "__", "](", "] (", "```", "#")):
        yield from (found for _, found in text.matches(_MARKDOWN))


_PLACEHOLDER = re.compile(
    r"\{\{ ?[^{}]{0,60}? ?\}\}|\$ ?\{ ?[\w. ]{1,40}\}|\{ ?[A-Za-z_]\w{0,30} ?\}|\{ ?\d? ?\}|%% ?\w{1,30} ?%%"
    r"|(?<![\w%])% ?(?:\( ?\w{1,30} ?\) ?)?[sdifr](?!\w)"
    r"|\[ ?(?:[A-Z]{2,20}(?:[ _-]{1,3}[A-Z]{2,20}){1,4}|(?i:insert|your|name|date|company|enter)[\w _'-]{0,40}) ?\]"
    r"|< ?(?:INSERT|YOUR|ENTER|NAME)[\w _-]{0,40} ?>"
    r"|(?<!\w)(?:TODO|FIXME|TBD|XXX|CHANGEME|PLACEHOLDER)(?!\w)"
)


def _placeholder(text: Text) -> Iterator[Found]:
    """Places of a template that nobody filled in."""
    if any(sign in text.joined for sign in "{%[<") or _SHOUTED.search(text.joined):
        yield from (found for _, found in text.matches(_PLACEHOLDER))


_SHOUTED = re.compile(r"TODO|FIXME|TBD|XXX|CHANGEME|PLACEHOLDER")
_LOREM_LIST = """
    lorem ipsum dolor sit amet consectetur consectetuer adipiscing adipisicing elit sed eiusmod tempor
    incididunt labore dolore magna aliqua enim minim veniam quis nostrud exercitation ullamco laboris nisi
    aliquip commodo consequat duis aute irure reprehenderit voluptate velit esse cillum fugiat nulla pariatur
    excepteur sint occaecat cupidatat proident sunt culpa officia deserunt mollit anim laborum vestibulum
    curabitur pellentesque vivamus suspendisse ultricies
"""
_LOREM = frozenset(_LOREM_LIST.split())


def _filler(text: Text) -> Iterator[Found]:
    """Three words of lorem ipsum or more in a row, with short words between them."""
    for found in text.runs(lambda word: word.lower() in _LOREM or len(word) <= 2, 3):
        places = [at for at in range(found.first, found.end) if text.words[at].lower() in _LOREM]
        if len(places) >= 3:
            yield Found(places[0], places[-1] + 1)


_ENDS = frozenset(".!?…:;。！？)]}\"'”’»*-–—|>")
_OPEN_WORDS_LIST = """
    the a an and or but of to in on at by for with from into as that which who whose because if when while
    than is are was were be been has have had will would can could should may might must do does did not this
    these those its their our your my his her und oder aber der die das den dem des ein eine einen mit von zu
    im am für auf als dass weil wenn ist sind war nicht le la les un une des du de et ou mais à pour avec que
    qui dans sur est sont el los las una y o pero con por para en es son
"""
_OPEN_WORDS = frozenset(_OPEN_WORDS_LIST.split())


def _no_end(text: Text) -> Iterator[Found]:
    """A text whose last word is not followed by a mark that ends a sentence."""
    if len(text.words) >= 3 and text.words[-1][-1:] not in _ENDS and text.words[-1].isalnum():
        yield Found(len(text.words) - 1, len(text.words))


def _cut_off(text: Text) -> Iterator[Found]:
    """A text that ends with a word or a mark after which something must follow."""
    if len(text.words) >= 3 and (text.words[-1].lower() in _OPEN_WORDS or text.words[-1] in {",", "(", "[", "“", "&"}):
        yield Found(len(text.words) - 1, len(text.words))


_REPEATED_LIST = """
    that had is was her you very really no so blah ha bye die der das sie nous vous
"""
_JOINT = re.compile("['’-]")
_MAY_STAND_TWICE = frozenset(_REPEATED_LIST.split())
_ARTICLE_TWICE = re.compile(r"a a [^\W\d_]{2,}")


def _doubled_word(text: Text) -> Iterator[Found]:
    """A word that stands twice in a row."""
    folded = list(map(str.lower, text.words))
    for at in [at for at, is_same in enumerate(map(eq, folded, folded[1:]), 1) if is_same]:
        word = folded[at]
        if not _JOINT.sub("", word).isalpha() or word in _MAY_STAND_TWICE:
            continue
        if len(word) == 1 and not _ARTICLE_TWICE.fullmatch(" ".join(text.words[at - 1 : at + 2])):
            continue  # letters by themselves are names of things
        if at not in text.gaps and word not in folded[max(0, at - 3) : at - 1]:  # three times and more are a refrain
            yield Found(at - 1, at + 1)


_COMMON = 2e-6  # share of running text of a word that was torn apart
_TORN = 1e-7  # share that one part of a torn word has at most


def _glued_words(text: Text) -> Iterator[Found]:
    """An unknown word that is two common ones, one of them among the commonest of all, without the space between them."""
    return _two_in_one(text, is_everyday=True)


def _compound(text: Text) -> Iterator[Found]:
    """An unknown word that is two common ones, neither of which is among the commonest, but which often stand in a row."""
    return _two_in_one(text, is_everyday=False)


def _two_in_one(text: Text, *, is_everyday: bool) -> Iterator[Found]:
    for at, word in enumerate(text.words) if text.known else ():
        if (pair := _glued_parts(word, text.language, is_everyday=is_everyday)) is not None:
            yield Found(at, at + 1, " ".join(pair))


def _glued_parts(word: str, language: str | None, *, is_everyday: bool) -> tuple[str, str] | None:
    pair = two_words(plain(word), language) if len(word) >= 6 and word[1:].islower() and word.isalpha() else None
    if pair is None or (max(map(word_list(language).exact, pair)) >= EVERYDAY) != is_everyday:
        return None
    return pair if is_written_apart(pair, language) else None  # "meshgrid" is a term


def _misspelling(text: Text) -> Iterator[Found]:
    """A word that no list has, one slip away from a common one; a capital within the text may begin a name."""
    for at, word in enumerate(text.words) if text.known else ():
        if (meant := _slip_of(word, text.language)) and (at == 0 or word.islower()):
            yield Found(at, at + 1, meant)


def _slip_of(word: str, language: str | None) -> str | None:
    if len(word) < 5 or not word.isalpha() or not word[1:].islower():
        return None
    folded = plain(word)
    is_known = word_list(language).exact(folded) > 0 or two_words(folded, language)
    return None if is_known else likely_slip(folded, language)


def _torn_word(text: Text) -> Iterator[Found]:
    """Two neighbours, at least one of them unknown, that are a common word together."""
    if not text.known:
        return
    folded, known = plain_words(text.words), text.known.exact
    rare = [at for at, word in enumerate(folded) if word.isalpha() and known(word) <= _TORN]
    for at in sorted({end for part in rare for end in (part, part + 1) if 0 < end < len(folded)} - text.gaps):
        first, second = folded[at - 1], folded[at]
        if not (first.isalpha() and second.isalpha()) or len(first) + len(second) < 6 or not is_comparable(first + second):
            continue
        if known(first + second) >= _COMMON and first not in ("a", "i", "o"):
            yield Found(at - 1, at + 1, first + second)


def _capitals(text: Text) -> Iterator[Found]:
    """Four words or more in a row in capitals; three, if they are ordinary words and the only ones of a text that are."""
    shouted = list(filter(_is_shouted, text.words))
    is_loud = len(shouted) == _SHOUTED_WORDS and len(text.words) > 3 * len(shouted) and all(map(text.is_ordinary, shouted))
    yield from text.runs(_is_shouted, _SHOUTED_WORDS + (not is_loud))


_SHOUTED_WORDS = 3
_ORDINARY = 2e-5  # share of running text of ordinary words, which abbreviations seldom have


def _is_shouted(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.isalpha()


_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\x00-\x08\x0b\x0e-\x1f]"
)
_JOINERS = {"\u200c", "\u200d"}  # letters of some scripts and parts of emoji are joined by these


def _hidden_character(text: Text) -> Iterator[Found]:
    """Characters that nobody sees."""
    if text.joined.isascii() and text.joined.isprintable():
        return
    for at, word in enumerate(text.words):
        hidden = set(_HIDDEN.findall(word))
        if hidden - _JOINERS or (hidden and any(c.isascii() and c.isalpha() for c in word)):
            yield Found(at, at + 1, _HIDDEN.sub("", word) or None)


def _look_alike(text: Text) -> Iterator[Found]:
    """Letters of two alphabets in one word, such as a Cyrillic letter in a Latin one."""
    if text.joined.isascii():
        return
    for at, word in enumerate(text.words):
        if not word.isascii() and len({script for c in word if (script := _script(c))}) > 1:
            yield Found(at, at + 1)


def _script(character: str) -> str:
    """Latin, Cyrillic or Greek; empty for everything else."""
    name = unicodedata.name(character, "") if character.isalpha() else ""
    return next((script for script in ("LATIN", "CYRILLIC", "GREEK") if name.startswith(script)), "")


_PASSAGE = 8  # words in a row that decide whether a passage is in another language, and of a shorter text at least five
_FOREIGN_SHARE = 0.5  # of them must be strange, and as many of the strange ones common words of one other language
_SEEN_HERE = 1e-5  # words rarer than this in the corpus' own language are strange
_LEAST_FOREIGN = 3  # common words of one other language that make a passage


def _other_language(text: Text) -> Iterator[Found]:
    """Words in a row of which many are common words of one other language, and rare in the corpus' own."""
    if not text.known:
        return
    places = [at for at, word in enumerate(text.words) if word.isalpha()]
    rare = [text.known.exact(plain(text.words[at])) < _SEEN_HERE for at in places]
    size = min(_PASSAGE, len(places))
    foreign = [False] * len(places)
    for first in range(len(places) - size + 1) if size >= 5 else ():
        window = range(first, first + size)
        strange = [at for at in window if rare[at]]
        if len(strange) >= _FOREIGN_SHARE * size and _share_a_language([text.words[places[at]] for at in strange]):
            foreign[first : first + size] = [at in strange or foreign[at] or not rare[at] for at in window]
    run: list[int] = []
    for at, is_foreign in enumerate([*foreign, False]):
        if is_foreign:
            run.append(at)
        elif run:
            passage = _foreign_part([text.words[places[place]] for place in run], [rare[place] for place in run], text.language)
            yield Found(places[run[passage.start]], places[run[passage.stop - 1]] + 1)
            run = []


def _foreign_part(words: Sequence[str], rare: Sequence[bool], language: str | None) -> range:
    """Words from the first to the last common one of the other language, and beside them those that this one does not know."""
    (other, _), *_ = _votes([word for word, is_rare in zip(words, rare, strict=True) if is_rare]).most_common(1)
    common = [at for at, word in enumerate(words) if rare[at] and other in everyday_languages(plain(word))]
    first, last = common[0], common[-1]
    while first > 0 and _is_strange(words[first - 1], language):
        first -= 1
    while last + 1 < len(words) and _is_strange(words[last + 1], language):
        last += 1
    return range(first, last + 1)


def _is_strange(word: str, language: str | None) -> bool:
    """Whether a language does not know a word, and it is no slip of one that it knows."""
    return word_list(language).exact(plain(word)) <= _TORN and not word.isupper() and likely_slip(plain(word), language) is None


def _share_a_language(words: Sequence[str]) -> bool:
    """Whether one language has most of these among its common words."""
    return max(_votes(words).values(), default=0) >= max(_LEAST_FOREIGN, _FOREIGN_SHARE * len(words))


def _votes(words: Sequence[str]) -> Counter[str]:
    """How many of some words each language has among its common ones."""
    return Counter(language for word in words for language in everyday_languages(plain(word)))


_LONG_RUN = 40
_HEXADECIMAL = re.compile("(?:0x)?[0-9a-f-]+|[0-9A-F-]+")  # checksums, revisions, UUIDs


def _long_run(text: Text) -> Iterator[Found]:
    """A run of many characters without a space that is no web address and no number in hexadecimal digits."""
    for at, word in enumerate(text.words):
        if (
            len(word) >= _LONG_RUN
            and any(map(str.isalnum, word))
            and not word.lower().startswith(("http://", "https://", "www."))
            and not (_HEXADECIMAL.fullmatch(word) and any(map(str.isdigit, word)))
        ):
            yield Found(at, at + 1)


KINDS: Mapping[str, tuple[Callable[[Text], Iterator[Found]], str]] = {
    "broken encoding": (_broken_encoding, "has a broken encoding"),
    "HTML": (_html, "is left-over HTML"),
    "Markdown": (_markdown, "is left-over Markdown"),
    "placeholder": (_placeholder, "is a placeholder"),
    "filler text": (_filler, "is filler text"),
    "cut off": (_cut_off, "is where the text breaks off"),
    "no end": (_no_end, "is where the text ends without a mark"),
    "doubled word": (_doubled_word, "stands twice"),
    "misspelling": (_misspelling, "looks misspelt"),
    "glued words": (_glued_words, "is two words written as one"),
    "unusual compound": (_compound, "may be two words written as one"),
    "torn word": (_torn_word, "is a word torn apart"),
    "capitals": (_capitals, "is part of a passage in capitals"),
    "hidden character": (_hidden_character, "has a hidden character"),
    "look-alike letters": (_look_alike, "has letters of two alphabets"),
    "another language": (_other_language, "is part of a passage in another language"),
    "long run": (_long_run, "is a very long run without spaces"),
}
"""By name, which users read: the rule, and what a sentence says of a word that belongs to such a fault."""

GATES: Mapping[str, tuple[Callable[[str, str | None], bool], int]] = {
    "broken encoding": (lambda word, _: not word.isascii(), 1),
    "HTML": (lambda word, _: "<" in word or "&" in word, 1),
    "Markdown": (lambda word, _: not frozenset("*_]`#").isdisjoint(word), 1),
    "placeholder": (lambda word, _: not frozenset("{%[<").isdisjoint(word) or bool(_SHOUTED.search(word)), 1),
    "filler text": (lambda word, _: word.lower() in _LOREM, 3),
    "misspelling": (lambda word, language: bool(language and _slip_of(word, language)), 1),
    "glued words": (lambda word, language: bool(language and _glued_parts(word, language, is_everyday=True)), 1),
    "unusual compound": (lambda word, language: bool(language and _glued_parts(word, language, is_everyday=False)), 1),
    "torn word": (lambda word, language: plain(word).isalpha() and word_list(language).exact(plain(word)) <= _TORN, 1),
    "capitals": (lambda word, _: _is_shouted(word), _SHOUTED_WORDS),
    "hidden character": (lambda word, _: not (word.isascii() and word.isprintable()), 1),
    "look-alike letters": (lambda word, _: not word.isascii(), 1),
    "another language": (lambda word, language: _may_be_foreign(word, word_list(language)), _LEAST_FOREIGN),
    "long run": (lambda word, _: len(word) >= _LONG_RUN, 1),
}
"""By kind, what a word must be like, in a corpus of a language, and how many such words a document must have for the rule to find
anything: rules are asked only then. Words are looked at once. A kind that is not here is asked about every document."""
OF_STRINGS = ("misspelling", "glued words", "unusual compound")
"""Kinds that are judged by the word alone: what several normal documents have is a term of theirs, and no fault."""
PASSAGES = ("filler text", "another language", "capitals")
"""Kinds whose words are no slips; a fault of another kind among them keeps its name."""
LEAST_TELLING = (*OF_STRINGS, "torn word", "no end")
"""Kinds that name a word only if no other kind does."""
IN_PIECES = ("broken encoding", "HTML", "Markdown", "placeholder", "filler text", "doubled word", "torn word")
"""Kinds of which a single word says little: sentences name all of the fault."""
NO_SLIPS = ("broken encoding", "HTML", "placeholder", "filler text", "look-alike letters", "another language")
"""Kinds whose words were never meant to be other words."""


def _may_be_foreign(word: str, known: WordList) -> bool:
    return word.isalpha() and known.exact(plain(word)) < _SEEN_HERE and bool(everyday_languages(plain(word)))
