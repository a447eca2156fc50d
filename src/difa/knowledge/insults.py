"""Insults and scorn: English words with a strength from 2 to 4, written for this project.

A valence lexicon does not tell an insult from bad news: "war" and "tax" are as negative as "idiot". These words do. They are
examples from which a direction is learned, not a list to look words up in, so slurs against groups need not be spelled out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

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
    """Words in lower case with their strength."""
    return {word: strength for strength, words in _BY_STRENGTH.items() for word in words.split()}
