import numpy as np
import pytest

from difa.decide.evaluate import evaluate, measure
from difa.document import Result, WordScore
from difa.errors import InputError
from difa.words import from_text, from_tokens


def result(document_score, flagged, *word_scores):
    words = tuple(WordScore("w", 0, 1, score, 0.5, False) for score in word_scores)
    return Result("", document_score, 0.5, flagged, words)


DOCUMENTS = [from_tokens(["a", "b"], labels=[0, 1]), from_tokens(["c"], labels=[0]), from_tokens(["d"], labels=[0])]


def test_figures_by_hand():
    figures = evaluate([result(2.0, True, 1.0, 3.0), result(3.0, True, 4.0), result(1.0, False, 2.0)], DOCUMENTS)
    # The anomalous word, at 3, lies above 1 and 2 and below 4; the anomalous document above one of two.
    assert figures.word.auroc == pytest.approx(2 / 3)
    assert figures.word.average_precision == pytest.approx(1 / 2)
    assert figures.document.auroc == pytest.approx(1 / 2)
    assert (figures.recall, figures.false_alarm_rate) == (1.0, 0.5)
    assert (figures.word.count, figures.word.anomalous) == (4, 1)


def test_labels_are_needed_and_both_classes():
    with pytest.raises(InputError, match="expected labels for every document, x has none"):
        evaluate([result(1.0, False, 1.0)], [from_text("a", id="x")])
    with pytest.raises(InputError, match="got 1 normal and 0 anomalous"):
        evaluate([result(1.0, False, 1.0)], DOCUMENTS[1:2])


def test_a_perfect_ranking_is_one_and_not_more():
    labels = np.repeat([1.0, 0.0], [20, 40])
    assert measure("words", labels, np.linspace(1, 0, 60)).average_precision == 1.0
