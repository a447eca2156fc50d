"""Results -> HTML with their words shaded: fragments for notebooks, and one page that reports on a summary of many results.

Both are self-contained and escaped, with no script, font or picture from elsewhere; the page's own policy forbids scripts. Shades
are transparent, so that they are readable on light and dark ground; flagged words are underlined, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from difa import __version__
from difa.document import Explanation, Result, WordScore
from difa.formats.results import GENERATOR
from difa.fuse import speak_of
from difa.report.sentences import (
    document_sentence,
    excerpt,
    explain_sentence,
    rarity,
    strength_of,
    unusual_words,
    visible,
    word_sentence,
)
from difa.report.summary import FlaggedWord, Group, Summary, UnusualDocument, value_of

WORD_STYLE = """
.difa-text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.6}
.difa-text mark{color:inherit;background:none;border-radius:3px;padding:1px 2px;margin:-1px -2px}
.difa-text .difa-1{background:rgba(250,204,21,.25)}.difa-text .difa-2{background:rgba(250,176,5,.42)}
.difa-text .difa-3{background:rgba(247,103,7,.45)}.difa-text .difa-4{background:rgba(240,62,62,.50)}
.difa-text .difa-flag{font-weight:600;text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:3px}
"""
"""What shaded words need."""
_STYLE = (
    WORD_STYLE
    + """
.difa{font-family:system-ui,sans-serif;max-width:60em}.difa p{margin:.35em 0}.difa li{margin:.2em 0}
.difa small{opacity:.7}.difa table{border-collapse:collapse;margin:.5em 0}.difa td{padding:.1em .8em .1em 0;text-align:left}
"""
)
_VIEWS_SHOWN = 6  # words whose evidence is tabled

_WORDS = 15
_GROUPS = 40
_NAME = 60  # characters of an id or a group
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 720, 238, 46, 34, 26  # of the histogram


def shaded_text(result: Result) -> str:
    """The document's text as HTML, with its unusual words marked and their p-values in a tooltip."""
    parts, at = [], 0
    for word in result.words:
        strength = strength_of(word)
        if not strength and not word.is_anomaly:
            continue
        parts += [safe(result.text[at : word.start]), _mark(word, strength)]
        at = word.end
    return "".join([*parts, safe(result.text[at:])])


def result_html(result: Result) -> str:
    """A result as a fragment that stands by itself."""
    return _fragment(result, document_sentence(result), "")


def explanation_html(explained: Explanation) -> str:
    """An explanation as a fragment: a sentence for each unusual word, and the numbers folded away."""
    result, reasons = explained.result, explained.reasons
    shown = unusual_words(result, _VIEWS_SHOWN)
    items = "".join(f"<li>{safe(word_sentence(result.words[t], reasons[t]))}</li>" for t in shown)
    rows = "".join(
        f"<tr><td>{safe(result.words[t].text)}</td><td>{safe(view)}</td><td>{value:.1f}</td></tr>"
        for t in shown
        for view, value in result.words[t].evidence.items()
    )
    details = f"<details><summary>Views and numbers</summary><table>{rows}</table></details>" if rows else ""
    return _fragment(result, explain_sentence(explained), f"<ul>{items}</ul>{details}" if items else "")


def _fragment(result: Result, sentence: str, more: str) -> str:
    verdict = "anomalous" if result.is_anomaly else "normal"
    return (
        f'<div class="difa"><style>{_STYLE}</style><p>{safe(sentence)}</p>'
        f'<p class="difa-text">{shaded_text(result)}</p>'
        f"<p><small>{verdict} · p = {result.p_value:.2g} · score {result.score:.2f}</small></p>{more}</div>"
    )


def _mark(word: WordScore, strength: int) -> str:
    note = rarity(word.p_value) + (f"; did you mean {word.suggestion}?" if word.suggestion else "")
    flag = " difa-flag" if word.is_anomaly else ""
    return f'<mark class="difa-{strength}{flag}" title="{safe(note)}">{safe(word.text)}</mark>'


def safe(text: str) -> str:
    """Text that cannot be taken for markup, nor steer how what follows is shown; line breaks stay."""
    return escape("\n".join(visible(line) for line in text.split("\n")), quote=True)


