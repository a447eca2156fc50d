"""What killed runs leave in the folder for temporary files: nothing, or what the next run removes."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from difa import DiFA
from difa.engines.local import Job, Silent, score_inputs
from tests.commands import command


def test_a_killed_run_leaves_nothing_of_a_table_on_standard_input(folder, tmp_path, temporary):
    arguments = command("score", folder, "-", "--input-format", "csv", "--out", tmp_path / "out")
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, env=environment) as process:
        process.stdin.write(b"text\n" + b"where is my order\n" * 50_000)  # more than a pipe holds: most of it has been read
        process.stdin.flush()
        process.kill()
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(("options", "change"), [({"out": None, "fdr": 0.3}, 3), ({"out": Path(os.devnull), "format": "csv"}, 6)])
def test_what_a_killed_run_kept_aside_is_removed_by_the_next(
    faults, folder, texts, tmp_path, temporary, monkeypatch, options, change
):
    model, source = DiFA.load(folder, threads=1), tmp_path / "in.txt"
    source.write_text("\n".join(texts[:200]))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run():
        score_inputs(model, Job(folder, [str(source)], **options), Silent())

    assert faults.in_child(run, faults.kill_before(change)) == -9
    assert len(list(temporary.iterdir())) == 1
    run()
    assert not list(temporary.iterdir())
