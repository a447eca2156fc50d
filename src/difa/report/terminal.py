"""Results -> the text itself in a terminal, with suspicious words coloured by strength.

Words are deeper in colour the rarer they are, from yellow to red; flagged words are bold and underlined too, so that the marks
survive without colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from difa.document import Explanation, Reason, Result, WordScore
from difa.report.sentences import (
    COMMON,
    Reasons,
    document_sentence,
    excerpt,
    explain_sentence,
    strength_of,
    telling,
    unusual_words,
    visible,
    word_sentence,
)
from difa.views import SILENT

_SHADES = ("", "black on #fff3bf", "black on #ffd43b", "black on #ff922b", "white on #e03131")
_SHORT = 400  # characters of a document in a list
_BAR = 10.0  # evidence at which a bar is full


def style_of(word: WordScore) -> str:
    """The style of a word in place; empty for words that are not suspicious."""
    shade = _SHADES[strength_of(word)]
    return f"bold underline {shade}".strip() if word.is_anomaly else shade


def marked_text(result: Result) -> Text:
    """The document's text with its words styled in place."""
    text = Text(visible(result.text))
    for word in result.words:
        if style := style_of(word):
            text.stylize(style, word.start, word.end)
    return text


def document_line(result: Result) -> Text:
    """A result as a verdict and its text."""
    verdict = Text("▲ anomalous " if result.is_anomaly else "  normal    ", style="bold red" if result.is_anomaly else "green")
    head = Text(f"p={result.p_value:<8.2g}", style="dim")
    whole = result.is_anomaly and not any(word.is_anomaly for word in result.words)
    return Text.assemble(verdict, head, " ", marked_text(result), Text("  (as a whole)", style="dim") if whole else "")


def found_document(place: int, result: Result, reasons: Sequence[Reasons]) -> RenderableType:
    """One of the most unusual documents: its place, its text around the most unusual word, and the reason."""
    mark = Text("▲ " if result.is_anomaly else "  ", style="bold red")
    head = Text.assemble(Text(f"{place:>3} ", style="dim"), mark, Text(f"p={result.p_value:<7.2g} ", style="dim"))
    head.append(Text(f"{visible(result.id)}  " if result.id else "", style="dim"))
    return Group(
        Text.assemble(head, marked_text(excerpt(result, _SHORT))),
        Text(f"      {visible(document_sentence(result, reasons))}", style="italic"),
    )


def explanation(explained: Explanation, most: int = 6, details: bool = False) -> RenderableType:
    """One sentence, the text, the verdict with the rate in force, and a sentence for each further unusual word, `most` at most.

    With `details` each view's evidence, the reasons and the document score are added.
    """
    result, reasons = explained.result, explained.reasons
    shown = unusual_words(result, most)
    head = Text(visible(explain_sentence(explained)), style="bold")
    first = next((t for t in shown if result.words[t].is_anomaly), next(iter(shown), None))
    others = [Text(visible(f"• {word_sentence(result.words[t], reasons[t])}")) for t in shown if t != first]
    parts: list[RenderableType] = [head, Text(""), marked_text(result), _verdict(explained), *others]
    if details:
        parts += [Text(""), Text(f"document score {result.score:.2f}", style="dim"), _table(explained, most)]
    return Group(*parts)


def _verdict(explained: Explanation) -> Text:
    result = explained.result
    line = f"{'anomalous' if result.is_anomaly else 'normal'}: p = {result.p_value:.2g}"
    if explained.rate is not None:
        kind = "false-discovery" if explained.rule == "fdr" else "false-alarm"
        line += f", at a {kind} rate of {explained.rate:g}"
    return Text(line, style="red" if result.is_anomaly else "green")


def _table(explained: Explanation, most: int) -> Table:
    """Each view's evidence of the most unusual words, and the reasons."""
    result = explained.result
    strangest = sorted(range(len(result.words)), key=lambda t: result.words[t].p_value)[:1]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("word", no_wrap=True, max_width=28)
    table.add_column("p", justify="right")
    table.add_column("view", no_wrap=True)
    table.add_column("evidence", no_wrap=True)
    table.add_column("why")
    for t in unusual_words(result, most) or strangest:
        word = result.words[t]
        heads = [Text(visible(word.text), style=style_of(word)), Text(f"{word.p_value:.2g}")]
        for name, value in word.evidence.items():
            bar = "█" * round(10 * min(value / _BAR, 1.0))
            table.add_row(*heads, name, f"{bar:░<10} {value:4.1f}", _why(value, explained.reasons[t][name]))
            heads = [Text(), Text()]
    return table


def _why(evidence: float, reasons: tuple[Reason, ...]) -> Text:
    share = math.exp(-evidence)
    if reasons and reasons[0].kind == SILENT:
        return Text(reasons[0].text, style="dim")
    if share > COMMON:
        return Text("nothing unusual", style="dim")
    rarity = f"as rare as {share:.1%} of normal words" if share >= 0.001 else "rarer than 1 in 1000 normal words"
    return Text(visible("; ".join([rarity, *(reason.text for reason in telling(reasons, evidence))])))
