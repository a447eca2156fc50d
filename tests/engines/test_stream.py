"""Streams: order, patterns, packed files, pauses, bounded memory."""

import gzip
import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from difa import DiFA
from difa.calibrate import TailReference
from difa.decide import Tally
from difa.document import Document, Word
from difa.engines.local import Job, Silent, score_inputs
from difa.engines.stream import read_chunks
from difa.errors import ConfigError, InputError
from difa.formats import Entry, Position
from difa.formats.write import from_json_line
from difa.runtime.parallel import MOST_DOCUMENTS, MOST_WORDS
from tests import HANG
from tests.commands import command, difa, here
from tests.lines import to_json_line


def entries(lengths):
    word = Word("a", 0, 1)
    return [Entry(Position(0, n), n, Document("a", (word,) * length, str(n))) for n, length in enumerate(lengths, 1)]


def test_chunks_are_bounded_in_documents_and_in_words():
    lengths = [1] * 600 + [MOST_WORDS // 2 + 1] * 3 + [3 * MOST_WORDS] + [0] * 300
    chunks = list(read_chunks(entries(lengths), skip_bad=False))
    assert [document.id for chunk in chunks for document in chunk.documents] == [str(n) for n in range(1, len(lengths) + 1)]
    assert max(len(chunk.documents) for chunk in chunks) == MOST_DOCUMENTS
    words = [sum(len(document.words) for document in chunk.documents) for chunk in chunks]
    assert all(count <= MOST_WORDS or len(chunk.documents) == 1 for count, chunk in zip(words, chunks, strict=True))
    assert all(chunk.position.line == int(chunk.documents[-1].id) for chunk in chunks if chunk.documents)


def test_a_bad_line_comes_after_what_was_before_it():
    stream = [*entries([MOST_WORDS, 1]), Entry(Position(0, 3), 3, bad="x:3: no")]
    chunks = read_chunks(stream, skip_bad=False)
    assert [len(next(chunks).documents) for _ in range(2)] == [1, 1]
    with pytest.raises(InputError, match="x:3: no"):
        next(chunks)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_run_ends_at_once_and_quietly(folder, tmp_path, threads):
    source = tmp_path / "in.txt"
    source.write_text("Where is my order? It was due on Friday.\n" * 3 + "\n".join(f"parcel {n} is late" for n in range(50_000)))
    arguments = command("score", folder, source, "--threads", threads)

    def listen() -> None:  # a shell's background jobs, and what they start, ignore interruptions
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=HANG)
    assert process.returncode in (1, 130)
    assert b"Traceback" not in complaint
    assert b"--resume" not in complaint  # which needs a file


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_no_byte(encoder_folder, texts, tmp_path, threads):
    folder = encoder_folder
    source, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("\n".join(texts[:300]))
    assert here("score", folder, source, "--threads", threads, "--out", out).returncode == 0
    ids = [f"{source}:{number}" for number in range(1, 301)]
    expected = [replace(result, id=name) for result, name in zip(DiFA.load(folder).score(texts[:300]), ids, strict=True)]
    assert out.read_text() == "".join(map(to_json_line, expected))


def test_cutoffs_are_those_of_all_p_values_at_once(rng):
    for size in (1, 7, 300):
        reference = TailReference.of(rng.normal(size=size))
        for rate in (0.01, 0.1, 0.5, 0.9):
            p_values = reference.p_values(rng.normal(1.0, 2.0, size=rng.integers(0, 400)))
            tally = Tally()
            for part in np.array_split(p_values, 5):
                tally.add(part)
            # Benjamini and Hochberg: the largest of n sorted p-values p_k that is at most rate·k/n, and all below it.
            ordered = np.sort(p_values)
            passing = ordered[ordered <= rate * np.arange(1, len(ordered) + 1) / max(1, len(ordered))]
            assert tally.cutoff(rate) == passing.max(initial=-1.0)


