"""`difa bench` as people use it."""

import pytest

from tests.commands import here

pytestmark = pytest.mark.slow


@pytest.fixture
def labelled(tmp_path):
    lines = ['{"tokens": ["all", "is", "well"], "labels": [0, 0, 0]}'] * 6
    lines += ['{"tokens": ["all", "is", "unspeakable"], "labels": [0, 0, 1]}'] * 3
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.jsonl").write_text("\n".join(lines))
    return tmp_path / "data"


@pytest.mark.parametrize(
    "command",
    ["table", "ablation", "efficiency", "speed", "contamination", "sparsity", "feed", "promises", "examples"],
)
def test_every_command_takes_the_shared_options_and_shows_examples(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run = here("bench", command, "--help")
    assert run.returncode == 0, run.stderr
    assert all(option in run.stdout for option in ("--data", "--seeds", "--out", "--encoder", "--quiet"))
    assert f"difa bench {command}" in run.stdout.partition("Examples:")[2]


def test_a_table_of_ones_own_data(labelled, tmp_path):
    run = here("bench", "table", "--data", labelled, "--out", tmp_path / "out", "--methods", "length,doclength", "--draws", 0)
    assert run.returncode == 0, run.stderr
    assert "| word length | 1.000 / 1.000 / .000 |" in run.stdout
    assert "## Own form, seed 42\n" in run.stdout, "nobody published a split of one's own data"
    assert "1/2 table mine own seed 42: doclength" in run.stderr
    assert (tmp_path / "out" / "results.csv").is_file()
    again = here("bench", "table", "--data", labelled, "--out", tmp_path / "out", "--methods", "length", "--draws", 0, "-q")
    assert again.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table", "--data", "nowhere"), "nowhere: expected a folder with the data"),
        (("table", "--data", "{data}", "--seeds", "one"), "seeds: expected whole numbers"),
        (("table", "--data", "{data}", "--seeds", "-1"), "seeds: expected whole numbers of at least 0"),
        (("table", "--data", "{data}", "--methods", "magic"), "method: expected one of"),
        (("table", "--data", "{data}", "--model-seeds", "x"), "model-seeds: expected whole numbers"),
        (("feed", "--data", "{data}", "--presets", "paper"), "expected one of difa-full, difa-fast, got difa-paper"),
        (
            ("promises", "--data", "{data}", "--only", "half"),
            "only: expected some of whole, small, copies, templates, spoilt, feed",
        ),
        (("sparsity", "--data", "{data}"), "set: expected one of mine, got spam"),
        (("table", "--forms", "clean"), "no data: expected a folder with tokenad/"),
        (("report", "{data}", "--into", "page.md"), "expected results of difa bench"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(labelled, tmp_path, monkeypatch, arguments, message):
    monkeypatch.delenv("DIFA_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    run = here("bench", *(argument.format(data=labelled) for argument in arguments))
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
