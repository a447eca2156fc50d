import dataclasses

import pytest

from difa.config import (
    CalibrationConfig,
    Config,
    EncoderConfig,
    FormConfig,
    FusionConfig,
    PerturbConfig,
    SemanticConfig,
    ViewsConfig,
)
from difa.errors import ConfigError


def test_settings_survive_json_shape():
    config = Config.preset("paper")
    assert Config().changed(config.to_dict()) == config


def test_the_paper_preset_is_the_papers():
    full, paper = Config.preset("full").to_dict(), Config.preset("paper").to_dict()
    assert paper["views"]["names"] == ("semantic", "form")
    assert paper["calibration"]["reference"] == "in-sample"
    assert paper["perturb"]["kinds"] == ("form", "semantic", "mixed")
    assert (paper["fusion"]["rule"], paper["fusion"]["hidden"], paper["fusion"]["agreement"]) == ("gates", 8, True)
    assert paper["document"] == {"rule": "mixture"}
    differing = {"views", "form", "calibration", "perturb", "fusion", "document"}
    assert {name for name in full if full[name] != paper[name]} == differing


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Config.preset("best"), "preset: expected one of full, fast, paper, got 'best'"),
        (lambda: Config().changed({"form": {"windw": 2}}), "unknown key of form 'windw'"),
        (lambda: Config().changed({"forms": {}}), "unknown stage 'forms'"),
        (lambda: Config().changed({"form": 3}), "form: expected a FormConfig or a mapping, got int"),
        (lambda: FormConfig(window=0), "FormConfig.window: expected a whole number from 1 to 64, got 0"),
        (lambda: FormConfig(shrinkage=2), "FormConfig.shrinkage: expected a number above 0 and at most 0.99, got 2"),
        (lambda: FusionConfig(agreement="False"), "agreement: expected true or false, got 'False'"),
        (lambda: SemanticConfig(learning_rate=float("nan")), "learning_rate"),
        (lambda: SemanticConfig(learning_rate=float("inf")), "learning_rate: expected a number above 0, got inf"),
        (lambda: EncoderConfig(layer=1.5), "layer: expected a whole number from -1000 to 1000, got 1.5"),
        (lambda: EncoderConfig(threads=0), "threads: expected a whole number of at least 1, got 0"),
        (lambda: EncoderConfig(name=" "), "name: expected text that is not blank, got ' '"),
        (lambda: FusionConfig(weights={"form": 0}), "weights: expected a number above 0 for some of language, phrase"),
        (lambda: SemanticConfig(held_out=0.6), "held_out: expected a number above 0 and at most 0.5, got 0.6"),
        (lambda: SemanticConfig(layers=True), "layers"),
        (lambda: SemanticConfig(student_rounds=0), "student_rounds: expected a whole number of at least 1, got 0"),
        (lambda: SemanticConfig(plateau=-0.1), "plateau: expected a number of at least 0 and at most 1, got -0.1"),
        (lambda: CalibrationConfig(reference="none"), "expected one of unseen, in-sample, got 'none'"),
        (lambda: PerturbConfig(kinds=()), "kinds"),
        (lambda: ViewsConfig(names=("form", "form")), "each once, got"),
        (
            lambda: ViewsConfig(names=("sound",)),
            "some of language, phrase, tone, critic, form, faults, neighbour, semantic, each once",
        ),
        (lambda: FusionConfig(power=0.5), "power"),
        (lambda: Config(fusion=FusionConfig(rule="gates")), "expected mean for more than two views, got gates for 7"),
        (lambda: Config(form=SemanticConfig()), "form: expected a FormConfig, got SemanticConfig"),
    ],
)
def test_unknown_and_impossible_settings_are_errors(make, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        make()


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FormConfig().window = 3
