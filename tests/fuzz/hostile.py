"""Random texts and files as a careless or hostile sender would make them. All randomness comes from the generator given."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

SAMPLES = tuple((Path(__file__).parents[2] / "examples" / "support" / "normal.txt").read_text(encoding="utf-8").splitlines())
ALPHABETS = (
    (0x20, 0x7E),
    (0x00, 0x1F),
    (0x80, 0x17F),
    (0x300, 0x36F),  # combining marks
    (0x370, 0x5FF),  # Greek, Cyrillic, Hebrew
    (0x600, 0x6FF),  # Arabic, written from the right
    (0x900, 0xDFF),  # scripts of India
    (0xE00, 0xE7F),
    (0x2000, 0x206F),  # spaces, joiners, marks of direction
    (0x3040, 0x9FFF),
    (0xE000, 0xF8FF),  # private use
    (0xFE00, 0xFFFF),
    (0x1F000, 0x1FAFF),
    (0xE0000, 0xE01EF),  # tags, variation selectors
    (0x10FFF0, 0x10FFFF),
)
SNIPPETS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '=HYPERLINK("http://x")',
    "+1+cmd|' /C calc'!A0",
    "{{7*7}}",
    "%s%n${x}",
    "\x1b[31mred\x1b[0m",
    "\u202eevil\u202c",
    "\ufeff",
    "\r\n",
    "\u2028",
    "\x00",
    "a" * 300,
    "." * 300,
    "a.a." * 60 + "@",
    "https://" + "x" * 200,
    "e\u0301" * 40,
    "👩‍👩‍👧‍👦" * 5,
    "🇩🇪🇫🇷",
    "１２３",
    "ﷺ",
    "0" * 40,
    "1e999",
    "NaN",
    "null",
    "don't",
)


def text(rng: random.Random) -> str:
    """A text: ordinary, changed, or nothing that anyone would write. It can be encoded: halves of pairs are left out."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(SAMPLES)
    if kind == 1:
        return _changed(rng.choice(SAMPLES), rng)
    if kind == 2:
        return _characters(rng, rng.randrange(1, 80))
    if kind == 3:
        return rng.choice(("", " ", "\n")).join(rng.choice(SNIPPETS) for _ in range(rng.randrange(1, 6)))
    return rng.choice(("", " ", "\n", "\t\u3000", rng.choice(SNIPPETS) * rng.randrange(1, 30)))


def broken_text(rng: random.Random) -> str:
    """The same, and now and then half of a surrogate pair."""
    whole = text(rng)
    if rng.random() < 0.2:
        at = rng.randrange(len(whole) + 1)
        return whole[:at] + chr(rng.randrange(0xD800, 0xE000)) + whole[at:]
    return whole


def _characters(rng: random.Random, count: int) -> str:
    low, high = rng.choice(ALPHABETS)
    characters = []
    for _ in range(count):
        if rng.random() < 0.15:
            low, high = rng.choice(ALPHABETS)
        characters.append(" " if rng.random() < 0.15 else chr(rng.randint(low, high)))
    return "".join(characters)


def _changed(sample: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(sample) + 1)
        cut = rng.randrange(3)
        sample = sample[:at] + rng.choice((_characters(rng, 3), rng.choice(SNIPPETS), "")) + sample[at + cut :]
    return sample


def file(rng: random.Random) -> tuple[str, bytes]:
    """A file's ending and its bytes: well-formed, then damaged more often than not."""
    suffix = rng.choice((".txt", ".jsonl", ".csv", ".tsv", ".json", ".parquet"))
    content = _FILES[suffix](rng)
    for _ in range(rng.choice((0, 1, 1, 3))):
        content = _damaged(content, rng)
    if rng.random() < 0.1:
        packed = gzip.compress(content, mtime=0)
        return suffix + ".gz", _damaged(packed, rng) if rng.random() < 0.5 else packed
    return suffix, content


def _damaged(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    junk = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6)))
    return rng.choice(
        (
            content[:at],
            content[:at] + junk + content[at:],
            content[:at] + junk + content[at + len(junk) :],
            content + content[at:],
            b"\xef\xbb\xbf" + content,
            content.replace(b"\n", b"\r\n"),
            content.replace(b'"', b"", 1),
        )
    )


