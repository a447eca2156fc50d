"""How negative and how positive English words are: the valences of a lexicon, and insults on top of them.

Valences from −4 to 4 come from the lexicon file of the package vaderSentiment; only the file is read, the package is never
imported. A valence lexicon does not tell an insult from bad news: "war" and "tax" are as negative as "idiot". The insults,
written for this project, do. They are examples from which a direction is learned, not a list to look words up in, so slurs
against groups need not be spelled out here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from difa.errors import MissingExtraError

_BY_STRENGTH = {
    4.0: """
        fuck fucking fucked fucker fuckers motherfucker shit shitty bullshit shithead asshole assholes arsehole bastard bastards
        bitch bitches cunt dick dickhead prick wanker twat whore slut pussy douchebag douche jackass dumbass dipshit bollocks
        scumbag cocksucker
    """,
    3.0: """
        idiot idiots idiotic moron morons moronic imbecile imbeciles cretin cretins retard retarded stupid dumb dumbest stupidest
        stupidity idiocy fool fools foolish loser losers liar liars coward cowards cowardly scum vermin pathetic worthless
        disgusting filthy filth pig pigs rat rats parasite parasites trash garbage clown clowns buffoon jerk jerks creep creepy
        pervert perverts psycho psychopath lunatic lunatics nutcase nutjob maniac freak freaks weirdo brainless clueless
        braindead thug thugs crook crooks fraud hypocrite hypocrites hypocritical bigot bigots racist racists fascist nazi
        traitor traitors tyrant scoundrel swine simpleton halfwit nitwit dimwit airhead bonehead numbskull dunce ignoramus
        sucker suckers sucks suck crap crappy damn damned goddamn hell arse ass butt piss pissed turd fart
    """,
    2.0: """
        ridiculous absurd laughable ludicrous ignorant ignorance arrogant dishonest corrupt greedy selfish lazy spineless gutless
        crazy insane mad silly childish immature delusional deranged demented sick ugly fat stinks stinking lousy rotten nasty
        vile evil shameful disgraceful despicable contemptible repulsive hateful obnoxious annoying insufferable incompetent
        useless hopeless mindless senseless nonsense rubbish hogwash baloney lies lying whine whining whiner whiners crybaby
        bully bullies trolls troll shut hate rape rapist murderer murderers killer
    """,
}


@lru_cache(maxsize=1)
def insults() -> Mapping[str, float]:
    """Insults and scorn: words in lower case with a strength from 2 to 4."""
    return {word: strength for strength, words in _BY_STRENGTH.items() for word in words.split()}


_STRONG = 3.0  # insults from this strength on are looked for where they hide
_USUAL_VALENCE = 2.0  # what a lexicon adds to the strength of most insults
SPACED = 4  # letters that an insult written with spaces has at least
_NO_LETTER = re.compile(r"[\W\d_]+")
_MASKS = frozenset("*#@$%&+=~^|-_")


@lru_cache(maxsize=1 << 15)
def hidden_insult(word: str) -> float:
    """The complaint of an insult that is a part of a word ("order-bitch", "idiot's") or masked ("a*****e"); 0 without one."""
    if word.isalpha():
        return 0.0
    folded = word.lower()
    parts = [strength for part in _NO_LETTER.split(folded) if (strength := _strong().get(part))]
    if not parts and folded[:1].isalpha() and not _MASKS.isdisjoint(folded):
        parts = [strength for insult, strength in _strong().items() if _is_mask(folded, insult)]
    return max(parts) + _USUAL_VALENCE if parts else 0.0


def _is_mask(masked: str, insult: str) -> bool:
    letters = zip(masked, insult, strict=False)
    return len(masked) == len(insult) and all(shown == letter or shown in _MASKS for shown, letter in letters)


def spaced_insults(words: Sequence[str]) -> dict[int, float]:
    """The complaint of the letters of insults that are written with spaces between them ("i d i o t"), by position."""
    found: dict[int, float] = {}
    single = [at for at, length in enumerate(map(len, words)) if length == 1 and words[at].isalpha()]
    if len(single) < SPACED:
        return found
    for _, numbered in groupby(enumerate(single), key=lambda item: item[1] - item[0]):  # runs of neighbours
        places = [at for _, at in numbered]
        letters = "".join(words[at] for at in places).lower()
        for insult, strength in _strong().items() if len(letters) >= SPACED else ():
            if len(insult) >= SPACED and (at := letters.find(insult)) >= 0:
                found |= dict.fromkeys(range(places[0] + at, places[0] + at + len(insult)), strength + _USUAL_VALENCE)
    return found


@lru_cache(maxsize=1)
def _strong() -> Mapping[str, float]:
    return {word: strength for word, strength in insults().items() if strength >= _STRONG}


@lru_cache(maxsize=1)
def valences() -> Mapping[str, float]:
    """Words made of letters, in lower case, with their mean valence."""
    spec = find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("vaderSentiment", "fit", "fitting")
    path = Path(next(iter(spec.submodule_search_locations))) / "vader_lexicon.txt"
    entries = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {entry[0]: float(entry[1]) for entry in entries if len(entry) > 1 and entry[0].isalpha() and entry[0].islower()}


def rated_words() -> dict[str, tuple[float, float]]:
    """Words in lower case with their complaint (0 to 8) and their praise (0 to 4).

    A negative word that is an insult is the sum of both; a word that the lexicon likes and that is used as an insult ("silly")
    counts on both sides.
    """
    lexicon, hostile = valences(), insults()
    valence = {word: lexicon.get(word, 0.0) for word in dict.fromkeys([*lexicon, *hostile])}
    return {word: (max(-value, 0.0) + hostile.get(word, 0.0), max(value, 0.0)) for word, value in valence.items()}
