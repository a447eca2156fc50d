"""Places that are no plain files: links, pipes, devices; names that would steer a terminal; a disk that is full."""

import os
import resource
import subprocess
import sys
import threading

import pytest

from difa.cli.console import escaped
from difa.document import Document, Word
from difa.encoders import CachedEncoder, NoEncoder
from difa.errors import EncoderError, InputError
from difa.storage.atomic import fresh_text
from tests import HANG
from tests.commands import difa, here

pytestmark = pytest.mark.slow


@pytest.fixture
def source(texts, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(texts[:30]))
    return path


@pytest.fixture
def expected(folder, source):
    return here("score", folder, source, "--quiet").stdout


def test_a_link_stays_and_its_file_is_replaced(folder, source, expected, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old.jsonl").write_text("old")
    link = tmp_path / "out.jsonl"
    link.symlink_to("there/old.jsonl")
    assert here("score", folder, source, "--out", link, "--force").returncode == 0
    assert link.is_symlink()
    assert (tmp_path / "there" / "old.jsonl").read_text() == expected
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["old.jsonl"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_pipe_is_written_to(folder, source, expected, tmp_path, form):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    run = here("score", folder, source, "--out", pipe, "--format", form)
    reader.join(HANG)
    assert run.returncode == 0, run.stderr
    assert pipe.is_fifo()
    if form == "jsonl":
        assert got[0].decode() == expected
    else:
        assert len(got[0].splitlines()) == 31
    refused = here("score", folder, source, "--out", pipe, "--resume")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "got a pipe or a device" in refused.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device_is_one_line_and_stays(folder, source, tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")  # by a link: what is wrong here must not replace the device
    run = here("score", folder, source, "--out", tmp_path / "full")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert "full: cannot be written: No space left on device" in run.stderr
    assert (tmp_path / "full").is_symlink()
    with pytest.raises(InputError, match="No space left on device"), fresh_text(tmp_path / "full") as file:
        file.write("x")
    assert (tmp_path / "full").is_symlink()
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "difa", "score", str(folder), str(source), "--quiet"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG)
    assert (run.returncode, run.stderr) == (2, "difa: standard output: No space left on device\n")


def test_names_cannot_steer_the_terminal(folder, tmp_path):
    name = tmp_path / "\x1b[2Jall\u202egone.txt"
    name.write_bytes(b"fine\n\xff\n")
    for options in ((), ("--skip-bad",)):
        run = here("score", folder, name, *options)
        assert r"\x1b[2Jall\u202egone.txt:2: expected UTF-8" in run.stderr
        assert "\x1b" not in run.stderr
    missing = here("score", folder, tmp_path / "\x1b]0;title\x07.txt")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "\x1b" not in missing.stderr
    assert escaped("plain text, café 👍") == "plain text, café 👍"


def test_standard_input_can_be_a_table(folder, tmp_path):
    content = "ticket;body\n7;Where is my order?\n8;\n"
    options = ("--text-column", "body", "--id-column", "ticket", "--format", "csv")
    run = difa("score", folder, "-", *options, input=content)
    assert run.returncode == 0, run.stderr
    assert [line.split(",")[0] for line in run.stdout.splitlines()[1:]] == ["7", "8"]
    assert "difa: 1 document has no text: score 0, not flagged" in run.stderr
    wrong = difa("score", folder, "-", "--input-format", "xml", input=content)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_a_full_disk_under_the_cache_is_one_line(tmp_path):
    cached = CachedEncoder(NoEncoder(), tmp_path / "cache")
    document = Document("order", (Word("order", 0, 5),))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(EncoderError, match=r"cache .*: cannot be written: File too large: make room"):
            cached.encode([document])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