def _json_value(rng: random.Random, depth: int = 0) -> object:
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind == 6:
        return [_json_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    if kind == 7:
        return {rng.choice(("text", "id", "value", "start", "end", "labels", "x")): _json_value(rng, depth + 1) for _ in range(2)}
    return (text(rng), rng.randrange(-5, 50), rng.random() * 1e300, None, True, broken_text(rng))[kind]


def _text_file(rng: random.Random) -> bytes:
    return "\n".join(text(rng) for _ in range(rng.randrange(4))).encode()


def _json_lines(rng: random.Random) -> bytes:
    lines = []
    for _ in range(rng.randrange(1, 4)):
        row: dict[str, object] = {"text": text(rng)}
        if rng.random() < 0.3:
            tokens = text(rng).split()
            row = {"tokens": tokens, "labels": [rng.randrange(2) for _ in tokens]}
        for key in ("id", "text", "tokens", "labels", "spans"):
            if rng.random() < 0.15:
                row[key] = _json_value(rng)
        lines.append(json.dumps(row, ensure_ascii=rng.random() < 0.5))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _delimited(rng: random.Random, comma: str) -> bytes:
    names = rng.sample(("text", "id", "day", "body", "", "text", "score"), rng.randrange(1, 5))
    rows = [names, *([text(rng) for _ in range(rng.choice((len(names), len(names), 2)))] for _ in range(rng.randrange(4)))]
    quoted = (comma.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    return "\n".join(quoted).encode()


def _label_studio(rng: random.Random) -> bytes:
    tasks = []
    for number in range(rng.randrange(3)):
        body = text(rng)
        start = rng.randrange(len(body) + 1)
        value = {"start": start, "end": start + rng.randrange(4), "text": body[start : start + 3], "labels": ["Anomalous"]}
        task: dict[str, Any] = {
            "id": number,
            "data": {"text": body},
            "annotations": [{"result": [{"type": "labels", "from_name": "label", "to_name": "text", "value": value}]}],
        }
        if rng.random() < 0.5:
            changed = rng.choice((task, value, task["annotations"][0]))
            changed[rng.choice(("start", "end", "result", "data", "value"))] = _json_value(rng)
        tasks.append(task)
    return json.dumps(tasks).encode()


def _parquet(rng: random.Random) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    from tests.formats.parquets import write_encrypted

    buffer = io.BytesIO()
    if rng.random() < 0.1:
        write_encrypted(buffer, rng.choice(("text", "other")), plaintext_footer=rng.random() < 0.8)
        return buffer.getvalue()
    count = rng.randrange(4)
    kinds = [text(rng), None, 3, 2.5]
    columns = {"text": [rng.choice((text(rng), None)) for _ in range(count)], "id": [rng.choice(kinds[:2]) for _ in range(count)]}
    if rng.random() < 0.3:
        columns["text"] = [rng.randrange(9) for _ in range(count)]
    if rng.random() < 0.3:
        kind = rng.choice((pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "No/Zone"), pa.duration("s")))
        columns["when"] = pa.array([rng.randrange(-(2**62), 2**62) for _ in range(count)], pa.int64()).view(kind)
    parquet.write_table(pa.table(columns), buffer)
    return _lie(rng, buffer.getvalue()) if rng.random() < 0.3 else buffer.getvalue()


def _lie(rng: random.Random, content: bytes) -> bytes:
    """A Parquet file whose footer says something else of rows, sizes, types and places than is there."""
    changed = bytearray(content)
    length = int.from_bytes(content[-8:-4], "little")  # of the footer, which four bytes of length and the format's name follow
    for _ in range(rng.randint(1, 3)):
        changed[-8 - rng.randint(1, length)] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed)


_FILES = {
    ".txt": _text_file,
    ".jsonl": _json_lines,
    ".csv": lambda rng: _delimited(rng, rng.choice(",;")),
    ".tsv": lambda rng: _delimited(rng, "\t"),
    ".json": _label_studio,
    ".parquet": _parquet,
}
