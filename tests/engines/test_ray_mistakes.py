"""What is refused before Ray starts."""

import subprocess
import sys

import pytest

from tests import HANG
from tests.commands import here

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "a.txt"
    path.write_text("Where is my order?\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "ray"), "give --out FOLDER"),
        (("-", "--engine", "ray", "--out", "{out}"), "expected files for the Ray engine, got -"),
        (("--engine", "spark"), "engine: expected one of local, ray"),
        (("--engine", "ray", "--out", "{out}", "--fdr", "7"), "fdr: expected a number between 0 and 1"),
        (("--engine", "ray", "--out", "{out}", "--top", "3", "--resume"), "top keeps the most unusual of all documents"),
        (("--engine", "ray", "--out", "{out}", "--input-format", "csv"), "--input-format cannot be used with --engine ray"),
        (("--workers", "2"), "use --engine ray"),
        (("--engine", "ray", "--out", "{out}", "--workers", "0"), "workers: expected a whole number of at least 1"),
        (("--engine", "ray", "--out", "{out}", "--format", "xml"), "format: expected one of jsonl, csv, tsv, parquet"),
        (("--engine", "ray", "--out", "{out}", "--resume", "--force"), "expected one of --resume and --force"),
        (("--engine", "ray", "--out", "{out}", "--text-column", "x"), "expected a table"),
        (("--engine", "ray", "--out", "{out}", "--fpr", "7"), "fpr: expected a number between 0 and 1"),
        (("--engine", "ray", "--out", "{out}", "--address", "127.0.0.1:1"), "127.0.0.1:1 cannot be reached"),
        (("--engine", "ray", "--out", "{out}", "--address", "ray://there"), "expected auto or host:port"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(folder, text, tmp_path, arguments, message):
    run = here("score", folder, text, *(argument.format(out=tmp_path / "out") for argument in arguments))
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_without_ray_the_extra_is_named(folder, text, tmp_path):
    code = "import sys; sys.modules['ray'] = None; from difa.cli import main; main()"
    command = [sys.executable, "-c", code, "score", folder, text, "--engine", "ray", "--out", tmp_path / "out"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert 'pip install "difa[ray]"' in run.stderr
