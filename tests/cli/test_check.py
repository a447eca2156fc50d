"""`difa check`, as people and machines call it."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from tests import HANG
from tests.commands import here
from tests.conftest import ROOT

PAGE = """# Where is my order?

Is the garden bench in stock? `wpdlkrt`

Is the wpdlkrt garden bench in stock?

I have asked {{name}} twice.
"""


@pytest.fixture(scope="module")
def folder(fast_model, tmp_path_factory):
    place = tmp_path_factory.mktemp("check")
    fast_model.save(place / "model")
    (place / "page.md").write_text(PAGE, encoding="utf-8")
    (place / "good.md").write_text("# Where is my order?\n\nIs the garden bench in stock?\n", encoding="utf-8")
    return place


@pytest.fixture
def check(folder, monkeypatch):
    """The command in the folder, at a rate that its small model can tell."""
    monkeypatch.chdir(folder)
    return lambda *arguments, rate=5: here("check", "model", *arguments, "--per-thousand", rate)


def test_words_are_named_at_their_places(check):
    run = check("page.md", "good.md")
    assert run.returncode == 1, run.stderr
    first, second = run.stdout.splitlines()
    assert first.startswith("page.md:5:8: unusual word: 'wpdlkrt' never occurs in your normal text")
    assert second.startswith("page.md:7:14: placeholder: '{{name}}' is a placeholder")
    assert "2 found in 1 of 2 files, at 5 in 1,000 normal words" in run.stderr
    assert "difa allow model WORD" in run.stderr


def test_separate_faults_are_separate_findings(check, folder):
    (folder / "faults.md").write_text(
        "# A headding with a mistke\n\nTODO and {{ value }}. Also %s and ${HOME}.\n", encoding="utf-8"
    )
    found = json.loads(check("faults.md", "--format", "json", rate=30).stdout)
    named = [(one["line"], one["column"], one["text"], one["suggestion"]) for one in found if one["kind"] != "unusual word"]
    assert named[:2] == [(1, 5, "headding", "heading"), (1, 21, "mistke", "mistake")]
    assert [text for _, _, text, _ in named[2:]] == ["TODO", "{{ value }}", "%s", "${HOME}"]


def test_words_of_a_fault_are_found_where_each_alone_is_common(check, folder, fast_model):
    text = "MY ORDER IS NOT HERE AND I WANT IT NOW PLEASE"
    (folder / "loud.md").write_text(f"{text}\n", encoding="utf-8")
    (result,) = fast_model.score([text])
    assert result.words[0].p_value > 0.005
    loud = next(one for one in json.loads(check("loud.md", "--format", "json").stdout) if one["kind"] == "capitals")
    assert (loud["column"], loud["text"].split()[:3]) == (1, ["MY", "ORDER", "IS"])


def test_nothing_found_is_code_0_and_says_nothing(check):
    run = check("good.md", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert json.loads(check("good.md", "--format", "json").stdout) == []
    assert check("good.md", "--format", "github").stdout == ""


def test_a_folder_stands_for_its_prose_that_is_not_hidden(check, folder):
    for name in ("tree/a.MD", "tree/.venv/b.md", "tree/c.json", "tree/in/d.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "Is the wpdlkrt garden bench in stock?"
        (folder / name).write_text(f'"""{text}"""\n' if name.endswith(".py") else f"{text}\n", encoding="utf-8")
    found = check("tree", "tree/a.MD").stdout.splitlines()
    assert [":".join(line.split(":")[:3]) for line in found] == ["tree/a.MD:1:8", "tree/in/d.py:1:11"]


def test_allowed_words_are_not_found(check):
    run = check("page.md", "--allow", "wpdlkrt")
    assert [line.split(": ")[1] for line in run.stdout.splitlines()] == ["placeholder"]


def test_json_has_every_field(check):
    word, run = json.loads(check("page.md", "--format", "json").stdout)
    assert {key: word[key] for key in ("path", "line", "column", "end_line", "end_column", "kind", "text")} == {
        "path": "page.md", "line": 5, "column": 8, "end_line": 5, "end_column": 15, "kind": "unusual word", "text": "wpdlkrt",
    }  # fmt: skip
    assert 0 < word["p_value"] <= 0.005
    assert (run["text"], run["column"], run["end_column"]) == ("{{name}}", 14, 22)


def test_github_shows_them_beside_the_lines(check, folder):
    (folder / "50%,a.md").write_text(PAGE, encoding="utf-8")
    first = check("50%,a.md", "--format", "github").stdout.splitlines()[0]
    assert first.startswith("::warning file=50%25%2Ca.md,line=5,endLine=5,col=8,endColumn=15,title=unusual word::'wpdlkrt' ")


def test_sarif_has_rules_and_regions(check):
    log = json.loads(check("page.md", "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["unusual-word", "placeholder"]
    assert [result["ruleId"] for result in run["results"]] == ["unusual-word", "placeholder"]
    assert run["results"][0]["message"]["text"].startswith("'wpdlkrt' ")
    assert run["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "page.md"},
                "region": {"startLine": 5, "startColumn": 8, "endLine": 5, "endColumn": 15},
            }
        }
    ]
    assert json.loads(check("good.md", "--format", "sarif").stdout)["runs"][0]["results"] == []


def git(*arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True, timeout=60)


def test_diff_looks_at_added_lines_only(check, tmp_path, monkeypatch, folder):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "model").symlink_to(folder / "model")
    assert check("docs").returncode == 1
    assert check("docs", "--diff", "HEAD").returncode == 0
    page.write_text(f"New.\n\n{PAGE}\nIs the zxqvvb bench\nin stock?\n", encoding="utf-8")
    assert [line[:22] for line in check("docs", "--diff", "HEAD").stdout.splitlines()] == ["docs/page.md:11:8: unu"]
    (tmp_path / "docs" / "new.md").write_text(PAGE, encoding="utf-8")  # which git does not know yet
    found = check("docs", "--diff", "HEAD").stdout.splitlines()
    assert [line.split(":")[0] for line in found] == ["docs/new.md", "docs/new.md", "docs/page.md"]


@pytest.mark.parametrize(
    ("arguments", "rate", "message"),
    [
        (["page.md"], 0, "--per-thousand: expected a number between 0 and 1000, both excluded, got 0"),
        (["page.md"], 0.01, "--per-thousand: no word can be flagged at a rate of 1e-05"),
        (["page.md", "--format", "xml"], 5, "--format: expected one of text, json, github, sarif, got 'xml'"),
        (["none.md"], 5, "none.md: cannot be read: No such file or directory"),
        (["empty"], 5, "empty: expected files ending in .md"),
        (["page.md", "--diff", "HEAD"], 5, "page.md: git cannot say which lines were added"),
        (["page.md", "--diff", "--output=x"], 5, "--diff: expected a git revision, got '--output=x'"),
    ],
)
def test_errors_are_one_line(check, folder, monkeypatch, arguments, rate, message):
    (folder / "empty").mkdir(exist_ok=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    run = check(*arguments, rate=rate)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("difa: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_action_runs_the_command(folder):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][-1]
    given = {"model": "model", "files": "good.md p*.md", "per-thousand": "5", "diff": action["inputs"]["diff"]["default"]}
    assert set(given) == set(action["inputs"])
    settings = {name: given[re.fullmatch(r"\$\{\{ inputs\.(\S+) \}\}", value)[1]] for name, value in step["env"].items()}
    script = f'difa() {{ "{sys.executable}" -m difa "$@"; }}\n{step["run"]}'
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), **settings}
    run = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 1, run.stderr
    assert [line.split(",")[0] for line in run.stdout.splitlines()] == ["::warning file=page.md"] * 2
