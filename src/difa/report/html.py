"""Results -> HTML with their words shaded: fragments for notebooks, and one page that reports on a summary of many results.

Both are self-contained and escaped, with no script, font or picture from elsewhere; the page's own policy forbids scripts. Shades
are transparent, so that they are readable on light and dark ground; flagged words are underlined, too. The templates stand beside
this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from difa import __version__
from difa.document import Result
from difa.formats.results import GENERATOR
from difa.fuse import speak_of
from difa.report.sentences import (
    Reasons,
    document_sentence,
    excerpt,
    rarity,
    strength_of,
    unusual_words,
    visible,
    word_sentence,
)
from difa.report.summary import Group, Summary, value_of

_VIEWS_SHOWN = 6  # words whose evidence is tabled
_GROUPS = 40
_NAME = 60  # characters of an id or a group


def shaded_text(result: Result) -> Markup:
    """The document's text as HTML, with its unusual words marked and their p-values in a tooltip."""
    parts, at = [], 0
    for word in result.words:
        strength = strength_of(word)
        if strength or word.is_anomaly:
            note = rarity(word.p_value) + (f"; did you mean {word.suggestion}?" if word.suggestion else "")
            flag = " difa-flag" if word.is_anomaly else ""
            mark = f'<mark class="difa-{strength}{flag}" title="{safe(note)}">{safe(word.text)}</mark>'
            parts += [safe(result.text[at : word.start]), mark]
            at = word.end
    return Markup("".join([*parts, safe(result.text[at:])]))


def result_html(result: Result, reasons: Sequence[Reasons] | None = None) -> str:
    """A result as a fragment that stands by itself; with reasons also a sentence for each unusual word, and its numbers."""
    shown = [] if reasons is None else unusual_words(result, _VIEWS_SHOWN)
    given = {"result": result, "reasons": reasons, "shown": shown, "sentence": document_sentence(result, reasons)}
    return _PAGES.get_template("fragment.html").render(given)


def report_html(
    summary: Summary,
    title: str,
    sources: Sequence[str] = (),
    learned: Sequence[str] = (),
    reasons_of: Callable[[Result], Sequence[Reasons] | None] = lambda result: None,
) -> str:
    """The whole page.

    Args:
        summary: what it says.
        title: its title.
        sources: names of the files that were read.
        learned: what the text taught a model that was fitted with it, one sentence each.
        reasons_of: the reasons behind a result, where a model is at hand.
    """
    named = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    lead = " · ".join(filter(None, (named, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))))
    given = {"summary": summary, "title": title, "lead": lead, "learned": learned, "reasons_of": reasons_of}
    return _PAGES.get_template("report.html").render(given) + "\n"


def safe(text: object) -> str:
    """Text that cannot be taken for markup, nor steer how what follows is shown; line breaks stay."""
    return escape("\n".join(visible(line) for line in str(text).split("\n")), quote=True)


def _histogram_note(summary: Summary) -> str:
    rule, rate = summary.rate or ("", 0.0)
    flagged = f"Flagged are documents up to p = {summary.flagged_up_to:.2g}" if summary.all.flagged else "Nothing is flagged"
    if rule == "fpr":
        flagged = f"Flagged are documents up to the false-alarm rate of {_percent(rate)} that was asked for"
    elif rule == "fdr":
        flagged += f", at the false-discovery rate of {_percent(rate)} that was asked for"
    return (
        "Documents by p-value: how many normal documents are as unusual. Text like your normal text fills every step alike, up "
        f"to the dashed line; what differs stands out as a high bar at the left. {flagged}."
    )


def _largest(groups: Mapping[str, Group]) -> dict[str, Group]:
    """The groups that are shown: of days and the like the last ones, of others the largest ones."""
    if all(key[:4].isdigit() for key in groups):
        return dict(sorted(groups.items())[-_GROUPS:])
    return dict(sorted(groups.items(), key=lambda item: (-item[1].documents, item[0]))[:_GROUPS])


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"…{text[1 - _NAME :]}"


def _interval(share: tuple[float, float]) -> str:
    return f"{_percent(share[0]).removesuffix(' %')}–{_percent(share[1])}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


WORD_STYLE = _read("words.css")  # what shaded words need
_PAGES = Environment(
    loader=FunctionLoader(lambda name: "".join(map(str.strip, _read(name).splitlines()))),
    autoescape=True,
    finalize=lambda value: value if isinstance(value, Markup) else Markup(safe(value)),  # whatever a template inserts
    undefined=StrictUndefined,
)
_PAGES.filters |= {"number": "{:,.0f}".format, "percent": _percent, "interval": _interval, "short": _short}
_PAGES.globals |= {
    "generator": Markup(GENERATOR),
    "version": __version__,
    "histogram_note": _histogram_note,
    "largest": _largest,
    **{function.__name__: function for function in (document_sentence, excerpt, shaded_text, speak_of, value_of, word_sentence)},
}
