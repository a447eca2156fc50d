"""The commands of the quickstart follow from each other, from a CSV to a report, and its Python runs."""

import csv
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from difa.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line.strip().removeprefix("$ difa ")) for line in PAGE.splitlines() if line.strip().startswith("$ difa ")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the short example does not close the files it reads
def test_the_quickstart_goes_from_a_csv_to_a_report(corpus, tmp_path, monkeypatch, capsys):
    new = [*corpus[130:150], "Could you tell me when my refnud will reach my account?"]
    for name, texts in (("messages.csv", corpus[:130]), ("today.csv", new)):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            rows = ((1000 + number, "2026-05-01", text) for number, text in enumerate(texts))
            csv.writer(file).writerows([("ticket", "received", "body"), *rows])
    monkeypatch.chdir(tmp_path)
    for words in COMMANDS:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
        if words[0] == "explain":
            assert "'refnud' looks misspelt and never occurs in your normal text" in done.output
    assert [words[0] for words in COMMANDS] == ["fit", "score", "explain", "score", "report", "set", "score"]
    assert "refnud → refund" in (tmp_path / "scored.csv").read_text(encoding="utf-8-sig")
    assert "refnud" in (tmp_path / "report.html").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE).group(1)
    exec(compile(code, "quickstart", "exec"), {})
    assert "misspelling: refnud" in capsys.readouterr().out
