"""The page on the paper's preset quotes settings: they are those of the code."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from difa.config import Config
from difa.paper import BATCH_DOCUMENTS, DESCRIPTOR, UNITS

DOCS = {
    path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in (Path(__file__).parents[2] / "docs").glob("*.md")
}
PAGE = DOCS["paper.md"]
PAPER = Config.preset("paper")


@pytest.mark.slow
def test_lengths_of_training():
    from difa.views.semantic.train import MEMORY, PLATEAUS, ROUND, SLOWER  # which loads torch

    semantic, learn = PAPER.semantic, PAPER.learn
    said = (PLATEAUS, SLOWER, semantic.plateau, semantic.held_out, semantic.learning_rate, MEMORY[1])
    assert said == (3, 4, 0.05, 0.1, 0.001, 0.95), "the page says these in words"
    for sentence in (
        f"rounds of {ROUND} steps on about {semantic.batch_words} words each",
        f"no longer falls; at most {semantic.teacher_rounds} rounds",
        f"rounds of {ROUND} steps on {semantic.student_batch_words} random words each, by the same rule",
        f"by the same rule; at most {semantic.student_rounds} rounds",
        f"{learn.steps} steps, each with up to {BATCH_DOCUMENTS} random pseudo-anomalous and {BATCH_DOCUMENTS} random normal",
        f"{learn.steps * BATCH_DOCUMENTS // PAPER.perturb.documents} passes over {PAPER.perturb.documents} pseudo anomalies",
    ):
        assert sentence in PAGE


def test_scales_of_the_inputs_of_r():
    units = dict(zip(DESCRIPTOR, UNITS, strict=True))
    assert {name for name, unit in units.items() if unit == 0.2} == {"max", "topk", "lse", "adp", "mean", "log_length"}
    assert (units["peakness"], units["support"], units["geometry"]) == (0.5, 1, 1)
    for row in (
        "| the four candidates, the mean, the log length | 0.2 |",
        "| peakness | 0.5 |",
        "| support, geometry gate | 1 |",
    ):
        assert row in PAGE


def test_shrinkage_and_encoder():
    full = Config.preset("full")
    assert replace(full.form, letters="changes") == PAPER.form, "but for the entry of letters, the same in all presets"
    assert full.encoder == PAPER.encoder, "the preset does not bring the paper's encoder"
    assert full.fusion.rule != "gates", "nothing is shrunk where nothing is learned"
    assert f"the correlations with {PAPER.form.shrinkage:g} of the identity" in PAGE
    assert f"a penalty of {PAPER.learn.shrinkage:g} on their squared output weights" in PAGE
    assert "bert-base-uncased | all-MiniLM-L6-v2, embedded" in PAGE


def test_no_page_puts_down_to_the_paper_what_it_does_not_say():
    for name, text in DOCS.items():
        assert not re.search(r"highest word[^.;]*, as in the paper", text), (
            f"{name}: the paper does not say how baselines are pooled"
        )
        assert "log-sum-exp" not in text or "log-mean-exp" in text or "log-*mean*-exp" in text, name
    assert "what TokenCore's authors do, not the DiFA paper" in PAGE, "whose way the choice by test AUROC is"
