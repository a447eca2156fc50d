"""A scored word, a document, or all documents -> what a person would say of them, in sentences, and which words are shown how.

A word is highlighted by its p-value: nothing above 1 in 20, then deeper in four steps. Only what is rare is said: a view speaks
if at most 1 normal word in 20 has as much of its evidence. With the reasons of an explanation the sentence says what was found;
without them, the name of a word's fault, and what the view looks at. The words themselves stand beside each view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from difa.decide import UNUSUAL
from difa.document import IMPLIED, Explanation, Reason, Result, WordScore
from difa.fuse import speak_of
from difa.views.faults import FAULT_REASONS, FaultsView

Reasons = Mapping[str, Sequence[Reason]]

STEPS = (0.02, 0.005, 0.001, 0.0)
"""Smallest p-value of each step of strength."""
COMMON = 0.2
"""Share of normal words above which a view's evidence needs no reason."""
LONGEST = 700  # characters shown of a text
_BREAKS = {"\n": "↵", "\r": " "}  # how line breaks are shown
_RARE = -math.log(UNUSUAL)  # evidence from which a view is mentioned
_SHARE = 0.2  # of a view's evidence, from which a reason is
_SPAN = 60  # characters of a fault that a sentence names
_CAUSES = 2  # said of a word at most
_WORD_ALONE = "The text itself is not flagged: texts with such a word are not rare among your normal ones."


def word_sentence(word: WordScore, reasons: Reasons | None = None) -> str:
    """What is unusual about a word, how rare that is, and what it may have been meant to be."""
    whole = _whole_fault(word, reasons)
    if whole is not None:
        span = whole.values["span"]
        span = span if len(span) <= _SPAN else f"{span[: _SPAN // 2]}…{span[-_SPAN // 2 :]}"
        return f"'{visible(span)}' {visible(whole.plain)} ({rarity(word.p_value)})."
    name, causes = f"'{visible(word.text)}'", _causes(word, reasons)
    if not causes:
        what = "is unusual by many small signs" if word.is_anomaly or word.p_value <= UNUSUAL else "is nothing unusual"
        return f"{name} {what} ({rarity(word.p_value)})." if word.p_value <= 0.5 else f"{name} {what}."
    meant = f" Did you mean '{visible(word.suggestion)}'?" if word.suggestion else ""
    return f"{name} {' and '.join(causes)} ({rarity(word.p_value)}).{meant}"


def document_sentence(result: Result, reasons: Sequence[Reasons] | None = None) -> str:
    """A sentence for a document: its most unusual word, or that none stands out."""
    flagged = [t for t in unusual_words(result) if result.words[t].is_anomaly]
    if flagged:
        word, of_word = result.words[flagged[0]], reasons[flagged[0]] if reasons else None
        first, whole = word_sentence(word, of_word), _whole_fault(word, of_word)
        named = {word.text} if whole is None else whole.values["span"]  # the sentence has named them already
        others = dict.fromkeys(text for t in flagged[1:] if (text := result.words[t].text) not in named)
        listed = ", ".join(f"'{visible(text)}'" for text in [*others][:3])
        said = f"{first} Also flagged: {listed}." if listed else first
        return said if result.is_anomaly else f"{said} {_WORD_ALONE}"
    if result.is_anomaly:
        name, value = max(result.evidence.items(), key=lambda item: item[1], default=("", 0.0))
        phrase = speak_of(name.partition(":")[0]).document if value >= _RARE else ""
        return f"No single word stands out, but the text as a whole is unlike your normal texts{phrase and f': {phrase}'}."
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


def overview(results: Sequence[Result], rate: float, learned: Sequence[str]) -> str:
    """How many of all new documents are flagged, beside how many chance would flag at that false-alarm rate, and what the new
    text taught, one sentence each.
    """
    flagged, documents = sum(result.is_anomaly for result in results), len(results)
    chance = rate * documents
    by_chance = "fewer than one" if chance < 1 else f"about {chance:.0f}"
    verb = "is" if flagged == 1 else "are"
    counted = f"{flagged:,} of {documents:,} documents {verb} flagged"  # how many of them do not belong, chance leaves open
    return " ".join([f"{counted} (normal text would have {by_chance}, at a false-alarm rate of {100 * rate:g} %).", *learned])


def telling(reasons: Sequence[Reason], evidence: float) -> list[Reason]:
    """The reasons of a view that are worth giving: at most three that make up a tenth of its evidence, none if that is common."""
    return [] if math.exp(-evidence) > COMMON else [reason for reason in reasons[:3] if reason.weight >= 0.1]


