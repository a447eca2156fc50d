"""The documentation says what the code does: generated pages are current, code runs, commands and options exist."""

import csv
import importlib.util
import re
import shlex
import shutil
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from difa.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ["README.md", "usage.md", "scale.md"]
"""Pages whose Python runs; the service's needs a server."""
NOT_RUN = ("bert-base-uncased", "run_table", "GridSearchCV", "spacy.blank")  # a download, a benchmark, many fits, an extra


def blocks(page, *languages):
    pattern = rf"^```(?:{'|'.join(languages)})\n(.*?)^```"
    return [match.group(1) for match in re.finditer(pattern, page.read_text(encoding="utf-8"), re.S | re.M)]


def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["settings.md", "commands.md"])
def test_reference_pages_are_what_the_code_says(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == reference().PAGES[name](), "run make reference"


def test_the_site_lists_every_page_once():
    listed = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # short examples do not close the files they read
@pytest.mark.parametrize("name", RUN)
def test_python_in_the_docs_runs(name, quick_model, corpus, tmp_path, monkeypatch, capsys):
    page = next(page for page in PAGES if page.name == name)
    quick_model.save(tmp_path / "model")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "some.jsonl").write_text('{"text": "Where is my order?"}\n')
    (tmp_path / "labelled.jsonl").write_text('{"tokens": ["fine", "xq"], "labels": [0, 1]}\n{"tokens": ["ok"], "labels": [0]}\n')
    (tmp_path / "examples" / "support").mkdir(parents=True)
    (tmp_path / "examples" / "support" / "normal.txt").write_text("\n".join(corpus[:100]), encoding="utf-8")  # enough to run
    monkeypatch.chdir(tmp_path)
    names = {"texts": corpus[:100]}
    for code in blocks(page, "python"):
        if not any(part in code for part in NOT_RUN):
            exec(compile(code.replace("data/*.jsonl.gz", "data/*.jsonl"), str(page), "exec"), names)


def command_lines():
    for page in PAGES:
        for block in blocks(page, "sh", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True) if "difa " in line else []
                if words[:1] == ["difa"]:
                    yield pytest.param(words[1:], id=f"{page.name}: {line[:60]}")


@pytest.mark.parametrize("words", list(command_lines()))
def test_commands_and_options_in_the_docs_exist(words):
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.get_command(None, words[0])
        words = words[1:]
    assert not hasattr(command, "commands") or words[:1] in ([], ["--help"], ["--version"]), f"no such command: {words}"
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--version"}
    given = list(takewhile(lambda word: word not in ("|", "||", "&&", ";"), words))
    assert not [word for word in given if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]


@pytest.mark.slow
def test_the_commands_of_the_readme_follow_from_each_other(corpus, tmp_path, monkeypatch):
    def table(name, rows, columns=("id", "body")):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *rows])

    new = [*corpus[120:180], "Is the wpdlkrt bench in stock?"]
    table("normal.csv", enumerate(corpus[:120]))
    table("new.csv", enumerate(new))
    table("today.csv", enumerate(corpus[180:250]))
    table("reviewed.csv", [(new[0], "normal"), (new[-1], "odd")], ("body", "verdict"))
    for name, texts in (("normal.txt", corpus[:120]), ("new.txt", new)):
        (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("images"))
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()]
    commands = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.startswith("$ difa ")]
    run = [words[1:] for words in commands if "serve" not in words and "data/*.jsonl.gz" not in words]
    for words in run:
        done = CliRunner().invoke(app, words + (["--preset", "fast"] if words[0] in ("fit", "find") else []))
        # A model of messages finds much that is odd in pages.
        assert done.exit_code == (1 if words[0] == "check" else 0), (words, done.output)
    others = ["score", "score", "report", "explain", "score", "allow", "fit", "check", "monitor"]
    assert [words[0] for words in run] == ["find", "find", "fit", "fit", *others]
    assert "wpdlkrt" in (tmp_path / "report.html").read_text(encoding="utf-8")
