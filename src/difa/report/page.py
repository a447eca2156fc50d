"""A summary of results -> one HTML page that needs nothing else: no script, no font, no picture from elsewhere.

Everything that comes from the texts is escaped, and the page's own policy forbids scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from difa import __version__
from difa.document import Result
from difa.formats.replaceable import GENERATOR
from difa.fuse import speak_of
from difa.report.highlight import excerpt
from difa.report.html import WORD_STYLE, safe, shaded_text
from difa.report.sentences import document_sentence
from difa.report.summary import FlaggedWord, Group, Summary, UnusualDocument, value_of

_WORDS = 15
_GROUPS = 40
_NAME = 60  # characters of an id or a group
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 720, 230, 46, 34, 18  # of the histogram


def report_html(summary: Summary, title: str, sources: Sequence[str] = (), learned: Sequence[str] = ()) -> str:
    """The whole page; `learned` is what the text taught a model that was fitted with it, one sentence each."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8") + WORD_STYLE
    names = tuple(summary.groups)
    body = [
        f"<h1>{safe(title)}</h1><p class='lead'>{safe(_lead(summary, sources))}</p>",
        _tiles(summary),
        _learned(learned),
        _histogram(summary),
        *(_by(name, groups) for name, groups in summary.groups.items()),
        _worst(summary.worst, names),
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


def _lead(summary: Summary, sources: Sequence[str]) -> str:
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


def _learned(sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{safe(sentence)}</li>" for sentence in sentences)
    return _section("The new text as a whole", "What it has more of than normal text. This set the weights.", f"<ul>{items}</ul>")


def _documents(count: int) -> str:
    return "document" if count == 1 else "documents"


def _section(title: str, note: str, content: str) -> str:
    return f"<section><h2>{title}</h2><p class='note'>{note}</p>{content}</section>"


def _histogram(summary: Summary) -> str:
    limit = summary.highest_flagged_p
    flagged = f" Flagged are documents up to p = {limit:.2g}." if summary.all.flagged else " Nothing is flagged."
    note = (
        "Documents by p-value: how many normal documents are as unusual. Text like your normal text fills every step alike, up "
        f"to the dashed line; what differs stands out as a high bar at the left.{flagged}"
    )
    return _section("Beside normal text", note, _p_histogram(summary.histogram, limit))


def _p_histogram(counts: Sequence[int], flagged_up_to: float) -> str:
    """Documents by p-value, with what normal text would give as a line.

    Args:
        counts: documents in equal steps of the p-value from 0 to 1.
        flagged_up_to: the highest p-value that is flagged; the steps below it are coloured.
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
        f"<text x='{_WIDTH}' y='{line - 6:.1f}' text-anchor='end'>normal text: {expected:,.0f} in each step</text>"
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
        f"<td><div class='track'><i style='width:{100 * group.share / most:.0f}%'></i></div></td></tr>"
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
    sentence = safe(document_sentence(result))
    return f"<li><div class='head'>{head}</div><p class='say'>{sentence}</p><p class='difa-text'>{_shaded(result)}</p></li>"


def _shaded(result: Result) -> str:
    part = excerpt(result)
    before, after = ("… " if part.is_cut_before else ""), (" …" if part.is_cut_behind else "")
    return f"{before}{shaded_text(part.result)}{after}"


def _words(summary: Summary) -> str:
    parts = [("Words", summary.most_flagged(True, _WORDS)), ("Numbers, codes and marks", summary.most_flagged(False, _WORDS))]
    tables = "".join(f"<div><h3>{title}</h3>{_word_table(words)}</div>" for title, words in parts if words)
    if not tables:
        return ""
    note = "By the documents in which they are flagged. What belongs here and is merely new is worth adding to the normal texts."
    return _section("Most flagged words", note, f"<div class='columns'>{tables}</div>")


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
    total = sum(summary.views.values())
    if not total:
        return ""
    rows = "".join(
        f"<tr><td><b>{safe(view)}</b> <span class='note'>{safe(speak_of(view).subject)}</span></td><td class='n'>{count:,}</td>"
        f"<td><div class='track'><i style='width:{100 * count / max(summary.views.values()):.0f}%'></i></div></td></tr>"
        for view, count in summary.views.most_common()
    )
    note = "Flagged words by the view that speaks most strongly against them."
    return _section("Evidence by view", note, f"<table>{rows}</table>")


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"…{text[1 - _NAME :]}"


def _range(low: float, high: float) -> str:
    return f"{_percent(low).removesuffix(' %')}–{_percent(high)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