def explanation_record(explained: Explanation) -> dict[str, Any]:
    """The fields of `difa explain --json`: the result with the rate in force and its sentence, and for each of its unusual words
    a sentence and the reasons.
    """
    result = explained.result
    record = result.to_dict()
    for t in unusual_words(result):
        reasons = explained.reasons[t]
        record["words"][t]["sentence"] = word_sentence(result.words[t], reasons)
        record["words"][t]["reasons"] = {view: [reason.to_dict() for reason in found] for view, found in reasons.items()}
    learned = {"learned": list(explained.learned)} if explained.learned else {}
    return {"sentence": explain_sentence(explained), "rule": explained.rule, "rate": explained.rate, **learned, **record}


def _whole_fault(word: WordScore, reasons: Reasons | None) -> Reason | None:
    """The reason that speaks of more than the word: of all of the fault whose piece it is."""
    found = (reason for view, of_view in (reasons or {}).items() for reason in of_view if word.evidence.get(view, 0.0) >= _RARE)
    return next((reason for reason in found if "span" in reason.values and reason.weight >= _SHARE), None)


def _plain(reason: Reason, word: WordScore) -> str:
    """What a reason says; what was meant is said once, and the suggestion says it."""
    has_both = word.suggestion and "meant" in reason.values
    return visible((replace(reason, values={**reason.values, "meant": ""}) if has_both else reason).plain)


def _causes(word: WordScore, reasons: Reasons | None) -> list[str]:
    """The most telling phrases, each once: by importance to a reader, then by evidence."""
    evidence = {view: value for view, value in word.evidence.items() if value >= _RARE}
    if reasons is None and (kind := FAULT_REASONS.get(str(word.fault))):  # all that is known without reasons
        reasons, evidence = {FaultsView.name: [Reason(kind, {"meant": ""}, 1.0)]}, evidence | {FaultsView.name: math.inf}
    ranks: dict[str, int] = {}
    for _, view in sorted(((value, view) for view, value in evidence.items()), reverse=True):
        for phrase, rank in _phrases(view, (reasons or {}).get(view, ()), word).items():
            ranks.setdefault(phrase, rank)
    said = sorted(ranks, key=ranks.__getitem__)
    return ([phrase for phrase in said if ranks[phrase] < IMPLIED] or said)[:_CAUSES]


def _phrases(view: str, reasons: Sequence[Reason], word: WordScore) -> dict[str, int]:
    """What a view has to say, with its rank: from its reasons, or else what it looks at."""
    found = {_plain(reason, word): reason.kind.rank for reason in reasons if reason.weight >= _SHARE and reason.plain}
    general = speak_of(view)
    return found or {general.word: general.rank}


def strength_of(word: WordScore) -> int:
    """0 for a word that is not highlighted, then 1 to 4."""
    return 0 if word.p_value > UNUSUAL else 1 + next(step for step, lowest in enumerate(STEPS) if word.p_value >= lowest)


def unusual_words(result: Result, most: int | None = None) -> list[int]:
    """Positions of the words that are highlighted or flagged, the most unusual first."""
    order = sorted(range(len(result.words)), key=lambda t: (result.words[t].p_value, -result.words[t].score))
    return [t for t in order if result.words[t].is_anomaly or result.words[t].p_value <= UNUSUAL][:most]


def visible(text: str) -> str:
    """Control characters as visible ones, one for one: a text must not be able to steer what shows it."""
    return "".join(c if c.isprintable() or c in "\t\u200d\ufe0f" else _BREAKS.get(c, "\ufffd") for c in text)


def excerpt(result: Result, longest: int = LONGEST) -> Result:
    """The result itself if it is short; otherwise about `longest` characters of it, cut between words, with dots for the rest."""
    if len(result.text) <= longest:
        return result
    unusual = unusual_words(result, 1)
    middle = result.words[unusual[0]].start if unusual else 0
    start = max(0, min(middle - longest // 3, len(result.text) - longest))
    end = start + longest
    kept = [word for word in result.words if word.start >= start and word.end <= end]
    if kept:
        start, end = kept[0].start, kept[-1].end
    before, after = "… " if start > 0 else "", " …" if end < len(result.text) else ""
    shift = len(before) - start
    words = tuple(replace(word, start=word.start + shift, end=word.end + shift) for word in kept)
    return replace(result, text=f"{before}{result.text[start:end]}{after}", words=words)
