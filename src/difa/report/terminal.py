"""Results -> the text itself in a terminal, with suspicious words coloured by strength.

Strength is the word's p-value: nothing below 1 in 20, then deeper from yellow to red; flagged words are bold and
underlined too, so that the marks survive without colour.
"""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from difa.document import Explanation, Reason, Result, WordScore

_FAINT = 0.05
_SHADES = ((0.02, "black on #fff3bf"), (0.005, "black on #ffd43b"), (0.001, "black on #ff922b"), (0.0, "white on #e03131"))
_BAR = 10.0  # evidence at which a bar is full


def style_of(word: WordScore) -> str:
    """The style of a word in place; empty for words that are not suspicious."""
    if word.p_value > _FAINT:
        return "bold underline" if word.is_anomaly else ""
    shade = next(style for least, style in _SHADES if word.p_value >= least)
    return f"bold underline {shade}" if word.is_anomaly else shade


def marked_text(result: Result) -> Text:
    """The document's text with its words styled in place."""
    text = Text(_visible(result.text))
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


def explanation(explained: Explanation, most: int = 6) -> RenderableType:
    """A result with its most suspicious words, each view's evidence and the reasons."""
    result = explained.result
    order = sorted(range(len(result.words)), key=lambda t: (result.words[t].p_value, -result.words[t].score))
    shown = [t for t in order if result.words[t].is_anomaly or result.words[t].p_value <= _FAINT][:most] or order[:1]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("word", no_wrap=True, max_width=28)
    table.add_column("p", justify="right")
    table.add_column("view", no_wrap=True)
    table.add_column("evidence", no_wrap=True)
    table.add_column("why")
    for t in shown:
        word = result.words[t]
        heads = [Text(_visible(word.text), style=style_of(word)), Text(f"{word.p_value:.2g}")]
        for name, value in word.evidence.items():
            table.add_row(*heads, name, f"{_bar(value)} {value:4.1f}", _why(value, explained.reasons[t][name]))
            heads = [Text(), Text()]
    suggested = [
        Text(f"did you mean {result.words[t].suggestion!r}? ({_visible(result.words[t].text)})", style="cyan")
        for t in sorted(shown)
        if result.words[t].suggestion
    ]
    verdict = f"document score {result.score:.2f}, p={result.p_value:.2g}: " + ("anomalous" if result.is_anomaly else "normal")
    if result.is_anomaly:
        verdict += f"; {_visible(result.summary)}"
    head = Text(verdict, style="bold red" if result.is_anomaly else "green")
    return Group(marked_text(result), head, *suggested, Text(""), table)


def _why(evidence: float, reasons: tuple[Reason, ...]) -> Text:
    share = math.exp(-evidence)
    if reasons and reasons[0].text.startswith("silent"):
        return Text(reasons[0].text, style="dim")
    if evidence < -math.log(0.2):
        return Text("nothing unusual", style="dim")
    rarity = f"as rare as {share:.1%} of normal words" if share >= 0.001 else "rarer than 1 in 1000 normal words"
    return Text("; ".join([rarity, *(reason.text for reason in reasons[:3] if reason.weight >= 0.1)]))


def _bar(value: float) -> str:
    filled = round(10 * min(value, _BAR) / _BAR)
    return "█" * filled + "░" * (10 - filled)


def _visible(text: str) -> str:
    """Control characters as visible ones, one for one: a text must not be able to steer the terminal."""
    return "".join(c if c.isprintable() or c in "\t\u200d\ufe0f" else "\ufffd" for c in text)