@pytest.mark.parametrize("where", ["stdout", "file"])
def test_discoveries_in_two_passes_are_those_of_one(folder, texts, tmp_path, where):
    source, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    odd = [f"{text} xqzwrtplk gghhjkkq" for text in texts[:60]]
    source.write_text("\n".join(texts[60:500] + odd))
    run = here("score", folder, source, "--fdr", 0.3, *(["--out", out] if where == "file" else []))
    assert run.returncode == 0, run.stderr
    text = out.read_text() if where == "file" else run.stdout
    expected = DiFA.load(folder).score(texts[60:500] + odd, fdr=0.3)
    records = [json.loads(line) for line in text.splitlines()]
    assert [r["is_anomaly"] for r in records] == [r.is_anomaly for r in expected]
    assert [[w["is_anomaly"] for w in r["words"]] for r in records] == [[w.is_anomaly for w in r.words] for r in expected]
    flags = [w["is_anomaly"] for r in records for w in r["words"]]
    assert 0 < sum(flags) < len(flags)


def test_results_survive_their_line_of_json(quick_model):
    result = quick_model.score(["Where is my 👍 order?"])[0]
    assert from_json_line(to_json_line(result)) == result


def test_patterns_and_packed_files(folder, tmp_path):
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\n"))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "three"}\n'))
    (tmp_path / "cut.gz.txt").write_text("four\n")
    for name, expected in ((f"{tmp_path}/*.txt*", ["one", "two", "four"]), (tmp_path, ["one", "two", "three", "four"])):
        run = here("score", folder, name)
        assert run.returncode == 0, run.stderr
        assert [json.loads(line)["text"] for line in run.stdout.splitlines()] == expected
    for name, message in ((f"{tmp_path}/*.csv", "match this pattern, found none"), (f"{tmp_path}/x.txt.gz", "cannot be read")):
        (tmp_path / "x.txt.gz").write_bytes(gzip.compress(b"one\n" * 1000)[:20])
        run = here("score", folder, name)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1), run.stderr
        assert message in run.stderr


def test_standard_input_is_scored_while_it_is_open(folder):
    with subprocess.Popen(command("score", folder, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for text in ("Where is my order?", "Thank you!"):
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["text"] == text
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume", "--out", "{tmp}/out"), "standard input, which cannot be read again"),
        (("--resume",), "expected --out FILE beside --shard-size, --resume or --force"),
        (("--shard-size", "5"), "expected --out FILE beside --shard-size, --resume or --force"),
        (("--out", "{tmp}"), "expected a file, got a folder"),
        (("--out", "{tmp}/out", "--shard-size", "0"), "at least 1, got 0"),
        (("--out", "{tmp}/no/out"), "expected a file in a folder that exists"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(folder, tmp_path, options, message):
    run = difa("score", folder, "-", *(option.format(tmp=tmp_path) for option in options), input="one\n")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1), run.stderr
    assert message in run.stderr
    assert list(tmp_path.iterdir()) == []


PEAK = """
import resource, sys
sys.argv[0] = "difa"
from difa.cli import main
try:
    main()
except SystemExit as end:
    print(end.code or 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_number_of_documents(folder, tmp_path):
    def peak(count):
        source = tmp_path / f"{count}.txt"
        source.write_text("".join(f"short {number}\n" for number in range(count)))
        arguments = ["score", folder, source, "--out", tmp_path / "out.jsonl", "--fdr", "0.1", "--threads", "1"]
        run = subprocess.run([sys.executable, "-c", PEAK, *map(str, arguments)], capture_output=True, text=True, check=True)
        code, kilobytes = run.stdout.split()
        assert code == "0", run.stderr
        return int(kilobytes)

    # As a list of results, 12,000 such documents take some 25 MB more than 3,000.
    assert peak(12_000) - peak(3_000) < 10_000


def test_results_never_replace_what_is_read(folder, tmp_path):
    source = tmp_path / "texts.jsonl"
    source.write_text('{"text": "Where is my order?"}\n')
    link = tmp_path / "link.jsonl"
    link.symlink_to(source)
    for out in (source, link):
        with pytest.raises(ConfigError, match="expected another file than those that are read"):
            score_inputs(DiFA.load(folder), Job(folder, [str(source)], out), Silent())
    assert source.read_text() == '{"text": "Where is my order?"}\n'
