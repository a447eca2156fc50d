"""Tone view: does the word praise, insult or complain more than normal text does?

`vectors` measures a word in its context along directions in the encoder's space; `lexicon` looks the word up, where there are no
vectors.
"""

from __future__ import annotations

from difa.knowledge import ENGLISH
from difa.views.tone.lexicon import LexiconView
from difa.views.tone.vectors import ToneView, learn_directions
from difa.views.view import Further, Lesson, SavedView, View, ViewKind, Wording


def _fit(lesson: Lesson) -> View:
    if not lesson.encoder.spec.dimension:
        return LexiconView.fit(lesson.documents, lesson.language)
    return ToneView.fit(lesson.documents, lesson.encoder, lesson.language)


def _restore(saved: SavedView) -> View:
    return ToneView(**saved.tensors) if "directions" in saved.tensors else LexiconView.restore(saved.tensors)


def _prepare(lesson: Lesson) -> None:
    if lesson.language == ENGLISH and lesson.encoder.spec.dimension:
        learn_directions(lesson.encoder)


def _extend(view: View, further: Further) -> View:
    # Of the lexicon nothing is the corpus' own but its units, which stay.
    return view.extended(further.documents, further.seen) if isinstance(view, ToneView) else view


VIEW = ViewKind(
    _fit,
    _restore,
    _extend,
    learnt_from=("valence",),
    english_only=True,
    prepare=_prepare,
    wording=Wording("hostile or emotional words", "stands out in tone", "its tone is unlike theirs"),
)
