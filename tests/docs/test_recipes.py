"""Every block of docs/recipes.md runs as it stands."""

import csv
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import HANG

pytestmark = pytest.mark.slow  # most recipes start the command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
BLOCKS = [
    pytest.param(language, code, id=f"{number}-{language}")
    for number, (language, code) in enumerate(re.findall(r"^```(sh|python)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
]


@pytest.fixture(scope="module")
def place(quick_model, corpus, tmp_path_factory):
    """The folder that the page describes."""
    folder = tmp_path_factory.mktemp("recipes")
    quick_model.save(folder / "model")
    odd = [*corpus[120:150], "Is the wpdlkrt zxqvvb bench in stock?"]
    for name, texts in (("reviews", corpus[:60]), ("today", odd)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = [[f"t{number}", text, f"2026-05-{1 + number % 28:02d}"] for number, text in enumerate(texts)]
            csv.writer(file).writerows([["ticket", "body", "day"], *rows])
    span = {"value": {"start": 7, "end": 14, "text": "wpdlkrt", "labels": ["anomaly"]}, "type": "labels"}
    tasks = [{"data": {"text": odd[-1]}, "annotations": [{"result": [span]}]}]
    tasks.append({"data": {"text": odd[0]}, "annotations": [{"result": []}]})
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("language", "code"), BLOCKS)
def test_a_recipe_runs(place, monkeypatch, language, code):
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from"))]) <= 5
    monkeypatch.chdir(place)
    if language == "python":
        importlib.import_module("difa.integrations.spacy")  # what the entry point does in an installed package
        exec(compile(code, "recipe", "exec"), {})
        return
    script = f'set -e\ndifa() {{ "{sys.executable}" -m difa "$@"; }}\n{code}'
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=HANG, env=environment)
    assert run.returncode == 0, run.stderr


def test_no_block_is_left_out():
    assert len(BLOCKS) == PAGE.count("```") // 2 == 16
