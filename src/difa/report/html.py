"""Results -> HTML with their words shaded, for notebooks and reports: self-contained, escaped, on light and dark ground.

Shades are transparent, so that they are readable on any background; flagged words are underlined, too.
"""

from __future__ import annotations

from html import escape

from difa.document import Explanation, Result, WordScore
from difa.report.highlight import strength_of, unusual_words, visible
from difa.report.sentences import document_sentence, explain_sentence, rarity, word_sentence

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
    rows = "".join(_view_row(result.words[t], view, value) for t in shown for view, value in result.words[t].evidence.items())
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
    note = f"{rarity(word.p_value)}" + (f"; did you mean {word.suggestion}?" if word.suggestion else "")
    flag = " difa-flag" if word.is_anomaly else ""
    return f'<mark class="difa-{strength}{flag}" title="{safe(note)}">{safe(word.text)}</mark>'


def _view_row(word: WordScore, view: str, evidence: float) -> str:
    return f"<tr><td>{safe(word.text)}</td><td>{safe(view)}</td><td>{evidence:.1f}</td></tr>"


def safe(text: str) -> str:
    """Text that cannot be taken for markup, nor steer how what follows is shown; line breaks stay."""
    return escape("\n".join(visible(line) for line in text.split("\n")), quote=True)