def report_html(summary: Summary, title: str, sources: Sequence[str] = (), learned: Sequence[str] = ()) -> str:
    """The whole page; `learned` is what the text taught a model that was fitted with it, one sentence each."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8") + WORD_STYLE
    items = "".join(f"<li>{safe(sentence)}</li>" for sentence in learned)
    taught = "What it has more of than normal text. This set the weights."
    body = [
        f"<h1>{safe(title)}</h1><p class='lead'>{safe(_lead(sources))}</p>",
        _tiles(summary),
        _section("The new text as a whole", taught, f"<ul>{items}</ul>" if items else ""),
        _histogram(summary),
        _worst(summary.worst, tuple(summary.groups)),
        *(_by(name, groups) for name, groups in summary.groups.items()),
        _words(summary),
        _views(summary),
        f"<footer>Made by DiFA {safe(__version__)}. The rarer a word is among normal words, the deeper its shade; flagged words "
        "are underlined. A p-value of 0.01 means that 1 normal document in 100 is as unusual.</footer>",
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"{GENERATOR}<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{safe(title)}</title><style>{style}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _lead(sources: Sequence[str]) -> str:
    named = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return " · ".join(filter(None, (named, when)))


def _tiles(summary: Summary) -> str:
    low, high = summary.all.interval
    tiles = [
        ("", f"{summary.all.documents:,}", _documents(summary.all.documents)),
        ("hot", f"{summary.all.flagged:,}", f"flagged: {_percent(summary.all.share)} ({_range(low, high)})"),
        ("", f"{summary.flagged_words:,}", f"flagged of {summary.words:,} words"),
        ("", f"{len(summary.vocabulary):,}", "different flagged words"),
    ]
    if summary.without_text:
        tiles.append(("", f"{summary.without_text:,}", _documents(summary.without_text) + " without text"))
    shown = "".join(f"<div class='tile {kind}'><b>{number}</b><span>{what}</span></div>" for kind, number, what in tiles)
    return f"<div class='tiles'>{shown}</div>"


def _documents(count: int) -> str:
    return "document" if count == 1 else "documents"


def _section(title: str, note: str, content: str) -> str:
    """A part of the page; none where there is nothing to show."""
    return f"<section><h2>{title}</h2><p class='note'>{note}</p>{content}</section>" if content else ""


def _track(share: float) -> str:
    """A cell with a bar of that share of its width."""
    return f"<td><div class='track'><i style='width:{100 * share:.0f}%'></i></div></td>"


def _histogram(summary: Summary) -> str:
    rule, rate = summary.rate or ("", 0.0)
    limit = rate if rule == "fpr" else summary.highest_flagged_p
    flagged = f" Flagged are documents up to p = {limit:.2g}" if summary.all.flagged else " Nothing is flagged"
    if rule == "fpr":
        flagged = f" Flagged are documents up to the false-alarm rate of {_percent(rate)} that was asked for"
    elif rule == "fdr":
        flagged += f", at the false-discovery rate of {_percent(rate)} that was asked for"
    note = (
        "Documents by p-value: how many normal documents are as unusual. Text like your normal text fills every step alike, up "
        f"to the dashed line; what differs stands out as a high bar at the left.{flagged}."
    )
    return _section("Beside normal text", note, _p_histogram(summary.histogram, limit))


def _p_histogram(counts: Sequence[int], flagged_up_to: float) -> str:
    """Documents in equal steps of the p-value from 0 to 1, those below the highest that is flagged coloured; what normal text
    would give as a line.
    """
    steps, expected = len(counts), sum(counts) / len(counts)
    top = max([*counts, expected, 1])
    width, height = (_WIDTH - _LEFT) / steps, _HEIGHT - _BELOW - _ABOVE
    floor = _HEIGHT - _BELOW
    bars = "".join(
        f"<rect class='b{' hot' if at / steps < flagged_up_to else ''}' x='{_LEFT + at * width + 1.5:.1f}' "
        f"y='{floor - height * count / top:.1f}' width='{width - 3:.1f}' height='{height * count / top:.1f}' rx='2'>"
        f"<title>p {at / steps:.2f} to {(at + 1) / steps:.2f}: {count:,} documents</title></rect>"
        for at, count in enumerate(counts)
    )
    line = floor - height * expected / top
    marks = "".join(
        f"<text x='{_LEFT + share * (_WIDTH - _LEFT):.1f}' y='{floor + 18}' text-anchor='{anchor}'>{share:g}</text>"
        for share, anchor in ((0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1, "end"))
    )
    return (
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='Histogram of document p-values'>"
        f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH}' y1='{floor + 0.5}' y2='{floor + 0.5}'/>{bars}"
        f"<line class='expected' x1='{_LEFT}' x2='{_WIDTH}' y1='{line:.1f}' y2='{line:.1f}'/>"
        f"<text x='{_WIDTH}' y='16' text-anchor='end'>dashed: normal text, {expected:,.0f} in each step</text>"
        f"<text x='{_LEFT - 8}' y='{floor - height + 4:.1f}' text-anchor='end'>{top:,.0f}</text>"
        f"<text x='{_LEFT - 8}' y='{floor + 4}' text-anchor='end'>0</text>{marks}</svg>"
    )


def _by(name: str, groups: Mapping[str, Group]) -> str:
    is_ordered = all(key[:4].isdigit() for key in groups)
    order = sorted(groups.items(), key=lambda item: item[0] if is_ordered else (-item[1].documents, item[0]))
    shown = order[-_GROUPS:] if is_ordered else order[:_GROUPS]
    most = max(group.share for _, group in shown) or 1.0
    rows = "".join(_group_row(key, group, most) for key, group in shown)
    left = f"<p class='note'>{len(order) - len(shown):,} further groups are left out.</p>" if len(order) > len(shown) else ""
    numbers = "".join(f"<th class='n'>{what}</th>" for what in ("documents", "flagged", "share"))
    table = f"<table><tr><th>{safe(name)}</th>{numbers}<th></th></tr>{rows}</table>{left}"
    return _section(f"Share flagged by {safe(name)}", "In brackets: 95 % interval.", table)


def _group_row(key: str, group: Group, most: float) -> str:
    low, high = group.interval
    return (
        f"<tr><td>{safe(_short(key))}</td><td class='n'>{group.documents:,}</td><td class='n'>{group.flagged:,}</td>"
        f"<td class='n'>{_percent(group.share)} <span class='note i'>({_range(low, high)})</span></td>"
        f"{_track(group.share / most)}</tr>"
    )


def _worst(worst: Sequence[UnusualDocument], names: Sequence[str]) -> str:
    items = "".join(_document(entry, names) for entry in worst)
    note = "The least likely among normal text first; the same text is shown once."
    title = f"The {len(worst)} most unusual documents" if len(worst) > 1 else "The most unusual document"
    return _section(title, note, f"<ol class='worst'>{items}</ol>")


def _document(entry: UnusualDocument, names: Sequence[str]) -> str:
    result = entry.result
    marks = [f"<span class='p'>p = {result.p_value:.2g}</span>", "flagged" if result.is_anomaly else "not flagged"]
    marks += [f"<span class='id'>{safe(_short(result.id))}</span>"] if result.id else []
    marks += [f"{safe(name)}: {safe(_short(value_of(result, name)))}" for name in names if name in result.columns]
    marks += [f"{entry.times} times"] if entry.times > 1 else []
    head = "".join(f"<span>{mark}</span>" for mark in marks)
    part = excerpt(result)
    text = f"<p class='difa-text'>{part.before}{shaded_text(part.result)}{part.after}</p>"
    return f"<li><div class='head'>{head}</div><p class='say'>{safe(document_sentence(result))}</p>{text}</li>"


def _words(summary: Summary) -> str:
    parts = [("Words", summary.most_flagged(True, _WORDS)), ("Numbers, codes and marks", summary.most_flagged(False, _WORDS))]
    tables = "".join(f"<div><h3>{title}</h3>{_word_table(words)}</div>" for title, words in parts if words)
    note = "By the documents in which they are flagged. What belongs here and is merely new is worth adding to the normal texts."
    return _section("Most flagged words", note, f"<div class='columns'>{tables}</div>" if tables else "")


def _word_table(words: Sequence[FlaggedWord]) -> str:
    rows = "".join(
        f"<tr><td><b>{safe(_short(word.text))}</b>{_meant(word)}</td><td class='n'>{word.documents:,}</td>"
        f"<td class='note'>{safe(', '.join(map(_short, word.examples)))}</td></tr>"
        for word in words
    )
    return f"<table><tr><th>word</th><th class='n'>documents</th><th>for example</th></tr>{rows}</table>"


def _meant(word: FlaggedWord) -> str:
    return f" → {safe(_short(word.suggestions.most_common(1)[0][0]))}" if word.suggestions else ""


def _views(summary: Summary) -> str:
    most = max(summary.views.values(), default=1)
    rows = "".join(
        f"<tr><td><b>{safe(view)}</b> <span class='note'>{safe(speak_of(view).subject)}</span></td><td class='n'>{count:,}</td>"
        f"{_track(count / most)}</tr>"
        for view, count in summary.views.most_common()
    )
    note = "Flagged words by the view that speaks most strongly against them."
    return _section("Evidence by view", note, f"<table>{rows}</table>" if rows else "")


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"…{text[1 - _NAME :]}"


def _range(low: float, high: float) -> str:
    return f"{_percent(low).removesuffix(' %')}–{_percent(high)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
