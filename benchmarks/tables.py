"""What reading a CSV costs beside scoring a list of its texts, and how long a report of many documents takes.

python benchmarks/tables.py MODEL --documents 10000
"""

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TypeVar

from typer.testing import CliRunner

from difa import DiFA
from difa.cli import app
from difa.document import columns_of
from difa.formats import read_documents
from difa.formats.write import json_lines
from difa.words import from_text

T = TypeVar("T")
NORMAL = Path(__file__).parent.parent / "examples" / "support" / "normal.txt"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and the fewest seconds that it took in three rounds."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        given = work()
        seconds.append(time.perf_counter() - started)
    return given, min(seconds)


def write_table(path: Path, documents: int) -> None:
    """A CSV of documents that all differ, with an id and a day."""
    draw, texts = random.Random(0), NORMAL.read_text(encoding="utf-8").splitlines()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = ([number, f"{draw.choice(texts)} {number}", f"2026-11-{number % 28 + 1:02d}"] for number in range(documents))
        csv.writer(file).writerows([["ticket", "body", "day"], *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args()
    model = DiFA.load(options.model)
    model.score(["Where is my order?"])
    with tempfile.TemporaryDirectory() as name:
        table, scores, page = (Path(name) / file for file in ("in.csv", "scores.jsonl", "report.html"))
        write_table(table, options.documents)
        with redirect_stderr(StringIO()):  # which column was taken for the text
            documents, reading = timed(lambda: list(read_documents([str(table)])))
        texts = [document.text for document in documents]
        splitting = timed(lambda: list(map(from_text, texts)))[1]
        results, scoring = timed(lambda: model.score(texts))
        scores.write_bytes(b"".join(map(json_lines, columns_of(results))))
        done, reporting = timed(lambda: CliRunner().invoke(app, ["report", str(scores), "--out", str(page)]))
        if done.exit_code:
            raise SystemExit(done.output)
        print(f"{len(documents):,} documents: scoring their texts {scoring:.2f} s, of it into words {splitting:.2f} s")
        print(f"reading the CSV {reading:.2f} s with splitting, without it {(reading - splitting) / scoring:.1%} of scoring")
        print(f"report: {reporting:.2f} s, {page.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
