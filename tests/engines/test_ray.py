"""Ray for real: two workers on this machine, as a user starts them, beside what the local engine says."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray", reason="the extra ray is not installed")

LIMIT = 120  # seconds for one run
TOKEN = secrets.token_hex(32)  # Ray lets nobody join without the token of the cluster: ours, made up here


def start(*arguments, code="from difa.cli import main; main()", mark, **options):
    environment = os.environ | {"DIFA_TEST_RUN": mark, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes, **options)


def difa(*arguments, mark="none", **options):
    process = start(*arguments, mark=mark, **options)
    try:
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def processes(mark):
    """Living processes that a run started, by id, with their titles."""
    found = {}
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"DIFA_TEST_RUN={mark}".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return {pid: title for pid, title in found.items() if title}


def nothing_left(mark):
    deadline = time.monotonic() + 30
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    return not processes(mark)


def parts(folder):
    return "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("part-*.jsonl")))


@pytest.fixture(scope="module")
def texts(tmp_path_factory, corpus):
    """A folder of text and JSON lines with blank ones, and what the local engine needs no Ray for."""
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"{line} {n}" if n % 13 else "" for n, line in enumerate(corpus * 5)]
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    records = [{"text": line} | ({"id": f"own-{n}"} if n % 3 else {}) for n, line in enumerate(corpus[:50])]
    (folder / "b.jsonl").write_text("".join(json.dumps(record) + "\n\n" for record in records), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(folder, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "scores.jsonl"
    run = difa("score", folder, texts, "--out", out)
    assert run.returncode == 0, run.stderr
    return out.read_text(encoding="utf-8")


HEAD = """
import os, sys
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
import ray
context = ray.init("local", num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
ray.shutdown()
"""


@pytest.fixture(scope="module")
def cluster():
    """A cluster that was there before, with two cores; what runs on it must leave it alone."""
    mark = uuid.uuid4().hex
    head = start(code=HEAD, mark=mark)
    address = head.stdout.readline().strip()
    yield address
    assert head.poll() is None
    head.communicate("", timeout=60)
    assert nothing_left(mark)


def test_a_killed_worker_costs_no_document(folder, texts, expected, tmp_path):
    mark, out = uuid.uuid4().hex, tmp_path / "out"
    process = start("score", folder, texts, "--engine", "ray", "--workers", 2, "--out", out, mark=mark)
    deadline = time.monotonic() + LIMIT
    while not (done := list(tmp_path.glob(".out.*.part/part-*"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    busy = [pid for pid, title in processes(mark).items() if title.startswith("ray::MapWorker")]
    assert busy
    os.kill(busy[0], signal.SIGKILL)
    assert not out.exists()
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors
    summary = json.loads((out / "_SUCCESS").read_text())
    assert len(done) < summary["parts"]
    assert parts(out) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert f"written to {out}" in errors
    assert nothing_left(mark)


def test_a_running_cluster_gives_the_same_as_parquet(cluster, folder, texts, expected, tmp_path):
    from pyarrow import parquet

    out = f"file://{tmp_path}/out"
    run = difa("score", folder, texts, "--engine", "ray", "--address", cluster, "--format", "parquet", "--out", out)
    assert run.returncode == 0, run.stderr
    rows = [
        row
        for file in sorted((tmp_path / "out").glob("part-*.parquet"))
        for row in parquet.read_table(file).to_pylist(maps_as_pydicts="strict")
    ]
    assert rows == [json.loads(line) for line in expected.splitlines()]


MANY_PIECES = """
import sys
from pathlib import Path
from difa.engines.ray.score import score_files
model, source, out, address = sys.argv[1:]
print(score_files(Path(model), [source], out, address=address, workers=2, piece_bytes=100, fpr=0.2).parts)
"""


def test_lines_are_counted_by_the_cluster_where_there_are_many(cluster, folder, corpus, tmp_path):
    source = tmp_path / "a.txt"
    source.write_text("\n\n".join(corpus[:100]), encoding="utf-8")
    run = difa(folder, source, tmp_path / "out", cluster, code=MANY_PIECES)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 64
    assert difa("score", folder, source, "--fpr", "0.2", "--out", tmp_path / "local").returncode == 0
    assert parts(tmp_path / "out") == (tmp_path / "local").read_text(encoding="utf-8")


def test_bad_lines_stop_the_run_or_are_counted(cluster, folder, tmp_path):
    source, out = tmp_path / "new.jsonl", tmp_path / "out"
    source.write_text('{"text": "good"}\n{"txt": "bad"}\n{"text": "good too"}\n')
    command = ("score", folder, source, "--engine", "ray", "--address", cluster, "--out", out)
    run = difa(*command)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert f"{source}:2:" in run.stderr
    assert list(tmp_path.iterdir()) == [source]
    run = difa(*command, "--skip-bad", "--quiet")
    assert run.returncode == 0
    assert run.stderr.splitlines()[0].startswith(f"difa: skipped {source}:2:")
    assert run.stderr.splitlines()[1:] == ["difa: 1 bad line skipped"]
    assert len(parts(out).splitlines()) == 2


DEADLY = """
import os, sys
from pathlib import Path
import difa.engines.ray.score as engine

class Deadly(engine.Scorer):
    def _score(self, piece, began):
        self._check_attempts(piece)
        os._exit(1)

engine.Scorer = Deadly
model, source, out, address = sys.argv[1:]
try:
    engine.score_files(Path(model), [source], out, address=address, workers=1)
except engine.EngineError as error:
    print(error)
"""


def test_a_piece_that_kills_every_worker_ends_the_run(cluster, folder, tmp_path):
    source = tmp_path / "a.txt"
    source.write_text("one\n")
    run = difa(folder, source, tmp_path / "out", cluster, code=DEADLY)
    assert f"{source}: 5 workers died over the piece that begins at line 1" in run.stdout, run.stderr
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "ray"), "give --out FOLDER"),
        (("--engine", "spark"), "engine: expected one of local, ray"),
        (("--engine", "ray", "--out", "{out}", "--fdr", "0.1"), "give --fpr"),
        (("--engine", "ray", "--out", "{out}", "--cache", "{out}"), "--cache cannot be used with --engine ray"),
        (("--workers", "2"), "use --engine ray"),
        (("--engine", "ray", "--out", "{out}", "--workers", "0"), "workers: expected a whole number of at least 1"),
        (("--engine", "ray", "--out", "{out}", "--format", "csv"), "format: expected one of jsonl, parquet"),
        (("--engine", "ray", "--out", "{out}", "--fpr", "7"), "fpr: expected a number between 0 and 1"),
        (("--engine", "ray", "--out", "{out}", "--address", "127.0.0.1:1"), "127.0.0.1:1 cannot be reached"),
        (("--engine", "ray", "--out", "{out}", "--address", "ray://there"), "expected auto or host:port"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(folder, texts, tmp_path, arguments, message):
    run = difa("score", folder, texts, *(argument.format(out=tmp_path / "out") for argument in arguments))
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_without_ray_the_extra_is_named(folder, texts, tmp_path):
    code = "import sys; sys.modules['ray'] = None; from difa.cli import main; main()"
    run = difa("score", folder, texts, "--engine", "ray", "--out", tmp_path / "out", code=code)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert 'pip install "difa[ray]"' in run.stderr
