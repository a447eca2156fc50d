"""A scored word or document -> one sentence that a person would say.

Only what is rare is said: a view speaks if at most 1 normal word in 20 has as much of its evidence. With the reasons of an
explanation the sentence says what was found; without them, what the view looks at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from difa.decide import UNUSUAL
from difa.document import Explanation, Reason, Result, WordScore
from difa.report.marks import unusual_words, visible

Reasons = Mapping[str, Sequence[Reason]]

_RARE = -math.log(UNUSUAL)  # evidence from which a view is mentioned
_SHARE = 0.2  # of a view's evidence, from which a reason is
_CAUSES = 2  # said of a word at most

_GENERAL = {
    "language": "is rare",
    "phrase": "does not fit between its neighbours",
    "tone": "stands out in tone",
    "critic": "looks like an error",
    "form": "has an unusual form",
    "neighbour": "is used unlike any word of your normal text",
    "semantic": "does not fit its surroundings",
    "feed": "is like the words that stand out in your new text",
}
# What the views' reasons say, and what a person would, the most telling first. An empty phrase is not worth saying.
_PLAIN = tuple(
    (re.compile(pattern), phrase)
    for pattern, phrase in (
        (r"(looks like an error: )?repeats the word before it", "repeats the word before it"),
        (r"never seen among", "never occurs in your normal text"),
        (r"seen once among", "occurs only once in your normal text"),
        (r"seen (\d+) times among (\d+)", r"is rare in your normal text (\1 of \2 words)"),
        (r"perhaps .* run together", "looks like two words run together"),
        (r"looks like an error: part of a word torn apart", "looks like part of a word torn apart"),
        (r"sounds more (negative|positive)", r"sounds unusually \1"),
        (r"a (negative|positive) word", r"is an unusually \1 word"),
        (r"unusual spelling|looks like an error: (odd letters|oddest letter)", "is spelt oddly"),
        (
            r"looks like an error: (odd capitals|a capital|all capitals|has digits|only marks|letters with)",
            "has odd capitals, digits or marks",
        ),
        (r"reads better without it", "is one that the text reads better without"),
        (r"unusual (?:after|before) the (start|end) in English", r"is unusual at the \1 of a text"),
        (r"unusual (after|before) ('.*'|\".*\") in English", r"is unusual \1 \2"),
        (r"rare beside|looks like an error: rare (after|before)", "is unusual beside its neighbours"),
        (r"high longest run of consonants", "has many consonants in a row"),
        (r"low share of vowels", "has few vowels"),
        (r"high share of vowels", "has many vowels"),
        (r"high share of its longest run", "repeats its letters"),
        (r"high share of digits|low share of letters", "has many digits or marks"),
        (r"high share of capitals", "is written in capitals"),
        (r"high share of punctuation", "has many marks"),
        (r"(looks like an error: |high )length", "is unusually long"),
        (r"low length", "is unusually short"),
        (r"nearest use in normal text", "is used unlike any word of your normal text"),
        (r"(high|low) (similarity|distance|norm|agreement|spread)", "does not fit its surroundings"),
        (r"one letter from|looks like an error", "looks like an error"),
        (r"like the words that stand out in the feed", "is like the words that stand out in your new text"),
        (r"falls into \d+ pieces|(high|low) |silent|neutral|unknown to the trigrams|looks like no error", ""),
    )
)
_RANK = {phrase: rank for rank, (_, phrase) in enumerate(_PLAIN)}
_IMPLIED = (  # by a word that never occurs, by a suggestion, or by whatever else there is to say
    "is used unlike any word of your normal text",
    "looks like an error",
    "is like the words that stand out in your new text",
)
_DOCUMENT = {
    "words": "its words are unusual together",
    "tone": "its tone is unlike theirs",
    "critic": "it reads as if it had errors",
    "phrase": "several of its phrases are unusual",
    "neighbour": "it uses words in other ways",
    "language": "its words are rare",
    "form": "its words have unusual forms",
    "feed": "it is like what stands out in your new texts",
}


def word_sentence(word: WordScore, reasons: Reasons | None = None) -> str:
    """What is unusual about a word, how rare that is, and what it may have been meant to be."""
    name = f"'{visible(word.text)}'"
    causes = _causes(word, reasons)
    if not causes:
        what = "is unusual by many small signs" if word.is_anomaly or word.p_value <= UNUSUAL else "is nothing unusual"
        return f"{name} {what} ({rarity(word.p_value)})." if word.p_value <= 0.5 else f"{name} {what}."
    meant = f" Did you mean '{visible(word.suggestion)}'?" if word.suggestion else ""
    return f"{name} {' and '.join(causes)} ({rarity(word.p_value)}).{meant}"


def document_sentence(result: Result, reasons: Sequence[Reasons] | None = None) -> str:
    """A sentence for a document: its most unusual word, or that none stands out."""
    flagged = [t for t in unusual_words(result) if result.words[t].is_anomaly]
    if flagged:
        first = word_sentence(result.words[flagged[0]], reasons[flagged[0]] if reasons else None)
        others = [f"'{visible(name)}'" for name in dict.fromkeys(result.words[t].text for t in flagged[1:4])]
        return f"{first} Also flagged: {', '.join(others)}." if others else first
    if result.is_anomaly:
        return f"No single word stands out, but the text as a whole is unlike your normal texts{_trait(result)}."
    if unusual := unusual_words(result, 1):
        return f"Nothing is flagged. {word_sentence(result.words[unusual[0]], reasons[unusual[0]] if reasons else None)}"
    return "Nothing stands out: this reads like your normal texts."


def explain_sentence(explained: Explanation) -> str:
    """The same from an explanation."""
    return document_sentence(explained.result, explained.reasons)


def rarity(p_value: float) -> str:
    """How rare a p-value is among words, in words."""
    if p_value < 0.001:
        return "rarer than 1 word in 1,000"
    if p_value > 0.5:
        return "as most words are"
    count = 1 / p_value
    digits = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return f"as rare as 1 word in {round(count / digits) * digits:,}"


def _causes(word: WordScore, reasons: Reasons | None) -> list[str]:
    """The most telling phrases, each once: by importance to a reader, then by evidence."""
    strongest = sorted(((value, view) for view, value in word.evidence.items() if value >= _RARE), reverse=True)
    found = dict.fromkeys(phrase for _, view in strongest for phrase in _phrases(view, (reasons or {}).get(view, ())))
    said = [spoken for _, spoken in sorted(found, key=lambda pair: pair[0])]
    telling = [phrase for phrase in said if phrase not in _IMPLIED]
    return (telling or said)[:_CAUSES]


def _phrases(view: str, reasons: Sequence[Reason]) -> list[tuple[int, str]]:
    """What a view has to say, with its rank: from its reasons, or else what it looks at."""
    spoken = [plain(reason.text) for reason in reasons if reason.weight >= _SHARE]
    general = _GENERAL.get(view, f"stands out by {view}")
    return [pair for pair in spoken if pair and pair[1]] or [(_RANK.get(general, len(_PLAIN)), general)]


def plain(reason: str) -> tuple[int, str] | None:
    """A reason in plain words, and its rank among them; None for one that nobody has put into plain words."""
    text = visible(reason)
    found = ((rank, pattern.match(text), phrase) for rank, (pattern, phrase) in enumerate(_PLAIN))
    return next(((rank, match.expand(phrase)) for rank, match, phrase in found if match), None)


def _trait(result: Result) -> str:
    name, value = max(result.evidence.items(), key=lambda item: item[1], default=("", 0.0))
    phrase = _DOCUMENT.get(name.partition(":")[0])
    return f": {phrase}" if phrase and value >= _RARE else ""
