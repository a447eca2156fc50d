"""Rules, cutoffs and flags, by hand; and p-values without flags."""

import numpy as np
import pytest

from difa.decide import UNUSUAL, Cutoff, Rule, Tally, flag
from difa.document import Result, WordScore, columns_of
from difa.errors import ConfigError


def result(p_value, *words):
    scores = tuple(WordScore(text, 0, 1, -p, p, False) for text, p in words)
    return Result("", 1 - p_value, p_value, False, scores)


def flags(results):
    return [(item.is_anomaly, [word.text for word in item.words if word.is_anomaly]) for item in results]


RESULTS = [
    result(0.01, ("a", 0.02), ("b", 0.5)),
    result(0.04, ("C", 0.05), ("d", 0.051)),
    result(0.9, ("e", 0.001)),
]


@pytest.mark.parametrize(
    ("given", "own", "expected"),
    [
        ((None, None), (0.01, None), Rule("fpr", 0.01)),
        ((None, None), (0.01, 0.2), Rule("fdr", 0.2)),
        ((0.05, None), (0.01, 0.2), Rule("fpr", 0.05)),
        ((None, 0.1), (0.01, None), Rule("fdr", 0.1)),
    ],
)
def test_the_call_s_rate_comes_before_the_model_s_own(given, own, expected):
    assert Rule.in_force(*given, own=own) == expected


@pytest.mark.parametrize(
    ("given", "own", "message"),
    [
        ((0.1, 0.1), (0.01, None), "expected one of fpr and fdr, got both"),
        ((0, None), (0.01, None), "fpr: expected a number between 0 and 1"),
        ((None, 1.0), (0.01, None), "fdr: expected a number between 0 and 1"),
        ((None, None), (0.01, "no"), "fdr: expected a number between 0 and 1"),
    ],
)
def test_impossible_rates_are_refused(given, own, message):
    with pytest.raises(ConfigError, match=message):
        Rule.in_force(*given, own=own)


def test_a_false_alarm_rate_flags_every_p_value_up_to_it():
    assert flags(flag(RESULTS, Rule("fpr", 0.05))) == [(True, ["a"]), (True, ["C"]), (False, ["e"])]


def test_a_false_discovery_rate_looks_at_all_results_together():
    # Documents .01 .04 .9 against .06·k/3 = .02 .04 .06: two pass. Words .001 .02 .05 .051 .5 against .06·k/5 = .012 .024
    # .036 .048 .06: the second is the last to pass.
    assert Cutoff.of(columns_of(RESULTS), Rule("fdr", 0.06)) == Cutoff(0.04, 0.02, Rule("fdr", 0.06))
    assert flags(flag(RESULTS, Rule("fdr", 0.06))) == [(True, ["a"]), (True, []), (False, ["e"])]
    assert flags(flag(RESULTS[2:], Rule("fdr", 0.06))) == [(False, ["e"])]
    assert flag([], Rule("fdr", 0.06)) == []


def test_flags_can_be_set_again_at_another_rate():
    again = flag(flag(RESULTS, Rule("fpr", 0.6)), Rule("fpr", 0.05))
    assert again == flag(RESULTS, Rule("fpr", 0.05))


def test_scoring_gives_p_values_and_suggestions_that_depend_on_no_rate(model):
    text = "Pleese refund the wpdlkrt ordr"
    ranked = model.score_unflagged([text])
    assert flags(ranked) == [(False, [])]
    assert flag(ranked, Rule("fpr", 0.5)) == model.score([text], fpr=0.5)
    words = ranked[0].words
    assert any(word.suggestion for word in words)
    assert all(word.p_value <= UNUSUAL for word in words if word.suggestion)
    explained = model.explain_unflagged(text)
    assert [explained.result] == ranked
    assert model.explain(text, fpr=0.5).result == model.score([text], fpr=0.5)[0]


def test_a_result_is_shown_in_one_line():
    word = WordScore("wpd\nx", 0, 5, 3.0, 0.001, True)
    shown = repr(Result("wpd\nx " + "long " * 100, 2.5, 0.01234, True, (word,)))
    assert shown.startswith("Result('wpd\\nx long")
    assert shown.endswith("…', score=2.5, p_value=0.012, is_anomaly=True, flagged=['wpd\\nx'])")
    assert "\n" not in shown
    assert len(shown) < 200


@pytest.mark.parametrize(
    ("p_values", "cutoff"),
    [
        ([0.5, 0.03, 0.01, 0.02], 0.03),  # against .05·k/4 = .0125 .025 .0375 .05 in order: the third is the last to pass
        ([0.04, 0.5], -1.0),
        ([], -1.0),
    ],
)
def test_benjamini_hochberg_by_hand(p_values, cutoff):
    tally = Tally()
    tally.add(np.array(p_values))
    assert tally.cutoff(0.05) == cutoff
