"""`difa monitor` and `difa threshold` as people use them."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from difa import DiFA
from difa.cli import app
from difa.errors import DifaError
from tests.commands import here


@pytest.fixture
def saved(fast_model, tmp_path):
    """The folder of a model of the first 80 documents."""
    fast_model.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def feed(corpus, tmp_path):
    """Two quiet days and a loud one, in a table whose last day comes first."""
    loud = [f"Please fax the invoice zxqv{number} wpdlkrt to our vvqzz bureau." for number in range(60)]
    days = {"2026-05-03": loud, "2026-05-01": corpus[300:350], "2026-05-02": corpus[350:400]}
    path = tmp_path / "feed.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("body", "day"), *((text, day) for day, texts in days.items() for text in texts)])
    return path


def run(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(done.exception, DifaError):
        raise done.exception
    return done


def test_a_table_is_cut_into_days_and_the_alarm_is_the_exit_code(saved, feed, tmp_path):
    figures = tmp_path / "difa.prom"
    done = run("monitor", saved, feed, "--by", "day", "--quiet", "--prometheus", figures)
    assert done.exit_code == 1, done.output
    assert done.stdout.index("2026-05-01: ") < done.stdout.index("2026-05-02: ") < done.stdout.index("2026-05-03: ")
    assert "'invoice' appears in 100 % of documents" in done.stdout
    assert done.stdout.endswith("ALARM since 2026-05-03: the feed is no longer as before (chance of a false alarm, ever: 5 %)\n")
    assert "difa_monitor_alarm{" in figures.read_text()


def test_nightly_runs_share_a_state(saved, corpus, tmp_path):
    state, today = tmp_path / "state.json", tmp_path / "today.txt"
    for number, texts in enumerate((corpus[300:350], corpus[350:400]), 1):
        today.write_text("\n".join(texts), encoding="utf-8")
        done = run("monitor", saved, today, "--state", state, "--json", "--quiet")
        assert done.exit_code == 0, done.output
        record = json.loads(done.stdout)
        assert (record["alarm"], record["documents"]) == (False, 50 * number)
        assert record["batches"][0]["name"] == str(today)
    state.write_text("{}")
    with pytest.raises(DifaError, match="expected the state of a monitor"):
        run("monitor", saved, today, "--state", state)
    with pytest.raises(DifaError, match="expected a new file, or one that difa wrote"):
        run("monitor", saved, today, "--state", state, "--reset")
    for more in ("--force", "--quiet"):
        assert run("monitor", saved, today, "--state", state, "--reset", more).exit_code == 0
    assert json.loads(state.read_text())["documents"] == 50


def test_impossible_questions_are_refused(saved, feed, tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(DifaError, match="expected documents, got none"):
        run("monitor", saved, tmp_path / "empty.txt", "--quiet")
    with pytest.raises(DifaError, match="--alarm: expected a number between 0 and 1"):
        run("monitor", saved, feed, "--alarm", "2")
    with pytest.raises(DifaError, match="by week: expected a column"):
        run("monitor", saved, feed, "--by", "week", "--quiet")
    with pytest.raises(DifaError, match="budget: expected documents to review"):
        run("threshold", saved, feed, "--budget", "many")
    with pytest.raises(DifaError, match="expected recent documents, got none"):
        run("threshold", saved, tmp_path / "empty.txt", "--budget", "1/2")


def test_a_budget_becomes_a_rate(saved, corpus, tmp_path):
    recent = tmp_path / "recent.txt"
    recent.write_text("\n".join(corpus[300:400]), encoding="utf-8")
    shown = run("threshold", saved, recent, "--budget", "100/1000", "--quiet").stdout
    found = json.loads(run("threshold", saved, recent, "--budget", "100/1000", "--json", "--set", "--quiet").stdout)
    assert f"rate {found['rate']!r}: flags {found['recent_flagged']} of the 100 recent documents" in shown
    assert f"difa set {saved} --fpr {found['rate']!r}" in shown
    assert found["recent_flagged"] <= 10
    changed = DiFA.load(saved)
    assert changed.fpr == found["rate"], "put in force"
    assert sum(result.is_anomaly for result in changed.score(corpus[300:400])) == found["recent_flagged"]


def test_fit_says_what_it_promises(corpus, tmp_path):
    normal = tmp_path / "normal.txt"
    normal.write_text("\n".join(corpus[:120]), encoding="utf-8")
    done = run("fit", normal, "--out", tmp_path / "m", "--preset", "fast", "--set", "perturb.documents=60")
    assert "; flags 1 % of normal documents on average, at most 2.5 % with 95 % confidence" in done.stderr
    card = (tmp_path / "m" / "README.md").read_text()
    assert "| normal documents flagged at 1 % | at most 2.5 % with 95 % confidence |" in card


def test_a_state_without_a_folder_is_refused_before_the_feed_is_scored(saved, feed, tmp_path, monkeypatch):
    monkeypatch.setattr("difa.monitor.Monitor.score", lambda *_: pytest.fail("scored"))
    for option in ("--state", "--prometheus"):
        with pytest.raises(DifaError, match="expected a file in a folder that exists"):
            run("monitor", saved, feed, option, tmp_path / "none" / "file")


def test_a_feed_that_ran_dry_is_said(saved, corpus, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(corpus[300:320]), encoding="utf-8")
    (tmp_path / "dry.txt").touch()
    command = ("monitor", saved, tmp_path / "a.txt", tmp_path / "dry.txt", "--quiet", "--prometheus", tmp_path / "difa.prom")
    assert f"{tmp_path / 'dry.txt'}: no documents\n" in run(*command).stdout
    assert 'difa_monitor_empty_batches{model="' in (figures := (tmp_path / "difa.prom").read_text())
    assert next(line for line in figures.splitlines() if line.startswith("difa_monitor_empty_batches")).endswith(" 1.0")
    assert json.loads(run(*command, "--json").stdout)["empty"] == [str(tmp_path / "dry.txt")]


@pytest.mark.parametrize(
    "command",
    [
        ("monitor", "{model}", "{feed}", "--by", "day", "--prometheus", "{feed}"),
        ("report", "{scores}", "--out", "{scores}"),
        ("export", "label-studio", "{scores}", "--out", "{scores}"),
        ("export", "label-studio", "{scores}", "--out", "{scores}.json", "--config", "{scores}"),
        ("export", "label-studio", "{scores}", "--out", "{scores}.json", "--config", "{scores}.json"),
        ("find", "{feed}", "{scores}", "--out", "{scores}.csv", "--report", "{scores}.csv"),
        ("monitor", "{model}", "{feed}", "--state", "{scores}.json", "--prometheus", "{scores}.json"),
    ],
)
def test_nothing_is_written_over_what_is_read_or_written(saved, feed, tmp_path, command):
    scores = tmp_path / "scores.jsonl"
    assert run("score", saved, feed, "--quiet", "--out", scores).exit_code == 0
    before = (feed.read_bytes(), scores.read_bytes())
    with pytest.raises(DifaError, match=r"expected another file than those that are read|expected a file of its own"):
        run(*(word.format(model=saved, feed=feed, scores=scores) for word in command))
    assert (feed.read_bytes(), scores.read_bytes()) == before


@pytest.mark.parametrize(
    "command",
    [
        ("score", "{model}", "{feed}", "--out", "{mine}"),
        ("find", "{normal}", "{normal}", "--preset", "fast", "--out", "{mine}"),
        ("find", "{normal}", "{normal}", "--preset", "fast", "--report", "{mine}"),
        ("monitor", "{model}", "{feed}", "--by", "day", "--prometheus", "{mine}"),
        ("report", "{scores}", "--out", "{mine}"),
        ("export", "label-studio", "{scores}", "--out", "{mine}"),
        ("export", "label-studio", "{scores}", "--out", "{scores}.json", "--config", "{mine}"),
    ],
)
def test_a_file_of_somebody_else_is_replaced_by_force_only(saved, feed, few_normal, tmp_path, command):
    scores, mine = tmp_path / "scores.jsonl", tmp_path / "mine.csv"
    mine.write_text("id,body\n1,mine\n")
    assert run("score", saved, feed, "--quiet", "--out", scores).exit_code == 0
    names = {"model": saved, "feed": feed, "scores": scores, "mine": mine, "normal": few_normal}
    words = [word.format(**names) for word in command]
    with pytest.raises(DifaError, match="expected a new file, or one that difa wrote, found another"):
        run(*words)
    assert mine.read_text() == "id,body\n1,mine\n"
    for more in ("--force", "--quiet"):  # then it is ours
        done = here(*words, more)
        assert done.returncode == int(command[0] == "monitor"), done.stderr
    assert mine.read_text(errors="replace") != "id,body\n1,mine\n"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can make one")
@pytest.mark.parametrize("out", ["/proc/model", "x" * 250, "nowhere/" + "x" * 250])
def test_fit_looks_where_the_model_goes_before_it_learns(feed, monkeypatch, tmp_path, out):
    monkeypatch.setattr("difa.estimator.DiFA.fit", lambda *_, **__: pytest.fail("fitted"))
    monkeypatch.chdir(tmp_path)
    before = list(tmp_path.iterdir())
    with pytest.raises(DifaError, match=r"expected a folder that can be written, but .* cannot"):
        run("fit", feed, "--preset", "fast", "--out", out)
    assert list(tmp_path.iterdir()) == before
