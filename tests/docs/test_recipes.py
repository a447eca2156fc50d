"""Every block of docs/recipes.md runs as it stands."""

import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import HANG

pytestmark = pytest.mark.slow  # most recipes start the command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
# A recipe is a section: its blocks build on each other, in their order.
RECIPES = [
    pytest.param(blocks, id=section.splitlines()[0])
    for section in PAGE.split("\n## ")[1:]
    if (blocks := re.findall(r"^```(sh|python)\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
]
TAUGHT = next(recipe for recipe in RECIPES if recipe.id.startswith("Review twenty"))  # somebody reviews between its blocks


@pytest.fixture(scope="module")
def place(quick_model, corpus, tmp_path_factory):
    """The folder that the page describes."""
    folder = tmp_path_factory.mktemp("recipes")
    quick_model.save(folder / "model")
    odd = [*corpus[120:200], "Is the wpdlkrt zxqvvb bench in stock?"]  # enough to teach, also without those that were reviewed
    for name, texts in (("reviews", corpus[:60]), ("today", odd)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = [[f"t{number}", text, f"2026-05-{1 + number % 28:02d}"] for number, text in enumerate(texts)]
            csv.writer(file).writerows([["ticket", "body", "day"], *rows])
    span = {"value": {"start": 7, "end": 14, "text": "wpdlkrt", "labels": ["anomaly"]}, "type": "labels"}
    tasks = [{"data": {"text": odd[-1]}, "annotations": [{"result": [span]}]}]
    tasks.append({"data": {"text": odd[0]}, "annotations": [{"result": []}]})
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    with (folder / "reviewed.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [["t30", odd[-1], "1.2", "odd"], ["t0", odd[0], "0.3", "normal"]]
        csv.writer(file).writerows([["ticket", "body", "score", "verdict"], *rows])
    (folder / "docs").mkdir()
    for name in ("faq.md", "usage.md", "method.md"):
        shutil.copy(ROOT / "docs" / name, folder / "docs")
    for words in (["init"], ["add", "docs"], ["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-m", "docs"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=HANG)
    return folder


@pytest.mark.parametrize("blocks", [recipe for recipe in RECIPES if recipe is not TAUGHT])
def test_a_recipe_runs(place, monkeypatch, blocks):
    monkeypatch.chdir(place)
    for language, code in blocks:
        if language == "python":
            importlib.import_module("difa.integrations.spacy")  # what the entry point does in an installed package
            exec(compile(code, "recipe", "exec"), {})
        else:
            run_shell(code)


def run_shell(code):
    script = f'set -e\ndifa() {{ "{sys.executable}" -m difa "$@"; }}\n{code}'
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=HANG, env=environment)
    assert run.returncode == 0, run.stderr
    return run


def test_what_is_written_can_be_reviewed_and_taught(place, monkeypatch):
    monkeypatch.chdir(place)
    first, second, third = (code for _, code in TAUGHT.values[0])
    found = run_shell(first)
    assert "of 81 documents are flagged" in found.stdout
    with (place / "review.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    for row in rows:  # what a person does in a spreadsheet
        row["verdict"] = "odd" if "wpdlkrt" in row["body"] else "normal"
    with (place / "reviewed.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    taught = run_shell(second)
    assert "20 reviewed documents, 1 of them odd" in taught.stderr
    assert "documents of a feed" in taught.stderr
    assert (place / "again.csv").exists()
    run_shell(third)


def test_a_changed_page_is_checked(place, monkeypatch):
    monkeypatch.chdir(place)
    section = PAGE.split("## Check the prose")[1].split("\n## ")[0]
    fit, check = (re.search(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[1] for language in ("python", "sh"))
    subprocess.run(["git", "checkout", "docs"], check=True, capture_output=True, timeout=HANG)  # the blocks have run before
    exec(compile(fit, "recipe", "exec"), {})
    found = run_shell(check).stdout.splitlines()
    assert found
    assert all(re.match(r"docs/faq\.md:\d+:\d+: [a-z -]+: '", line) for line in found)
    assert any("'zxqvvb'" in line for line in found)


def test_settings_of_other_tools_name_what_there_is():
    hooks, step = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    (hook,) = hooks["repos"][0]["hooks"]
    (known,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (known["id"], known["entry"]) == (hook["id"], "difa check")
    assert set(step[0]["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"])


def test_blocks_are_short():
    for _, code in (block for recipe in RECIPES for block in recipe.values[0]):
        assert len([line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from"))]) <= 5


def test_no_block_is_left_out():
    assert sum(len(*recipe.values) for recipe in RECIPES) + PAGE.count("```yaml") == PAGE.count("```") // 2 == 26
