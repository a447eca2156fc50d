"""A fast model in front of another."""

import json

import orjson
import pytest
from typer.testing import CliRunner

from difa import DiFA
from difa.cli import app
from difa.engines.cascade import MODEL, SCREEN, Cascade
from difa.errors import ConfigError
from difa.formats.write import from_json_line
from tests.conftest import QUICK
from tests.lines import to_json_line

pytestmark = pytest.mark.slow  # two models, one of them with an encoder


@pytest.fixture(scope="module")
def cascade(quick_model, corpus):
    return Cascade(quick_model, DiFA("fast", seed=1, fpr=0.05, stages=QUICK).fit(corpus[:80]), 0.2)


@pytest.fixture(scope="module")
def texts(corpus):
    return [*corpus[80:140], "Where is my xkcdqwrtplk zzqvv parcel?", ""]


def test_only_suspicious_documents_reach_the_model(cascade, texts):
    results = cascade.score(texts, fpr=0.05)
    screened, judged = cascade.screen.score(texts, fpr=0.05), cascade.model.score(texts, fpr=0.05)
    assert {result.judged_by for result in results} == {SCREEN, MODEL}
    for result, first, second in zip(results, screened, judged, strict=True):
        goes_on = first.p_value <= 0.2
        assert result.judged_by == (MODEL if goes_on else SCREEN)
        assert result.score == pytest.approx((second if goes_on else first).score, abs=1e-9)
        assert not result.is_anomaly or (goes_on and second.is_anomaly)
    assert results[-2].judged_by == MODEL
    assert results[-2].is_anomaly


def test_results_of_a_cascade_survive_their_line_of_json(cascade, texts):
    for result in cascade.score(texts[-5:], fpr=0.05):
        assert to_json_line(result).encode() == orjson.dumps(result.to_dict()) + b"\n"
        assert from_json_line(to_json_line(result)) == result
    assert "judged_by" not in cascade.model.score(texts[:1])[0].to_dict()


def test_rates_that_would_mix_p_values_are_refused(cascade):
    with pytest.raises(ConfigError, match="at most the rate of the screen"):
        cascade.score(["a text"], fpr=0.3)
    with pytest.raises(ConfigError, match="screen: expected a number between 0 and 1"):
        Cascade(cascade.model, cascade.screen, 1.5)


def test_a_model_with_a_false_discovery_rate_needs_another_rule(cascade, texts):
    by_discovery = cascade.model.allowing([])
    by_discovery.fdr = 0.1
    screened = Cascade(by_discovery, cascade.screen, 0.2)
    with pytest.raises(ConfigError, match="got one with fdr: give fpr"):
        screened.score(texts)
    assert screened.score(texts, fpr=0.05) == cascade.score(texts, fpr=0.05)


def test_the_command_line_screens(cascade, texts, tmp_path):
    for name, model in (("model", cascade.model), ("fast", cascade.screen)):
        model.save(tmp_path / name)
    (tmp_path / "in.txt").write_text("\n".join(texts), encoding="utf-8")
    command = ["score", str(tmp_path / "model"), str(tmp_path / "in.txt"), "--out", str(tmp_path / "out.jsonl"), "--quiet"]
    done = CliRunner().invoke(app, [*command, "--screen", "0.2", "--screen-model", str(tmp_path / "fast")])
    assert done.exit_code == 0, done.output
    written = [json.loads(line)["judged_by"] for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert written == [result.judged_by for result in cascade.score(texts[:-1], fpr=0.05)]
    for wrong, message in (
        (["--screen", "0", "--screen-model", str(tmp_path / "fast")], "screen: expected a number between 0 and 1"),
        (["--screen", "0.2"], "expected both of --screen and --screen-model"),
        (["--screen", "0.2", "--screen-model", str(tmp_path / "fast"), "--fdr", "0.1"], "expected fpr beside a screen, got fdr"),
    ):
        failed = CliRunner().invoke(app, [*command, *wrong])
        assert message in str(failed.exception)
