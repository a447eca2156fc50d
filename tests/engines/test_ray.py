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

from tests import HANG
from tests.commands import here

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray", reason="the extra ray is not installed")

TOKEN = secrets.token_hex(32)  # Ray lets nobody join without the token of the cluster: ours, made up here


def start(*arguments, code="from difa.cli import main; main()", mark, env=None, **options):
    environment = os.environ | {"DIFA_TEST_RUN": mark, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN} | (env or {})
    environment["RAY_worker_niceness"] = "0"  # beside other tests its workers would hardly ever have their turn
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes, **options)


def difa(*arguments, mark="none", **options):
    process = start(*arguments, mark=mark, **options)
    try:
        out, err = process.communicate(timeout=HANG)
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
    deadline = time.monotonic() + HANG
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    return not processes(mark)


def parts(folder):
    return "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("part-*.jsonl")))


@pytest.fixture(scope="module")
def texts(tmp_path_factory, corpus):
    """A folder of text and JSON lines with blank ones, and what the local engine needs no Ray for."""
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"{line} {n}" if n % 13 else "" for n, line in enumerate(corpus)]
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    records = [{"text": line} | ({"id": f"own-{n}"} if n % 3 else {}) for n, line in enumerate(corpus[:50])]
    (folder / "b.jsonl").write_text("".join(json.dumps(record) + "\n\n" for record in records), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(folder, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "scores.jsonl"
    run = here("score", folder, texts, "--out", out)
    assert run.returncode == 0, run.stderr
    return out.read_text(encoding="utf-8")


HEAD = """
import os, sys
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
import ray
for rest in (2, 1, 0):  # Ray gives its own processes 30 seconds to come up
    try:
        context = ray.init("local", num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False)
        break
    except Exception:
        ray.shutdown()
        if not rest:
            raise
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
    assert address, head.communicate(timeout=HANG)
    yield address, mark
    assert head.poll() is None
    head.communicate("", timeout=HANG)
    assert nothing_left(mark)


GATED = """
import os, sys, time
import difa.engines.ray as engine

class Gated(engine.Scorer):
    gate = os.environ["DIFA_TEST_GATE"]

    def score(self, piece):
        try:  # whoever is the first passes: which piece that is, is for Ray to say
            os.close(os.open(f"{self.gate}.first", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            while not os.path.exists(self.gate):
                time.sleep(0.05)
        return super().score(piece)

engine.Scorer = Gated
from difa.cli import main
main()
"""


def wait_for_parts(folder, process):
    """Wait until the run has noted that a part is complete; the names of all that are."""
    deadline, found = time.monotonic() + HANG, []
    while not found and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
        found = [f"part-{note.stem}.jsonl" for note in folder.glob("*.note")]
    assert found, process.communicate(timeout=HANG)
    return found


def test_a_killed_worker_costs_no_document(cluster, folder, texts, expected, tmp_path, temporary):
    out = tmp_path / "out"
    arguments, gate = ("--engine", "ray", "--address", cluster[0], "--out", out), {"DIFA_TEST_GATE": str(temporary / "gate")}
    process = start("score", folder, texts, *arguments, mark="worker", code=GATED, env=gate)
    done = wait_for_parts(tmp_path / ".out.part", process)
    busy, deadline = [], time.monotonic() + HANG
    while not busy and time.monotonic() < deadline:  # the part may be complete a moment before the next piece is begun
        busy = [pid for pid, title in processes(cluster[1]).items() if title.startswith("ray::Gated.score")]
    assert busy
    os.kill(busy[0], signal.SIGKILL)
    (temporary / "gate").touch()
    assert not out.exists()
    _, errors = process.communicate(timeout=HANG)
    assert process.returncode == 0, errors
    assert len(done) < json.loads((out / "_SUCCESS").read_text())["parts"]
    assert parts(out) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert f"written to {out}" in errors


def test_a_run_whose_driver_died_goes_on(cluster, folder, texts, expected, tmp_path, temporary):
    mark, out, aside = uuid.uuid4().hex, tmp_path / "out", {"TMPDIR": str(temporary)}
    arguments = ("score", folder, texts, "--engine", "ray", "--out", out)
    shut = aside | {"DIFA_TEST_GATE": str(tmp_path.parent / f"never-{mark}")}
    process = start(*arguments, "--workers", 1, mark=mark, code=GATED, env=shut)  # Ray starts for it, and ends with it
    complete = wait_for_parts(tmp_path / ".out.part", process)
    process.kill()
    process.communicate(timeout=HANG)
    assert not out.exists()
    assert nothing_left(mark)  # Ray's agents may look for their head a minute long
    assert len(list(temporary.iterdir())) == 1
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / ".out.part").glob("part-*.jsonl")}
    refused = difa(*arguments, "--address", cluster[0])
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "an interrupted run left the results of" in refused.stderr
    assert "documents there: --resume goes on" in refused.stderr
    done = difa(*arguments, "--address", cluster[0], "--resume", env=aside)
    assert done.returncode == 0, done.stderr
    assert parts(out) == expected
    assert {name: (out / name).stat().st_mtime_ns for name in complete} == {name: before[name] for name in complete}
    assert 0 < len(complete) < json.loads((out / "_SUCCESS").read_text())["parts"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert not list(temporary.iterdir())
    again = difa(*arguments, "--resume")
    assert again.returncode == 0
    assert again.stderr.splitlines() == done.stderr.splitlines()[-2:]


def test_a_table_keeps_its_columns(cluster, folder, corpus, tmp_path):
    source = tmp_path / "in.csv"
    rows = [f'{n};"{text.replace(chr(34), chr(39))}\nand more";c{n}' for n, text in enumerate(corpus[:200])]
    source.write_text("\n".join(["ticket;body;country", *rows, "200;;none"]), encoding="utf-8")
    options = ("--text-column", "body", "--id-column", "ticket")
    run = difa("score", folder, source, *options, "--engine", "ray", "--address", cluster[0], "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "difa: 1 document has no text" in run.stderr
    assert here("score", folder, source, *options, "--out", tmp_path / "local").returncode == 0
    assert parts(tmp_path / "out") == (tmp_path / "local").read_text(encoding="utf-8")
    assert '"columns":{"country":"c7"}' in parts(tmp_path / "out")


def test_a_running_cluster_gives_the_same_as_parquet(cluster, folder, texts, expected, tmp_path):
    from pyarrow import parquet

    out = f"file://{tmp_path}/out"
    run = difa("score", folder, texts, "--engine", "ray", "--address", cluster[0], "--format", "parquet", "--out", out)
    assert run.returncode == 0, run.stderr
    rows = [
        row
        for file in sorted((tmp_path / "out").glob("part-*.parquet"))
        for row in parquet.read_table(file).to_pylist(maps_as_pydicts="strict")
    ]
    for row in rows:
        del row["flagged_words"]
        assert not any(word.pop("allowed") for word in row["words"])
        for word in row["words"]:
            if word["fault"] is None:  # JSON leaves it out
                del word["fault"]
    lines = [json.loads(line) for line in expected.splitlines()]
    assert rows == [{key: line[key] for key in line if key not in ("rule", "rate")} for line in lines]  # in the file's metadata


@pytest.mark.parametrize(
    "options", [("--fdr", 0.3), ("--top", 5, "--fdr", 0.3), ("--shard-size", 70), ("--screen", 0.3, "--screen-model")]
)
def test_what_needs_all_documents_is_a_second_pass(cluster, folder, texts, tmp_path, options):
    odd = tmp_path / "odd.txt"
    odd.write_text("".join(f"{line} xqzwrtplk gghhjkkq\n" for line in (texts / "a.txt").read_text().splitlines()[:100]))
    arguments = ("score", folder, texts, odd, *options, *([folder] if options[-1] == "--screen-model" else []))
    assert here(*arguments, "--out", tmp_path / "local").returncode == 0
    run = difa(*arguments, "--engine", "ray", "--address", cluster[0], "--out", tmp_path / "out", "--fail-if-flagged")
    assert run.returncode == 1, run.stderr  # some are flagged
    local = tmp_path / "local"
    files = sorted(local.glob("part-*")) if local.is_dir() else [local]
    assert parts(tmp_path / "out") == "".join(file.read_text(encoding="utf-8") for file in files)
    if local.is_dir():
        written = sorted((tmp_path / "out").glob("part-*"))
        assert [file.read_bytes() for file in written] == [file.read_bytes() for file in files]
    assert {path.name.partition("-")[0] for path in (tmp_path / "out").iterdir()} == {"part", "_SUCCESS"}


@pytest.mark.parametrize(
    ("name", "options"), [("a.jsonl.gz", ()), ("b.csv", ()), ("c.tsv", ("--top", 5)), ("d.jsonl", ("--fdr", 0.3))]
)
def test_one_file_is_what_the_local_engine_writes(cluster, folder, texts, tmp_path, name, options):
    for place in ("local", "ray"):
        (tmp_path / place).mkdir()
    assert here("score", folder, texts, *options, "--out", tmp_path / "local" / name).returncode == 0
    out = tmp_path / "ray" / name
    arguments = ("score", folder, texts, *options, "--engine", "ray", "--address", cluster[0], "--out", out)
    run = difa(*arguments)
    assert run.returncode == 0, run.stderr
    assert out.read_bytes() == (tmp_path / "local" / name).read_bytes()
    assert [path.name for path in (tmp_path / "ray").iterdir()] == [name]
    out.write_text("mine")
    refused = difa(*arguments)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "expected a new file, or one that difa wrote" in refused.stderr


MANY_PIECES = """
import sys
from pathlib import Path
from difa.engines import plan
from difa.engines.ray import Job, score_files
plan._LARGEST = plan._SMALLEST = 100
model, source, out, address = sys.argv[1:]
print(score_files(Job(Path(model), [source], fpr=0.2), out, address=address, workers=2).parts)
"""


def test_files_are_cut_by_the_cluster_where_there_are_many(cluster, folder, corpus, tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    for name in ("a.txt", "b.txt"):
        (source / name).write_text("\n\n".join(corpus[:100]), encoding="utf-8")
    run = difa(folder, source, tmp_path / "out", cluster[0], code=MANY_PIECES)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 64
    assert here("score", folder, source, "--fpr", "0.2", "--out", tmp_path / "local").returncode == 0
    assert parts(tmp_path / "out") == (tmp_path / "local").read_text(encoding="utf-8")


def test_bad_lines_stop_the_run_or_are_counted(cluster, folder, tmp_path):
    source, out = tmp_path / "new.jsonl", tmp_path / "out"
    source.write_text('{"text": "good"}\n{"txt": "bad"}\n{"text": "good too"}\n')
    command = ("score", folder, source, "--engine", "ray", "--address", cluster[0], "--out", out)
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
import difa.engines.ray as engine

class Deadly(engine.Scorer):
    def score(self, piece):
        os._exit(1)

engine.Scorer = Deadly
model, source, out, address = sys.argv[1:]
try:
    engine.score_files(engine.Job(Path(model), [source]), out, address=address, workers=1)
except engine.EngineError as error:
    print(error)
"""


def test_a_piece_that_kills_every_worker_ends_the_run(cluster, folder, tmp_path):
    source = tmp_path / "a.txt"
    source.write_text("one\n")
    run = difa(folder, source, tmp_path / "out", cluster[0], code=DEADLY)
    assert f"{source}: 5 workers died over the piece that begins at line 1" in run.stdout, run.stderr
    assert list(tmp_path.iterdir()) == [source]
